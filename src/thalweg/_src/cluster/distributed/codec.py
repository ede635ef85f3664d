"""Codec: how the values for one task become frames, and those of its frames values, on links and channels alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from thalweg._src.cluster.distributed.connection import Connection, Frame
from thalweg._src.cluster.distributed.frames import Put, View, pack, unpack
from thalweg._src.cluster.distributed.limits import MAX_KEY
from thalweg._src.runtime.resources.rendezvous import Many


class Packed(NamedTuple):
    """Values as a frame has them.

    blocks: the offsets of those that are in the slab
    """

    description: bytes
    buffers: list[Any]
    num_values: int
    blocks: list[int]

    @property
    def nbytes(self) -> int:
        """The bytes that follow the description."""
        return sum(map(len, self.buffers))


class Codec:
    """Packs values for a task, and reads the values that it sends.

    Args:
      limit: the bytes that one value may have.
      put: copies bytes to the slab that the other task maps, if it does.
      view: returns bytes of the other task's slab.
    """

    def __init__(self, limit: int, put: Put | None = None, view: View | None = None) -> None:
        self._limit = limit
        self._put = put
        self._view = view

    def pack(self, values: Sequence[Any]) -> Packed:
        blocks: list[int] = []
        put = None if self._put is None else partial(self._put_block, self._put, blocks)
        description, buffers = pack(values, put)
        return Packed(description, buffers, len(values), blocks)

    def pack_tensor(self, key: str, value: Any) -> Packed:
        """Packs what a step sends under a key."""
        packed = self.pack(value.values if isinstance(value, Many) else [value])
        return packed._replace(description=packed.description + key.encode())

    @staticmethod
    def _put_block(put: Put, blocks: list[int], content: torch.Tensor) -> int | None:
        offset = put(content)
        if offset is not None:
            # For a message that is not sent after all: the other task would never release the blocks.
            blocks.append(offset)
        return offset

    def read(self, connection: Connection, frame: Frame, start: int = 0) -> tuple[list[Any], memoryview]:
        """Reads the values of a frame; returns them and what follows them in the description.

        start: where they start in the description
        """
        description = frame.description[start:]
        values, used = unpack(connection, description, frame.values, frame.size, self._limit, self._view)
        return values, description[used:]

    def read_tensor(self, connection: Connection, frame: Frame) -> tuple[str, Any]:
        """Reads a key, and what a step at the other task sent under it."""
        if not frame.values:
            raise ValueError("a message without a value")
        values, key = self.read(connection, frame)
        return read_key(key), values[0] if len(values) == 1 else Many(values)


def read_key(content: memoryview) -> str:
    """Returns the key of a tensor, which ends the description of its frame."""
    if len(content) > MAX_KEY:
        raise ValueError(f"a key of {len(content)} bytes, more than {MAX_KEY}")
    return str(content, "utf-8")
