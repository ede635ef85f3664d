"""Windows of convolutions and pools: their arguments, and the sizes that come out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def sizes_of(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """Returns one number for each spatial axis; a single number stands for all."""
    if isinstance(value, int):
        return (value,) * rank
    try:
        sizes = tuple(int(size) for size in value)
    except (TypeError, ValueError):
        sizes = ()
    if len(sizes) != rank:
        raise ValueError(f"{name}: expected {rank} integers, or one for all, received {value}")
    return sizes


def padding_of(value: Any, causal: bool = False) -> str:
    """Returns the kind of padding in small letters."""
    kind = str(value).lower()
    kinds = ("valid", "same", "causal") if causal else ("valid", "same")
    if kind not in kinds:
        raise ValueError(f"padding: expected {' or '.join(kinds)}, received {value}")
    return kind


def data_format_of(value: Any) -> str:
    """Returns which axis holds the channels: "channels_last" or "channels_first"."""
    kind = "channels_last" if value is None else str(value).lower()
    if kind not in ("channels_first", "channels_last"):
        raise ValueError(f"data_format: expected channels_first or channels_last, received {value}")
    return kind


def layout(data_format: str, rank: int) -> str:
    """Returns the letters that operations know a data format by."""
    return _LAYOUTS[rank][data_format == "channels_first"]


def around(spatial: Sequence[Any], data_format: str, batch: Any = 1, channels: Any = 1) -> list[Any]:
    """Puts batch and channels around the spatial sizes."""
    return [batch, channels, *spatial] if data_format == "channels_first" else [batch, *spatial, channels]


def split_sizes(sizes: Sequence[Any], data_format: str) -> tuple[list[Any], Any]:
    """Returns the spatial sizes and the channels of a shape."""
    return (list(sizes[2:]), sizes[1]) if data_format == "channels_first" else (list(sizes[1:-1]), sizes[-1])


def window_output(size: int | None, extent: int, padding: str, stride: int, rate: int = 1) -> int | None:
    """Returns how many places a window takes along an axis."""
    if size is None:
        return None
    extent = (extent - 1) * rate + 1
    length = size if padding in ("same", "causal") else size - extent + 1
    return -(-length // stride)


def transposed_output(size: Any, extent: int, padding: str, stride: int) -> Any:
    """Returns the size that a transposed convolution gives, of a number or of a tensor."""
    if size is None:
        return None
    return size * stride if padding == "same" else size * stride + max(extent - stride, 0)
