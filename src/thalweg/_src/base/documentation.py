"""Adds an `Args:` block to the docstrings of the public API, from signatures and the shared table of parameter texts.

`document` runs once for each public name when the package is imported, so it reads code objects, not `inspect`
signatures.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from functools import cache, partial
from inspect import Parameter, cleandoc
from textwrap import dedent, indent
from types import CodeType, FunctionType, MethodType
from typing import Any

from thalweg._src.base.parameter_docs import GENERAL, SCOPED

INDENT = "    "
VARARGS, VARKEYWORDS = 0x04, 0x08  # CO_VARARGS and CO_VARKEYWORDS of code objects

_STARS = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
_ARGS = re.compile(r"^Args:[ \t]*\n((?:[ \t]+\S.*(?:\n|\Z)|[ \t]*\n)*)", re.MULTILINE)
_ENTRY = re.compile(r"(\*{0,2}\w+(?:, ?\*{0,2}\w+)*)(?: \([^)]*\))?:")
_LATER_SECTION = re.compile(r"^(?:Returns|Yields|Raises):", re.MULTILINE)


def document(thing: Any, *public_names: str) -> None:
    """Adds the parameters that the docstring of a function or class does not describe to its `Args:` block.

    A second call changes nothing. Without a docstring (as under `python -OO`) there is nothing to extend.

    Args:
        thing: a function, a class or a `functools.partial`, with a docstring.
        public_names: all names that it is exported under, without the package, such as "nn.relu".
    """
    doc = thing.__doc__
    if not doc:
        return
    names = parameters(thing)
    if not names:
        return
    if "\n" in doc:
        doc = _merge(cleandoc(doc), names, public_names)
    elif block := document_parameters(names, *public_names):
        doc = f"{doc}\n\n{block}"
    thing.__doc__ = doc


def document_parameters(names: Iterable[str], *public_names: str) -> str:
    """Returns the `Args:` block for parameters, `""` if no text is known for any of them.

    Args:
        names: the parameters, in order; `*args` and `**kwargs` with their stars.
        public_names: all names of the function that has them.
    """
    tables = _tables(public_names)
    lines = ["Args:"]
    for name in names:
        for table in tables:
            if name in table:
                lines.append(f"    {name}: {table[name]}")
                break
    return "\n".join(lines) if len(lines) > 1 else ""


def undocumented(thing: Any) -> list[str]:
    """Returns the parameters of a function or class that its docstring does not describe.

    Names with a leading underscore are left out: they are no part of the public API.
    """
    found = _ARGS.search(cleandoc(thing.__doc__ or ""))
    described = _described(_entries(found[1])) if found else set()
    return [name for name in parameters(thing) if name.lstrip("*") not in described and name[0] != "_"]


def parameters(thing: Any) -> list[str]:
    """Returns the names of the parameters that callers pass, in order; `*args` and `**kwargs` keep their stars."""
    if type(thing) is FunctionType:  # the common case
        return _function_parameters(thing)
    if isinstance(thing, type):
        return _class_parameters(thing)
    if isinstance(thing, partial):
        return parameters(thing.func)[len(thing.args) :]
    return _function_parameters(thing)


def _function_parameters(function: Any) -> list[str]:
    if (signature := getattr(function, "__signature__", None)) is not None:
        return [_STARS.get(p.kind, "") + p.name for p in signature.parameters.values()]
    if (wrapped := getattr(function, "__wrapped__", None)) is not None:
        return _function_parameters(wrapped)
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    names = _code_parameters(code)
    return names[1:] if isinstance(function, MethodType) else names


def _code_parameters(code: CodeType) -> list[str]:
    variables, positional, flags = code.co_varnames, code.co_argcount, code.co_flags
    end = positional + code.co_kwonlyargcount
    if not flags & (VARARGS | VARKEYWORDS):
        return list(variables[:end])
    names = [*variables[:positional]]
    if flags & VARARGS:
        names.append(f"*{variables[end]}")
    names += variables[positional:end]
    if flags & VARKEYWORDS:
        names.append(f"**{variables[end + 1 if flags & VARARGS else end]}")
    return names


def _class_parameters(cls: type) -> list[str]:
    """Returns the parameters of `__init__` or `__new__`; those of a base class if `*args, **kwargs` go there."""
    if isinstance(cls, enum.EnumMeta):
        return []
    passed_on = []
    for base in cls.__mro__:
        for key in ("__init__", "__new__"):
            function = base.__dict__.get(key)
            if isinstance(function, staticmethod):
                function = function.__func__
            if not hasattr(function, "__code__"):
                continue
            names = _function_parameters(function)[1:]
            if names == ["**fields"]:
                return _fields(cls)
            if names != ["*args", "**kwargs"]:
                return names
            passed_on = names
    return passed_on


def _fields(cls: type) -> list[str]:
    """Returns the annotated fields of a class whose `__init__` takes them by keyword."""
    return [
        name
        for base in reversed(cls.__mro__)
        for name, kind in getattr(base, "__annotations__", {}).items()
        if "ClassVar" not in str(kind)
    ]


def _tables(public_names: tuple[str, ...]) -> list[dict[str, str]]:
    """Returns the tables to look a parameter up in: those of the exact names, of the namespaces, the general one."""
    around = _namespace_tables(*[name.rpartition(".")[0] for name in public_names])
    exact = [SCOPED[name] for name in public_names if name in SCOPED]
    return exact + around if exact else around


@cache
def _namespace_tables(*namespaces: str) -> list[dict[str, str]]:
    """Returns the tables around namespaces, the longest first: "contrib.rnn.", "contrib." and the general one."""
    parts = [namespace.split(".") for namespace in namespaces]
    scopes = {".".join([*names[: count + 1], ""]) for names in parts for count in range(len(names))}
    found = sorted(scopes & SCOPED.keys(), key=lambda scope: (-len(scope), scope))
    return [*(SCOPED[scope] for scope in found), GENERAL]


def _merge(doc: str, names: list[str], public_names: tuple[str, ...]) -> str:
    """Returns a docstring of several lines with its own entries and the missing ones, in the order of the signature."""
    found = _ARGS.search(doc)
    if found is None:
        if not (block := document_parameters(names, *public_names)):
            return doc
        later = _LATER_SECTION.search(doc)
        if later is None:
            return f"{doc}\n\n{block}"
        return f"{doc[: later.start()]}{block}\n\n{doc[later.start() :]}"
    own = _entries(found[1])
    described = _described(own)
    missing = [name for name in names if name.lstrip("*") not in described]
    if not missing:
        return doc
    block = document_parameters(missing, *public_names).partition("\n")[2]
    entries = own | _entries(block)
    order = {name.lstrip("*"): place for place, name in enumerate(names)}
    ordered = sorted(entries, key=lambda key: order.get(key.partition(",")[0].lstrip("*"), len(names)))
    before, after = doc[: found.start()], doc[found.end() :]
    merged = indent("\n".join(entries[key] for key in ordered), INDENT)
    return f"{before}Args:\n{merged}" + (f"\n\n{after}" if after else "")


def _entries(block: str) -> dict[str, str]:
    """Splits the lines below `Args:` into entries, under what stands before the colon: `x`, or `x, y`."""
    entries: dict[str, str] = {}
    key = ""
    for line in dedent(block).splitlines():
        if match := _ENTRY.match(line):
            key = match[1]
            entries[key] = line
        elif key and line.strip():
            entries[key] += f"\n{line}"
    return entries


def _described(entries: Iterable[str]) -> set[str]:
    return {name.strip().lstrip("*") for names in entries for name in names.split(",")}
