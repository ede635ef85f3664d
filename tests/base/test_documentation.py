"""How `Args:` blocks are made from signatures, own entries and shared texts."""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import cleandoc
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from thalweg._src.base import documentation, parameter_docs
from thalweg._src.base.documentation import document, document_parameters, parameters, undocumented
from thalweg._src.base.messages import Message


@pytest.fixture(autouse=True)
def tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small tables in place of the real ones: the general one, and those of the packages `nn` and `nn.deep`."""
    general = {"x": "An input.", "axis": "The axis.", "name": "Its name.", "*rest": "The others.", "**options": "More."}
    monkeypatch.setattr(documentation, "GENERAL", general)
    for package, axis in (("nn", "The channels."), ("nn.deep", "The deep axis.")):
        module = ModuleType(package)
        module.PARAMETERS = {"axis": axis}  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, package, module)
    documentation._texts_of_packages.cache_clear()
    yield
    documentation._texts_of_packages.cache_clear()


def block(thing: Any) -> str:
    return cleandoc(thing.__doc__).partition("Args:\n")[2]


def test_appends_known_parameters_in_order() -> None:
    def f(x: int, unknown: int, *, axis: int = 0, name: str = "") -> None:
        """Does it."""

    document(f, "f")
    assert f.__doc__ == "Does it.\n\nArgs:\n    x: An input.\n    axis: The axis.\n    name: Its name."
    assert undocumented(f) == ["unknown"]


def test_stars_come_in_the_order_of_the_signature() -> None:
    def f(x: int, *rest: int, axis: int, **options: int) -> None:
        """Does it."""

    assert parameters(f) == ["x", "*rest", "axis", "**options"]
    document(f, "f")
    assert block(f) == "    x: An input.\n    *rest: The others.\n    axis: The axis.\n    **options: More."
    assert undocumented(f) == []


def test_only_keywords_after_stars() -> None:
    def f(**options: int) -> None:
        """Does it."""

    assert parameters(f) == ["**options"]


def test_private_parameters_are_left_out() -> None:
    def f(_sentinel: None, x: int) -> None:
        """Does it."""

    document(f, "f")
    assert block(f) == "    x: An input."
    assert undocumented(f) == []


@pytest.mark.parametrize(
    "module, text",
    [
        ("", "The axis."),
        ("f", "The axis."),
        ("nn.f", "The channels."),
        ("nn.deep.f", "The deep axis."),
        ("nn.deep.far.f", "The deep axis."),
        ("nnet.f", "The axis."),
    ],
)
def test_the_innermost_package_wins(module: str, text: str) -> None:
    assert document_parameters(["axis"], module, {}) == f"Args:\n    axis: {text}"


def test_a_text_where_a_function_is_exported_wins_over_its_package() -> None:
    texts = {"x": "What to clip."}
    assert document_parameters(["x", "axis"], "nn.f", texts) == "Args:\n    x: What to clip.\n    axis: The channels."

    def f(x: int, axis: int) -> None:
        """Does it."""

    document(f, "nn.f", texts)
    assert block(f) == "    x: What to clip.\n    axis: The channels."


def test_the_source_of_the_parameters_wins_over_the_package() -> None:
    def source(axis: int, x: int) -> None:
        """Does it.

        Args:
            axis: Any axis but
                the last.
        """

    def f(axis: int, x: int) -> None:
        """Does it with more."""

    f.__parameters_of__ = source  # type: ignore[attr-defined]
    document(f, "nn.f")
    assert block(f) == "    axis: Any axis but the last.\n    x: An input."


def test_subclasses_show_what_the_class_with_the_constructor_says() -> None:
    class Layer:
        """A layer.

        Args:
            *rest: What it is made of.
        """

        def __init__(self, *rest: int, axis: int) -> None:
            pass

    class Narrow(Layer):
        """A narrow layer."""

    document(Narrow, "nn.f")
    assert block(Narrow) == "    *rest: What it is made of.\n    axis: The channels."


def test_nothing_known_adds_nothing() -> None:
    def f(unknown: int) -> None:
        """Does it."""

    document(f, "f")
    assert f.__doc__ == "Does it."
    assert document_parameters(["unknown"], "f", {}) == ""


def test_own_entries_stay_and_missing_ones_join_them() -> None:
    def f(x: int, axis: int, odd: int, name: str) -> None:
        """Does it.

        Because.

        Args:
            axis (int): my axis.
            odd: an own text
                over two lines.
            extra: not in the signature.

        Returns:
            Nothing.
        """

    document(f, "f")
    assert cleandoc(f.__doc__ or "") == cleandoc("""
        Does it.

        Because.

        Args:
            x: An input.
            axis (int): my axis.
            odd: an own text
                over two lines.
            extra: not in the signature.
            name: Its name.

        Returns:
            Nothing.
    """)
    assert undocumented(f) == []


def test_one_own_entry_may_describe_several_parameters() -> None:
    def f(name: str, x: int, axis: int) -> None:
        """Does it.

        Args:
            x, axis: both.
        """

    document(f, "f")
    assert block(f) == "    name: Its name.\n    x, axis: both."
    assert undocumented(f) == []


def test_the_block_stands_before_what_is_returned() -> None:
    def f(x: int) -> None:
        """Does it.

        Returns:
            Nothing.
        """

    document(f, "f")
    assert f.__doc__ == "Does it.\n\nArgs:\n    x: An input.\n\nReturns:\n    Nothing."


def test_a_second_paragraph_stays_before_the_block() -> None:
    def f(x: int) -> None:
        """Does it.

        Because:
            so.
        """

    document(f, "f")
    assert f.__doc__ == "Does it.\n\nBecause:\n    so.\n\nArgs:\n    x: An input."


def test_a_second_call_changes_nothing() -> None:
    def f(x: int, axis: int, unknown: int) -> None:
        """Does it."""

    document(f, "nn.f")
    once = f.__doc__
    document(f, "nn.deep.f")
    assert f.__doc__ == once


def test_no_docstring_stays_none() -> None:
    def f(x: int) -> None:
        pass

    document(f, "f")
    assert f.__doc__ is None
    assert undocumented(f) == ["x"]


def test_classes_show_the_parameters_of_their_constructor() -> None:
    class Layer:
        """A layer."""

        def __init__(self, x: int, *, name: str = "") -> None:
            pass

    class Passing(Layer):
        """A layer that passes on what it is given."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)

    class Fixed(Layer):
        """A layer without parameters."""

        def __init__(self) -> None:
            super().__init__(1)

    class New:
        """A class with `__new__` alone."""

        def __new__(cls, axis: int) -> New:
            return super().__new__(cls)

    assert [parameters(c) for c in (Layer, Passing, Fixed, New)] == [["x", "name"], ["x", "name"], [], ["axis"]]
    document(Layer, "Layer")
    assert Layer.__doc__ == "A layer.\n\nArgs:\n    x: An input.\n    name: Its name."


def test_records_show_their_fields() -> None:
    @dataclass
    class Data:
        """A dataclass."""

        x: int
        axis: int = 0

    class Row(NamedTuple):
        """A named tuple."""

        x: int
        name: str = ""

    class Proto(Message):
        """A message."""

        __slots__ = ("axis", "x")
        x: int
        axis: int

    class Colour(enum.Enum):
        """An enumeration: its members are all there are."""

        RED = 1

    assert [parameters(c) for c in (Data, Row, Proto, Colour)] == [["x", "axis"], ["x", "name"], ["x", "axis"], []]


def test_wrapped_functions_show_what_they_wrap() -> None:
    @contextmanager
    def f(x: int) -> Iterator[None]:
        """Does it."""
        yield

    document(f, "f")
    assert block(f) == "    x: An input."


def test_partial_functions_leave_out_what_is_bound() -> None:
    def f(x: int, axis: int, name: str) -> None:
        """Does it."""

    bound = functools.partial(f, 1, axis=2)
    assert parameters(bound) == ["axis", "name"]


def test_methods_leave_out_self() -> None:
    class Layer:
        def call(self, x: int) -> None:
            """Does it."""

    assert parameters(Layer().call) == ["x"]


def test_builtins_have_no_known_parameters() -> None:
    assert parameters(len) == []
    assert parameters(KeyError) == []


def test_texts_are_sentences_on_one_line() -> None:
    packages = [name for name in sys.modules if name.startswith("thalweg._src.")]
    tables = {name: getattr(sys.modules[name], "PARAMETERS", {}) for name in packages} | {"": parameter_docs.GENERAL}
    odd = [
        (package, name, text)
        for package, table in tables.items()
        for name, text in table.items()
        if not text.endswith(".") or "\n" in text or text[0].islower()
    ]
    assert odd == []
    assert sum(map(bool, tables.values())) > 5


def test_no_package_repeats_what_holds_around_it() -> None:
    modules = {name: module for name, module in sys.modules.items() if name.startswith("thalweg._src.")}
    for name, module in modules.items():
        outer = name.rpartition(".")[0]
        around = parameter_docs.GENERAL | {**documentation._texts_of_packages(outer)}
        table = getattr(module, "PARAMETERS", {})
        assert {key: text for key, text in table.items() if around.get(key) == text} == {}, name
