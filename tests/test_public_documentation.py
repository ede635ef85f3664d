"""Every public function, class and method has a docstring, and every parameter of a function or class is described."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from types import FunctionType
from typing import Any

import pytest

from thalweg._src.base.documentation import undocumented
from thalweg._src.tools.cli.names import PublicNames

FOREIGN = re.compile(r"\b(somebody|nobody|whoever)\b|Tells whether|\bIs a ")


def own(value: Any) -> bool:
    """Whether a public name is not one of another package, such as absl's flags or a protocol message."""
    is_ours = isinstance(value, type | FunctionType) and str(value.__module__).startswith("thalweg.")
    return is_ours and not hasattr(value, "DESCRIPTOR")


@pytest.fixture(scope="module")
def public() -> dict[str, Any]:
    """All functions and classes, each under the first of its public names."""
    names = PublicNames()
    found = {id(value): (".".join(name), value) for name in [*names.all()][::-1] if own(value := names.find(name))}
    return dict(reversed(found.values()))


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Yields the public methods and properties of a class, those of our base classes included."""
    for base in cls.__mro__:
        for name, value in vars(base).items() if own(base) else ():
            function = getattr(value, "__func__", value)
            public = name == "__call__" or not name.startswith("_")
            if public and isinstance(function, FunctionType | property | cached_property):
                yield name, function


def described(cls: type, name: str, function: Any) -> bool:
    """Whether a method has a docstring or overrides one that has."""
    return bool(function.__doc__) or any(getattr(vars(base).get(name), "__doc__", None) for base in cls.__mro__)


def test_the_walk_finds_functions_classes_and_single_ops(public: dict[str, Any]) -> None:
    assert {
        "exp",
        "nn.conv2d",
        "Session",
        "train.AdamOptimizer",
        "contrib.layers.relu",
        "raw_ops.MatMul",
    } <= public.keys()
    assert len(public) > 2000


def test_every_function_and_class_has_a_docstring(public: dict[str, Any]) -> None:
    assert [name for name, value in public.items() if not value.__dict__.get("__doc__", value.__doc__)] == []


def test_every_parameter_is_described(public: dict[str, Any]) -> None:
    assert {name: missing for name, value in public.items() if (missing := undocumented(value))} == {}


def test_signatures_name_the_parameters(public: dict[str, Any]) -> None:
    stars = [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]
    unnamed = []
    for name, value in public.items():
        if isinstance(value, type) and issubclass(value, int | BaseException):
            continue  # constructors of built-in types have no signature
        if [parameter.kind for parameter in inspect.signature(value).parameters.values()] == stars:
            unnamed.append(name)
    assert unnamed == []


def test_every_public_method_has_a_docstring(public: dict[str, Any]) -> None:
    missing = {
        f"{cls.__module__}.{cls.__name__}.{name}"
        for cls in public.values()
        if isinstance(cls, type)
        for name, function in methods(cls)
        if not described(cls, name, function)
    }
    assert missing == set()


def test_docstrings_are_in_plain_words(public: dict[str, Any]) -> None:
    docs = [(name, value.__doc__) for name, value in public.items()]
    for name, value in public.items():
        if isinstance(value, type):
            docs += [(f"{name}.{key}", function.__doc__) for key, function in methods(value)]
    assert {name: doc for name, doc in docs if doc and FOREIGN.search(doc)} == {}
