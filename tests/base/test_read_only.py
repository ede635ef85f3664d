"""Properties that return an attribute of their object."""

from typing import Any

import pytest

from thalweg._src.base.read_only import ReadOnly


class Part:
    size = ReadOnly[int]("The size.")

    def __init__(self, size: int) -> None:
        self._size = size


class Whole(Part):
    part_size = ReadOnly[Any]("The size of the part.", "_part.size")

    def __init__(self) -> None:
        super().__init__(3)
        self._part = Part(1)


def test_the_attribute_is_that_of_the_name_or_a_given_one() -> None:
    whole = Whole()
    assert (whole.size, whole.part_size) == (3, 1)
    whole._size = 4
    assert whole.size == 4


def test_it_is_a_property_with_a_docstring() -> None:
    assert isinstance(Part.size, property)
    assert (Part.size.__doc__, Whole.part_size.__doc__) == ("The size.", "The size of the part.")
    with pytest.raises(AttributeError, match="no setter"):
        Part(1).size = 2  # type: ignore[assignment]
