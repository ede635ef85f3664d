"""Sliding windows of convolutions and pools: strides, dilations and padding, shared by shape functions and kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.base.errors import require_text
from thalweg._src.graph.ops.shape_functions import require

Sizes = tuple[int | None, ...]
Pads = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Window:
    """The strides, dilations and padding of a window, one entry per spatial dimension."""

    channels_first: bool
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: str
    explicit: Pads

    @property
    def rank(self) -> int:
        return len(self.strides)

    def spatial(self, dims: Sequence[Any]) -> Any:
        return tuple(dims[2:] if self.channels_first else dims[1:-1])

    def channels(self, dims: Sequence[Any]) -> Any:
        return dims[1 if self.channels_first else -1]

    def shape(self, batch: int | None, spatial: Sizes, channels: int | None) -> Sizes:
        return (batch, channels, *spatial) if self.channels_first else (batch, *spatial, channels)

    def output(self, sizes: Sizes, kernel: Sizes) -> Sizes:
        """Returns the number of window positions along each dimension."""
        return tuple(self._positions(i, size, extent) for i, (size, extent) in enumerate(zip(sizes, kernel)))

    def _positions(self, axis: int, size: int | None, extent: int | None) -> int | None:
        stride = self.strides[axis]
        require(extent is None or extent > 0, f"the window is {extent} wide", expected="at least 1")
        if self.padding == "SAME":
            return None if size is None else -(-size // stride)
        if size is None or extent is None:
            return None
        size += sum(self.explicit[axis]) if self.padding == "EXPLICIT" else 0
        reach = (extent - 1) * self.dilations[axis] + 1
        require(
            size >= reach,
            f"Negative dimension size caused by subtracting {reach} from {size}",
            expected=f"an input of at least {reach}, the size of the window, along spatial dimension {axis}",
            hint="did you mean padding='SAME'?" if self.padding == "VALID" else None,
        )
        return (size - reach) // stride + 1

    def pads(self, sizes: Sizes, kernel: Sizes) -> Pads | None:
        """Returns the padding before and after each dimension, None while it depends on unknown sizes."""
        if self.padding == "VALID":
            return ((0, 0),) * self.rank
        if self.padding == "EXPLICIT":
            return self.explicit
        result = []
        for size, extent, stride, dilation in zip(sizes, kernel, self.strides, self.dilations):
            if extent is None or (size is None and stride > 1):
                return None
            total = (extent - 1) * dilation
            if stride > 1:
                assert size is not None
                total = max((-(-size // stride) - 1) * stride + total + 1 - size, 0)
            result.append((total // 2, total - total // 2))
        return tuple(result)


def window_of(attrs: Mapping[str, Any]) -> Window:
    """Returns the window of an operation's attributes, and rejects those that no kernel supports."""
    layout: str = attrs.get("data_format", "NHWC")
    rank = len(layout) - 2
    first = layout.startswith("NC")
    strides = _inner(attrs["strides"], "strides", rank, first)
    dilations = _inner(attrs["dilations"], "dilations", rank, first) if "dilations" in attrs else (1,) * rank
    explicit: Pads = ()
    explicit_pads = attrs.get("explicit_paddings", ())
    if attrs["padding"] == "EXPLICIT":
        require(
            len(explicit_pads) == 2 * rank + 4 and min(explicit_pads) >= 0,
            f"explicit_paddings are {list(explicit_pads)}",
            expected=f"{2 * rank + 4} non-negative integers",
        )
        pairs = tuple(zip(explicit_pads[::2], explicit_pads[1::2]))
        outer = (pairs[0], pairs[1 if first else -1])
        require(outer == ((0, 0), (0, 0)), "batch and channel dimensions cannot be padded", expected="zeros there")
        explicit = pairs[2:] if first else pairs[1:-1]
    else:
        require(not explicit_pads, "explicit_paddings are given", expected="none unless padding is EXPLICIT")
    return Window(first, strides, dilations, attrs["padding"], explicit)


def kernel_of(attrs: Mapping[str, Any]) -> tuple[int, ...]:
    """Returns the spatial sizes of a pool."""
    layout: str = attrs.get("data_format", "NHWC")
    return _inner(attrs["ksize"], "ksize", len(layout) - 2, layout.startswith("NC"))


def _inner(values: Sequence[int], what: str, rank: int, first: bool) -> tuple[int, ...]:
    require(len(values) == rank + 2, f"{what} has {len(values)} entries", expected=f"{rank + 2} entries")
    require(
        values[0] == 1 and values[1 if first else -1] == 1,
        f"{what} is {list(values)}",
        expected=f"{what} of 1 in the batch and channel dimensions",
    )
    require(min(values) > 0, f"{what} is {list(values)}", expected=f"{what} of at least 1")
    return tuple(values[2:] if first else values[1:-1])


def has_channels_first(data_format: str | None) -> bool:
    """Returns whether the channels come second, as in NCHW, and not last."""
    if data_format is None:
        return False
    require_text("data_format", data_format)
    return data_format.startswith("NC")


def full_sequence(value: Any, rank: int, channels_first: bool, name: str) -> list[int]:
    """Returns one integer per dimension from one integer, one per spatial dimension, or the full list."""
    values = [1] if value is None else list(value) if hasattr(value, "__len__") else [value]
    if len(values) == rank + 2:
        return values
    if len(values) == 1:
        values *= rank
    elif len(values) != rank:
        raise ValueError(f"{name} should be of length 1, {rank} or {rank + 2} but was {len(values)}")
    return [1, 1, *values] if channels_first else [1, *values, 1]


def padding_attrs(padding: Any, rank: int = 2) -> dict[str, Any]:
    """Returns the attributes of a padding given by name or as pairs for all dimensions."""
    if isinstance(padding, list | tuple):
        if len(padding) != rank + 2 or any(not hasattr(pair, "__len__") or len(pair) != 2 for pair in padding):
            raise ValueError(f"padding must be a name or {rank + 2} pairs of numbers, got {padding!r}")
        return {"padding": "EXPLICIT", "explicit_paddings": [size for pair in padding for size in pair]}
    if padding == "EXPLICIT":
        raise ValueError("padding is 'EXPLICIT', expected the paddings themselves: a list of pairs")
    return {"padding": padding}
