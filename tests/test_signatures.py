"""Functions that take the parameters of others."""

import inspect
from typing import Any

import pytest

from thalweg._src.base.signatures import parameters_of, variant


def resized(image: Any, size: int = 2, align: bool = False, **kwargs: Any) -> tuple[Any, ...]:
    return image, size, align, kwargs


@parameters_of(resized, without=["align"], size=3)
def aligned(**given: Any) -> tuple[Any, ...]:
    """Passes its arguments on."""
    return resized(**given, align=True)


@parameters_of(resized, before="size")
def cropped(box: Any, **given: Any) -> tuple[Any, ...]:
    return box, *resized(**given)


def test_own_parameters_have_their_place() -> None:
    assert list(inspect.signature(cropped).parameters) == ["image", "box", "size", "align", "kwargs"]
    assert cropped("x", "y", 5) == ("y", "x", 5, False, {})


def test_parameters_are_those_of_the_other_function() -> None:
    assert str(inspect.signature(aligned)) == "(image: Any, size: int = 3, **kwargs: Any)"
    assert (aligned.__name__, aligned.__doc__) == ("aligned", "Passes its arguments on.")


def test_arguments_come_by_name_with_their_defaults() -> None:
    assert aligned("x") == ("x", 3, True, {})
    assert aligned("x", 4, name="y") == ("x", 4, True, {"name": "y"})


def test_wrong_arguments_are_type_errors() -> None:
    with pytest.raises(TypeError, match="image"):
        aligned()
    with pytest.raises(TypeError, match="multiple values"):
        aligned("x", image="y")


def test_a_method_keeps_its_object() -> None:
    class Base:
        def __init__(self, size: int, padding: str = "same") -> None:
            self.made = (size, padding)

    class Upper(Base):
        @parameters_of(Base.__init__)
        def __init__(self, **given: Any) -> None:
            super().__init__(**{**given, "padding": given["padding"].upper()})

    assert Upper(3).made == (3, "SAME")


@variant(resized, "x")
def resized_x() -> None:
    """Resizes x."""


def test_a_variant_has_the_other_parameters_and_a_name_of_its_own() -> None:
    assert list(inspect.signature(resized_x).parameters) == ["size", "align", "kwargs"]
    assert (resized_x.__name__, resized_x.__doc__) == ("resized_x", "Resizes x.")
    assert resized_x(5, name="y") == ("x", 5, False, {"name": "y"})
