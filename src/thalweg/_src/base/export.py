"""Public names, declared where they are defined; `make api` writes the modules of the public API from them.

`@export("nn.relu", "math.relu")` makes a function or class public under these names of the package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from thalweg._src.base.documentation import document
from thalweg._src.base.lazy_names import DOCSTRINGS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Export:
    """One object that is public, with the module that defines it.

    texts: what its parameters mean, if it has no docstring of its own for that
    attribute: its name there; None if it is found by identity
    lazy: it is loaded on first access, since it needs a package that `import thalweg` does not
    """

    names: tuple[str, ...]
    module: str
    value: Any
    attribute: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    lazy: bool = False

    def attribute_name(self) -> str:
        """Returns the name of the object in its module."""
        if self.attribute is not None:
            return self.attribute
        return next(name for name, value in vars(sys.modules[self.module]).items() if value is self.value)


EXPORTS: list[Export] = []


def export(*names: str, **texts: str) -> Callable[[T], T]:
    """Declares the public names of a function, class, op or other object that exists once.

    Args:
        *names: Its names without the package, such as "nn.relu".
        **texts: What its parameters mean, for an object whose docstring cannot say it, such as an op.
    """
    module = sys._getframe(1).f_globals["__name__"]

    def declare(value: T) -> T:
        EXPORTS.append(Export(names, module, value, texts=texts))
        if callable(value):
            document(value, module, texts)
        if isinstance(value, type) and issubclass(value, BaseException):
            value.__module__ = f"thalweg.{names[0]}".rpartition(".")[0]  # what a traceback shows
        return value

    return declare


def export_constants(**names: str | tuple[str, ...]) -> None:
    """Declares the public names of constants of the calling module: `export_constants(PI="math.PI")`."""
    module = sys._getframe(1).f_globals["__name__"]
    for attribute, public in names.items():
        EXPORTS.append(Export((public,) if isinstance(public, str) else public, module, None, attribute))


def export_all_constants(*namespaces: str) -> None:
    """Declares the constants that stand before the call, in capital letters, under their own names in namespaces."""
    defined = sys._getframe(1).f_globals
    for name in list(defined):
        if name.isupper() and not name.startswith("_"):
            EXPORTS.append(Export(tuple(f"{space}.{name}" for space in namespaces), defined["__name__"], None, name))


def export_from(module: str, namespace: str, *names: str) -> None:
    """Declares names of a module of another package in a namespace."""
    EXPORTS.extend(Export((f"{namespace}.{name}",), module, None, name) for name in names)


def export_lazy(module: str, *names: str, doc: str) -> None:
    """Declares the names of a class that is loaded from a module on first access, such as that of a protocol message.

    doc: its docstring, which the generated code of messages lacks
    """
    attribute = names[0].rpartition(".")[2]
    EXPORTS.append(Export(names, module, None, attribute, lazy=True))
    DOCSTRINGS[module, attribute] = doc
