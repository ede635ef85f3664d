"""Window arguments of convolution and pooling layers, and their output sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def sizes_of(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """Returns one integer for each spatial axis; one integer is repeated."""
    if isinstance(value, int):
        return (value,) * rank
    try:
        sizes = tuple(int(size) for size in value)
    except (TypeError, ValueError):
        sizes = ()
    if len(sizes) != rank:
        raise ValueError(f"{name}: expected {rank} integers, or one for all, received {value}")
    return sizes


def padding_of(value: object, causal: bool = False) -> str:
    """Returns the padding in lower case."""
    kind = str(value).lower()
    kinds = ("valid", "same", "causal") if causal else ("valid", "same")
    if kind not in kinds:
        raise ValueError(f"padding: expected {' or '.join(kinds)}, received {value}")
    return kind


def data_format_of(value: object) -> str:
    """Returns the data format in lower case: "channels_last" or "channels_first"."""
    kind = "channels_last" if value is None else str(value).lower()
    if kind not in ("channels_first", "channels_last"):
        raise ValueError(f"data_format: expected channels_first or channels_last, received {value}")
    return kind


def layout(data_format: str, rank: int) -> str:
    """Returns the data format of operations, such as "NHWC"."""
    return _LAYOUTS[rank][data_format == "channels_first"]


def around(spatial: Sequence[Any], data_format: str, batch: object = 1, channels: object = 1) -> list[Any]:
    """Adds batch and channels to the spatial sizes."""
    return [batch, channels, *spatial] if data_format == "channels_first" else [batch, *spatial, channels]


def split_sizes(sizes: Sequence[Any], data_format: str) -> tuple[list[Any], Any]:
    """Returns the spatial sizes and the channels of a shape."""
    return (list(sizes[2:]), sizes[1]) if data_format == "channels_first" else (list(sizes[1:-1]), sizes[-1])


def window_output(size: int | None, extent: int, padding: str, stride: int, rate: int = 1) -> int | None:
    """Returns the output size of a window along an axis."""
    if size is None:
        return None
    extent = (extent - 1) * rate + 1
    length = size if padding in ("same", "causal") else size - extent + 1
    return -(-length // stride)


def transposed_output(size: Any, extent: int, padding: str, stride: int) -> Any:
    """Returns the output size of a transposed convolution, of an integer or of a tensor."""
    if size is None:
        return None
    return size * stride if padding == "same" else size * stride + max(extent - stride, 0)
