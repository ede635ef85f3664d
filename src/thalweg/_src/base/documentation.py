"""Completes the `Args:` blocks in the docstrings of the public API by texts that several functions share.

What a parameter means for one function or class stands in its docstring. Where it means the same for several, the text
stands once: in the docstring of the function or class that their parameters come from (a base class with the
constructor, or the attribute `__parameters_of__`), in the table `PARAMETERS` of their package or one around it, or in
`GENERAL`, which holds for the whole API. The first of these that has a text wins.

`document` runs once for each public name when the package is imported, so it reads code objects, not `inspect`
signatures.
"""

from __future__ import annotations

import enum
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache, partial
from inspect import Parameter, cleandoc
from types import CodeType, FunctionType, MappingProxyType, MethodType
from typing import Any

from thalweg._src.base.parameter_docs import GENERAL

VARARGS, VARKEYWORDS = 0x04, 0x08  # CO_VARARGS and CO_VARKEYWORDS of code objects

_STARS = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
_ARGS = re.compile(r"^([ \t]*)Args:[ \t]*((?:\n\1[ \t]+\S.*)+)", re.MULTILINE)
_LATER_SECTION = re.compile(r"^(?:Returns|Yields|Raises):", re.MULTILINE)
_NO_TEXTS: Mapping[str, str] = MappingProxyType({})


def document(thing: Any, module: str = "", texts: Mapping[str, str] = _NO_TEXTS) -> None:
    """Adds the parameters that the docstring of a function or class does not describe to its `Args:` block.

    A second call changes nothing. Without a docstring (as under `python -OO`) there is nothing to extend.

    Args:
        thing: a function, a class or a `functools.partial`, with a docstring.
        module: the module that exports it, whose packages may have texts.
        texts: texts of its parameters that stand where it is exported.
    """
    doc = thing.__doc__
    if not doc:
        return
    names = parameters(thing)
    if not names:
        return
    block = _ARGS.search(doc) if "\n" in doc else None
    entries = _entries(block[2]) if block else {}
    described = _described(entries) if entries else ()
    missing = [name for name in names if name.lstrip("*") not in described]
    if not missing:
        return
    shared = _shared_texts(thing, module, texts)
    indent = _indent(block[2]) if block else "    "
    entries.update([(name, f"\n{indent}{name}: {shared[name]}") for name in missing if name in shared])
    if block:
        order = {name.lstrip("*"): place for place, name in enumerate(names)}
        ordered = sorted(entries, key=lambda key: order.get(key.partition(",")[0].lstrip("*"), len(names)))
        thing.__doc__ = doc[: block.start(2)] + "".join([entries[key] for key in ordered]) + doc[block.end(2) :]
    elif entries:
        thing.__doc__ = _insert(doc, f"Args:{''.join(entries.values())}")


def document_parameters(names: Iterable[str], module: str, texts: Mapping[str, str]) -> str:
    """Returns the `Args:` block for the parameters of an op's function, `""` if there is no text for any of them.

    Args:
        names: the parameters, in order.
        module: the module that exports the op.
        texts: texts of its parameters that stand where it is exported.
    """
    shared = {**_texts_of_packages(module.rpartition(".")[0]), **texts}
    lines = [f"    {name}: {shared[name]}" for name in names if name in shared]
    return "\n".join(["Args:", *lines]) if lines else ""


def undocumented(thing: Any) -> list[str]:
    """Returns the parameters of a function or class that its docstring does not describe.

    Names with a leading underscore are left out: they are no part of the public API.
    """
    described = _described(_texts_in(thing.__doc__))
    return [name for name in parameters(thing) if name.lstrip("*") not in described and name[0] != "_"]


def parameters(thing: Any) -> list[str]:
    """Returns the names of the parameters that callers pass, in order; `*args` and `**kwargs` keep their stars."""
    if type(thing) is FunctionType:  # the common case
        return _function_parameters(thing)
    if isinstance(thing, type):
        return _constructor(thing)[1]
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


def _constructor(cls: type) -> tuple[type, list[str]]:
    """Returns the class whose `__init__` or `__new__` takes the arguments, and the names of their parameters.

    That is a base class if there is no other constructor, or if its `*args, **kwargs` go to that of the base.
    """
    if isinstance(cls, enum.EnumMeta):
        return cls, []
    owner: type = cls
    names: list[str] = []
    for base in cls.__mro__:
        for key in ("__init__", "__new__"):
            function = base.__dict__.get(key)
            if isinstance(function, staticmethod):
                function = function.__func__
            if not hasattr(function, "__code__"):
                continue
            owner, names = base, _function_parameters(function)[1:]
            if names == ["**fields"]:
                return cls, _fields(cls)
            if names != ["*args", "**kwargs"]:
                return owner, names
    return owner, names


def _fields(cls: type) -> list[str]:
    """Returns the annotated fields of a class whose `__init__` takes them by keyword."""
    return [
        name
        for base in reversed(cls.__mro__)
        for name, kind in getattr(base, "__annotations__", {}).items()
        if "ClassVar" not in str(kind)
    ]


def _shared_texts(thing: Any, module: str, texts: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the texts for parameters that a docstring does not describe itself, by their names."""
    shared = _texts_of_packages(module.rpartition(".")[0])
    source = _constructor(thing)[0] if isinstance(thing, type) else getattr(thing, "__parameters_of__", thing)
    if source is not thing:
        shared = {**shared, **_texts_in(source.__doc__)}
    return {**shared, **texts} if texts else shared


@cache
def _texts_of_packages(package: str) -> Mapping[str, str]:
    """Returns the texts that hold in a package: its own, those of the packages around it, the general ones."""
    if not package:
        return GENERAL
    around = _texts_of_packages(package.rpartition(".")[0])
    own = getattr(sys.modules.get(package), "PARAMETERS", None)
    return {**around, **own} if own else around


def _texts_in(doc: str | None) -> dict[str, str]:
    """Returns the texts in a docstring by the names of the parameters, with their stars."""
    block = _ARGS.search(cleandoc(doc or ""))
    entries = _entries(block[2]) if block else {}
    texts: dict[str, str] = {}
    for key, entry in entries.items():
        text = " ".join(entry.partition(":")[2].split())
        texts.update(dict.fromkeys([name.strip() for name in key.split(",")], text))
    return texts


def _insert(doc: str, block: str) -> str:
    """Returns a docstring without parameters with an `Args:` block, before what is returned or raised."""
    if "\n" not in doc:
        return f"{doc}\n\n{block}"
    doc = cleandoc(doc)
    later = _LATER_SECTION.search(doc)
    return f"{doc[: later.start()]}{block}\n\n{doc[later.start() :]}" if later else f"{doc}\n\n{block}"


def _indent(block: str) -> str:
    """Returns the spaces before the first of the lines below `Args:`."""
    return block[1 : len(block) - len(block.lstrip())]


@cache
def _entry(indent: str) -> re.Pattern[str]:
    return re.compile(rf"\n{indent}(\*{{0,2}}\w+(?:, ?\*{{0,2}}\w+)*)(?: \([^)]*\))?:")


def _entries(block: str) -> dict[str, str]:
    """Splits the lines below `Args:` into entries, under what stands before the colon: `x`, or `x, y`."""
    starts = [(match[1], match.start()) for match in _entry(_indent(block)).finditer(block)]
    ends = [start for _, start in starts[1:]] + [len(block)]
    return {key: block[start:end] for (key, start), end in zip(starts, ends)}


def _described(keys: Iterable[str]) -> set[str]:
    return {name.strip().lstrip("*") for key in keys for name in key.split(",")}
