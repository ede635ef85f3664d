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
_ENTRY = re.compile(r" {1,4}(\*{0,2}\w+(?:, ?\*{0,2}\w+)*)(?: \([^)]*\))?:")
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
    shared = _texts_of_packages(module.rpartition(".")[0])
    source = _constructor(thing)[0] if isinstance(thing, type) else getattr(thing, "__parameters_of__", thing)
    if source is not thing:
        texts = {**_texts_in(source.__doc__ or ""), **texts}
    block = _ARGS.search(doc) if "\n" in doc else None
    if block:
        thing.__doc__ = doc[: block.start(2)] + _complete(block[2], names, texts, shared) + doc[block.end(2) :]
    elif lines := "".join([f"\n    {name}: {text}" for name in names if (text := texts.get(name) or shared.get(name))]):
        thing.__doc__ = _insert(doc, f"Args:{lines}")


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
    described = {name.lstrip("*") for name in _texts_in(thing.__doc__ or "")}
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


@cache
def _texts_of_packages(package: str) -> Mapping[str, str]:
    """Returns the texts that hold in a package: its own, those of the packages around it, the general ones."""
    if not package:
        return GENERAL
    around = _texts_of_packages(package.rpartition(".")[0])
    texts = getattr(sys.modules.get(package), "PARAMETERS", None)
    return {**around, **texts} if texts else around


def _complete(block: str, names: list[str], texts: Mapping[str, str], shared: Mapping[str, str]) -> str:
    """Returns the lines below `Args:` with those of the parameters that they lack, in the order of the signature."""
    indent = block[1 : len(block) - len(block.lstrip())]
    starts = {
        name.lstrip("* "): entry.start() for entry in _entry(indent).finditer(block) for name in entry[1].split(",")
    }
    place = len(block)  # where the next parameter starts
    for name in reversed(names):
        start = starts.get(name.lstrip("*"))
        if start is not None:
            place = min(place, start)
        elif text := texts.get(name) or shared.get(name):
            block = f"{block[:place]}\n{indent}{name}: {text}{block[place:]}"
    return block


@cache
def _entry(indent: str) -> re.Pattern[str]:
    """Returns the pattern of the start of an entry: `x:`, `x (int):` or `x, y:`, with or without stars."""
    return re.compile(rf"\n{indent}(\*{{0,2}}\w+(?:, ?\*{{0,2}}\w+)*)(?: \([^)]*\))?:")


@cache
def _texts_in(doc: str) -> Mapping[str, str]:
    """Returns the texts in a docstring by the names of the parameters, with their stars."""
    block = _ARGS.search(cleandoc(doc))
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in block[2].splitlines()[1:] if block else ():
        if entry := _ENTRY.match(line):
            names = [name.strip() for name in entry[1].split(",")]
        text = line[entry.end() :] if entry else line
        texts.update({name: f"{texts.get(name, '')} {text.strip()}".lstrip() for name in names})
    return texts


def _insert(doc: str, block: str) -> str:
    """Returns a docstring without parameters with an `Args:` block, before what is returned or raised."""
    if "\n" not in doc:
        return f"{doc}\n\n{block}"
    doc = cleandoc(doc)
    later = _LATER_SECTION.search(doc)
    return f"{doc[: later.start()]}{block}\n\n{doc[later.start() :]}" if later else f"{doc}\n\n{block}"
