"""How `Args:` blocks are made from signatures, own entries and the shared texts."""

from __future__ import annotations

import enum
import functools
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, NamedTuple

import pytest

from thalweg._src.base import documentation, parameter_docs
from thalweg._src.base.documentation import document, document_parameters, parameters, undocumented
from thalweg._src.base.messages import Message


@pytest.fixture(autouse=True)
def texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A small table in place of the real one."""
    general = {"x": "an input.", "axis": "the axis.", "name": "its name.", "*rest": "the others.", "**options": "more."}
    scoped = {
        "nn.": {"axis": "the channels."},
        "nn.deep.": {"axis": "the deep axis."},
        "nn.relu": {"x": "what to clip."},
    }
    monkeypatch.setattr(documentation, "GENERAL", general)
    monkeypatch.setattr(documentation, "SCOPED", scoped)
    documentation._namespace_tables.cache_clear()
    yield
    documentation._namespace_tables.cache_clear()


def block(thing: Any) -> str:
    return cleandoc(thing.__doc__).partition("Args:\n")[2]


def test_appends_known_parameters_in_order() -> None:
    def f(x: int, unknown: int, *, axis: int = 0, name: str = "") -> None:
        """Does it."""

    document(f, "f")
    assert f.__doc__ == "Does it.\n\nArgs:\n    x: an input.\n    axis: the axis.\n    name: its name."
    assert undocumented(f) == ["unknown"]


def test_stars_come_in_the_order_of_the_signature() -> None:
    def f(x: int, *rest: int, axis: int, **options: int) -> None:
        """Does it."""

    assert parameters(f) == ["x", "*rest", "axis", "**options"]
    document(f, "f")
    assert block(f) == "    x: an input.\n    *rest: the others.\n    axis: the axis.\n    **options: more."
    assert undocumented(f) == []


def test_only_keywords_after_stars() -> None:
    def f(**options: int) -> None:
        """Does it."""

    assert parameters(f) == ["**options"]


def test_private_parameters_are_left_out() -> None:
    def f(_sentinel: None, x: int) -> None:
        """Does it."""

    document(f, "f")
    assert block(f) == "    x: an input."
    assert undocumented(f) == []


@pytest.mark.parametrize(
    "names, text",
    [
        (("f",), "the axis."),
        (("nn.f",), "the channels."),
        (("nn.deep.f",), "the deep axis."),
        (("f", "nn.f"), "the channels."),
        (("nn.f", "nn.deep.f"), "the deep axis."),
        (("nnet.f",), "the axis."),
    ],
)
def test_the_longest_namespace_wins(names: tuple[str, ...], text: str) -> None:
    assert document_parameters(["axis"], *names) == f"Args:\n    axis: {text}"


def test_the_exact_name_wins_over_its_namespace() -> None:
    assert document_parameters(["x", "axis"], "nn.relu") == "Args:\n    x: what to clip.\n    axis: the channels."


def test_nothing_known_adds_nothing() -> None:
    def f(unknown: int) -> None:
        """Does it."""

    document(f, "f")
    assert f.__doc__ == "Does it."
    assert document_parameters(["unknown"], "f") == ""


def test_own_entries_stay_and_missing_ones_join_them() -> None:
    def f(x: int, axis: int, odd: int, name: str) -> None:
        """Does it.

        Because.

        Args:
            odd: an own text
                over two lines.
            axis (int): my axis.
            extra: not in the signature.

        Returns:
            Nothing.
        """

    document(f, "f")
    assert f.__doc__ == cleandoc("""
        Does it.

        Because.

        Args:
            x: an input.
            axis (int): my axis.
            odd: an own text
                over two lines.
            name: its name.
            extra: not in the signature.

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
    assert block(f) == "    name: its name.\n    x, axis: both."
    assert undocumented(f) == []


def test_the_block_stands_before_what_is_returned() -> None:
    def f(x: int) -> None:
        """Does it.

        Returns:
            Nothing.
        """

    document(f, "f")
    assert f.__doc__ == "Does it.\n\nArgs:\n    x: an input.\n\nReturns:\n    Nothing."


def test_a_second_paragraph_stays_before_the_block() -> None:
    def f(x: int) -> None:
        """Does it.

        Because:
            so.
        """

    document(f, "f")
    assert f.__doc__ == "Does it.\n\nBecause:\n    so.\n\nArgs:\n    x: an input."


def test_a_second_call_changes_nothing() -> None:
    def f(x: int, axis: int, unknown: int) -> None:
        """Does it."""

    document(f, "f", "nn.f")
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
    assert Layer.__doc__ == "A layer.\n\nArgs:\n    x: an input.\n    name: its name."


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
    assert block(f) == "    x: an input."


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


def themes() -> list[Any]:
    modules = [getattr(parameter_docs, found.name) for found in pkgutil.iter_modules(parameter_docs.__path__)]
    assert len(modules) > 5
    return modules


def test_every_theme_is_in_the_tables_and_no_general_name_twice() -> None:
    general = [name for theme in themes() for name in getattr(theme, "PARAMETERS", {})]
    assert sorted(general) == sorted(parameter_docs.GENERAL)
    scopes = {scope for theme in themes() for key in getattr(theme, "SCOPED", {}) for scope in key.split()}
    assert scopes == parameter_docs.SCOPED.keys()


def test_texts_are_sentences_on_one_line() -> None:
    tables = {"": parameter_docs.GENERAL, **parameter_docs.SCOPED}
    odd = [
        (scope, name, text)
        for scope, table in tables.items()
        for name, text in table.items()
        if not text.endswith(".") or "\n" in text or text[0].islower()
    ]
    assert odd == []
