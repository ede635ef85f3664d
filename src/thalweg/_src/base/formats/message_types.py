"""Protobuf messages as types, for annotations: protobuf is imported only where messages are read or written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, MutableSequence
from typing import Any, Protocol


class Message(Protocol):
    """A message, whose fields are attributes; their types are those of its definition."""

    def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None: ...


class NodeDef(Protocol):
    """A node of a GraphDef."""

    name: str
    op: str
    device: str

    @property
    def input(self) -> MutableSequence[str]: ...

    @property
    def attr(self) -> MutableMapping[str, Message]: ...

    def CopyFrom(self, other: NodeDef) -> None: ...

    def ClearField(self, name: str) -> None: ...

    def SerializeToString(self, deterministic: bool = ...) -> bytes: ...


class GraphDef(Protocol):
    """A graph as TensorFlow stores it."""

    @property
    def node(self) -> Nodes: ...

    @property
    def library(self) -> Message: ...

    @property
    def versions(self) -> Message: ...

    def CopyFrom(self, other: GraphDef) -> None: ...

    def ClearField(self, name: str) -> None: ...

    def HasField(self, name: str) -> bool: ...

    def SerializeToString(self, deterministic: bool = ...) -> bytes: ...


class Nodes(Protocol):
    """The nodes of a GraphDef."""

    def __iter__(self) -> Iterator[NodeDef]: ...

    def __len__(self) -> int: ...

    def extend(self, nodes: Iterable[NodeDef]) -> None: ...
