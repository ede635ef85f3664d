"""Properties that return an attribute: `loc = ReadOnly[Tensor]("The location.")` returns `self._loc`."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

T = TypeVar("T")


class ReadOnly(property, Generic[T]):
    """A property of type T that returns an attribute, by default the one of its own name after an underscore."""

    def __init__(self, doc: str, attribute: str | None = None) -> None:
        self._text = doc
        if attribute is not None:
            self._read(attribute)

    def __set_name__(self, owner: type, name: str) -> None:
        if self.fget is None:
            self._read(f"_{name}")

    def _read(self, attribute: str) -> None:
        super().__init__(attrgetter(attribute))
        self.__doc__ = self._text  # the constructor takes that of the getter

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type, /) -> ReadOnly[T]: ...
        @overload
        def __get__(self, instance: object, owner: type | None = None, /) -> T: ...
        def __get__(self, instance: object, owner: type | None = None, /) -> Any: ...
