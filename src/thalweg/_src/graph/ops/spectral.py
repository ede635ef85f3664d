"""Fourier transforms over the last one, two or three dimensions, and cosine transforms built from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, prod
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.base.signatures import variant
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import Infer, OpDef, op
from thalweg._src.graph.ops import cast as cast_ops, math, reshape as reshape_ops, sequences as sequences_ops
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.pad_tile import pad, roll
from thalweg._src.graph.ops.reduction import reduce_prod
from thalweg._src.graph.ops.reshape import constant_value, zeros, zeros_like
from thalweg._src.graph.ops.shape_functions import at_least_rank, require, vector_size
from thalweg._src.graph.ops.where import where, where_v2
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_REAL = attr.types((dtypes.float32, dtypes.float64), dtypes.float32)
_COMPLEX = attr.types((dtypes.complex64, dtypes.complex128), dtypes.complex64)


def _keeps_shape(rank: int) -> Infer:
    return lambda c: [at_least_rank(c, 0, rank)]


def _transform(name: str, rank: int, doc: str) -> OpDef:
    signature = "input: Tcomplex -> output: Tcomplex"
    return op(name, signature, Tcomplex=_COMPLEX, infer=_keeps_shape(rank), doc=doc)


fft = export("fft", "signal.fft", "spectral.fft")(
    _transform("FFT", 1, "Computes the Fourier transform along the last dimension.")
)
ifft = export("ifft", "signal.ifft", "spectral.ifft")(
    _transform("IFFT", 1, "Computes the inverse Fourier transform along the last dimension.")
)
fft2d = export("fft2d", "signal.fft2d", "spectral.fft2d")(
    _transform("FFT2D", 2, "Computes the Fourier transform over the last two dimensions.")
)
ifft2d = export("ifft2d", "signal.ifft2d", "spectral.ifft2d")(
    _transform("IFFT2D", 2, "Computes the inverse Fourier transform over the last two dimensions.")
)
fft3d = export("fft3d", "signal.fft3d", "spectral.fft3d")(
    _transform("FFT3D", 3, "Computes the Fourier transform over the last three dimensions.")
)
ifft3d = export("ifft3d", "signal.ifft3d", "spectral.ifft3d")(
    _transform("IFFT3D", 3, "Computes the inverse Fourier transform over the last three dimensions.")
)


def half(length: int) -> int:
    """Returns the number of frequencies kept of a real signal's transform: the others are their conjugates."""
    return length // 2 + 1 if length else 0


def _resized(rank: int, inverse: bool) -> Infer:
    """Replaces the last dimensions by those of fft_length, which the input must fill; half of the last is complex."""

    def infer(c: Inference) -> Sequence[Shape]:
        shape = at_least_rank(c, 0, rank)
        count, lengths = vector_size(c, 1), c.value(1)
        require(count in (None, rank), f"fft_length has {count} elements", expected=f"{rank}")
        wide = dtypes.complex128 if c.attrs["Treal"] is dtypes.float64 else dtypes.complex64
        require(c.attrs["Tcomplex"] is wide, f"Treal is {c.attrs['Treal'].name}", expected=f"Tcomplex {wide.name}")
        if lengths is None:
            return [None if shape is None else (*shape[:-rank], *[None] * rank)]
        sizes = lengths.tolist()
        require(min(sizes) >= 0, f"fft_length is {sizes}", expected="non-negative lengths")
        if shape is None:
            return [None]
        taken = [*sizes[:-1], half(sizes[-1])] if inverse else sizes
        fits = 0 in shape or all(size is None or size >= n for size, n in zip(shape[-rank:], taken))
        require(fits, f"input has shape {show(shape)}", expected=f"at least {taken} in the last dimensions")
        return [(*shape[:-rank], *(sizes if inverse else [*sizes[:-1], half(sizes[-1])]))]

    return infer


def _real_transform(name: str, rank: int, doc: str) -> OpDef:
    return op(
        name,
        "input: Treal, fft_length: int32 -> output: Tcomplex",
        Treal=_REAL,
        Tcomplex=_COMPLEX,
        host="fft_length",
        infer=_resized(rank, inverse=False),
        doc=doc,
    )


def _inverse_real_transform(name: str, rank: int, doc: str) -> OpDef:
    return op(
        name,
        "input: Tcomplex, fft_length: int32 -> output: Treal",
        Treal=_REAL,
        Tcomplex=_COMPLEX,
        host="fft_length",
        infer=_resized(rank, inverse=True),
        doc=doc,
    )


rfft_op = _real_transform("RFFT", 1, "Computes the Fourier transform of real numbers along the last dimension.")
rfft2d_op = _real_transform("RFFT2D", 2, "Computes the Fourier transform of real numbers over the last two dimensions.")
rfft3d_op = _real_transform(
    "RFFT3D", 3, "Computes the Fourier transform of real numbers over the last three dimensions."
)
irfft_op = _inverse_real_transform(
    "IRFFT", 1, "Computes the inverse Fourier transform to real numbers along the last dimension."
)
irfft2d_op = _inverse_real_transform(
    "IRFFT2D", 2, "Computes the inverse Fourier transform to real numbers over the last two dimensions."
)
irfft3d_op = _inverse_real_transform(
    "IRFFT3D", 3, "Computes the inverse Fourier transform to real numbers over the last three dimensions."
)

Transform = Callable[..., Tensor]


def extend(tensor: Tensor, sizes: Any, rank: int) -> Tensor:
    """Zero-pads the ends of the last dimensions to at least the given sizes."""
    shape, static_sizes = tensor.dims, constant_value(sizes) if isinstance(sizes, Tensor) else sizes
    if shape is not None and None not in shape[-rank:] and static_sizes is not None:
        missing = [max(int(n) - size, 0) for n, size in zip(static_sizes, shape[-rank:])]  # type: ignore[operator]
        if not any(missing):
            return tensor
        return pad(tensor, [[0, 0]] * (len(shape) - rank) + [[0, n] for n in missing])
    lacking = math.maximum(0, math.subtract(sizes, reshape_ops.shape(tensor)[-rank:]))
    after = concat([zeros([reshape_ops.rank(tensor) - rank], dtypes.int32), lacking], 0)
    return pad(tensor, stack([zeros_like(after), after], 1))


def _real(transform: OpDef, rank: int, name: str) -> Transform:
    def rfft(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
        """Transforms real numbers, cropped or zero-padded to fft_length; keeps n // 2 + 1 of the last frequencies.

        Args:
            fft_length: Lengths of the transform along its dimensions; the input is cut or padded to them.
        """
        with name_scope(name, default, [input_tensor, fft_length]) as scope:
            x = convert_to_tensor(input_tensor, preferred_dtype=dtypes.float32)
            if x.dtype not in (dtypes.float32, dtypes.float64):
                raise ValueError(f"expected an input of type float32 or float64, received {x}")
            kind = dtypes.complex64 if x.dtype is dtypes.float32 else dtypes.complex128
            if fft_length is None:
                lengths = reshape_ops.shape(x)[-rank:]
            else:
                lengths = convert_to_tensor(fft_length, dtypes.int32, name="fft_length")
                x = _filled(x, lengths, rank)
            return transform(x, lengths, Tcomplex=kind, name=scope)

    default = rfft.__name__ = rfft.__qualname__ = name
    return rfft


def _inverse_real(transform: OpDef, rank: int, name: str) -> Transform:
    def irfft(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
        """Computes the real signals of transforms; the last dimension has 2 * (n - 1) values, or as fft_length says.

        Args:
            fft_length: Lengths of the transform along its dimensions; the input is cut or padded to them.
        """
        with name_scope(name, default, [input_tensor, fft_length]) as scope:
            x = convert_to_tensor(input_tensor, preferred_dtype=dtypes.complex64)
            if not x.dtype.is_complex:
                raise ValueError(f"expected an input of type complex64 or complex128, received {x}")
            kind = dtypes.float32 if x.dtype is dtypes.complex64 else dtypes.float64
            if fft_length is None:
                sizes = reshape_ops.shape(x)[-rank:]
                lengths = concat([sizes[:-1], math.maximum(0, 2 * (sizes[-1:] - 1))], 0)
            else:
                lengths = convert_to_tensor(fft_length, dtypes.int32, name="fft_length")
                x = _filled(x, concat([lengths[:-1], lengths[-1:] // 2 + 1], 0), rank)
            return transform(x, lengths, Treal=kind, name=scope)

    default = irfft.__name__ = irfft.__qualname__ = name
    return irfft


def _filled(x: Tensor, sizes: Tensor, rank: int) -> Tensor:
    """Zero-pads a signal, except an empty one, and one whose rank the transform will reject."""
    shape = x.dims
    if sizes.dims not in (None, (None,), (rank,)) or (shape is not None and (0 in shape or len(shape) < rank)):
        return x
    return extend(x, sizes, rank)


rfft = export("signal.rfft", "spectral.rfft")(_real(rfft_op, 1, "rfft"))
rfft2d = export("signal.rfft2d", "spectral.rfft2d")(_real(rfft2d_op, 2, "rfft2d"))
rfft3d = export("signal.rfft3d", "spectral.rfft3d")(_real(rfft3d_op, 3, "rfft3d"))
irfft = export("signal.irfft", "spectral.irfft")(_inverse_real(irfft_op, 1, "irfft"))
irfft2d = export("signal.irfft2d", "spectral.irfft2d")(_inverse_real(irfft2d_op, 2, "irfft2d"))
irfft3d = export("signal.irfft3d", "spectral.irfft3d")(_inverse_real(irfft3d_op, 3, "irfft3d"))


def number_of_terms(lengths: Any, dtype: DType) -> Any:
    """Returns the product of lengths, which may be a tensor."""
    static_lengths = constant_value(lengths) if isinstance(lengths, Tensor) else lengths
    if static_lengths is not None:
        return cast_ops.cast(float(prod(int(n) for n in static_lengths)), dtype)
    return cast_ops.cast(reduce_prod(lengths), dtype)


@export("signal.fftshift")
def fftshift(x: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Shifts the zero frequency from the start to the middle of the axes, by default all.

    Args:
        axes: The axes to shift; all by default.
    """
    return _shifted(x, axes, name, "fftshift", 1)


@export("signal.ifftshift")
def ifftshift(x: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Shifts the zero frequency from the middle back to the start.

    Args:
        axes: The axes to shift; all by default.
    """
    return _shifted(x, axes, name, "ifftshift", -1)


def _shifted(x: Any, axes: Any, name: str | None, default: str, sign: int) -> Tensor:
    with name_scope(name, default, [x]) as scope:
        x = convert_to_tensor(x)
        sizes = reshape_ops.shape(x)
        if axes is None:
            axes = sequences_ops.range(reshape_ops.rank(x)) if x.dims is None else list(range(len(x.dims)))
        elif isinstance(axes, int):
            return roll(x, sign * (sizes[axes] // 2), axes, name=scope)
        axes = convert_to_tensor(axes, dtypes.int32)
        axes = where(axes < 0, axes + reshape_ops.rank(x), axes)
        return roll(x, sign * (gather(sizes, axes) // 2), axes, name=scope)


def _cosine(
    inverse: bool,
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes the discrete cosine transform or its inverse.

    Args:
        type: Type of the transform, 1 to 4.
        n: Length to cut or pad to.
        axis: Must be -1.
    """
    if axis != -1:
        raise NotImplementedError(f"axis is {axis}, expected -1")
    if n is not None and n < 1:
        raise ValueError(f"n is {n}, expected 1 or more, or None")
    if type not in (1, 2, 3, 4):
        raise ValueError(f"type is {type}, expected 1, 2, 3 or 4")
    if norm not in (None, "ortho"):
        raise ValueError(f"norm is {norm!r}, expected 'ortho' or None")
    if type == 1 and norm == "ortho":
        raise ValueError("norm='ortho' does not exist for type 1")
    with name_scope(name, "dct", [input]):
        x = convert_to_tensor(input)
        if type == 1 and x.dims is not None and x.dims[-1] in (0, 1):
            raise ValueError(f"the last dimension is {x.dims[-1]}, type 1 needs 2 or more")
        if n is not None:
            x = extend(x, [n], 1)[..., :n]
        return _of_type({2: 3, 3: 2}.get(type, type) if inverse else type, x, norm)


@export("signal.dct", "spectral.dct")
@variant(_cosine, False)
def dct() -> None:
    """Computes the discrete cosine transform of type 1 to 4 along the last dimension, cropped or zero-padded to n."""


@export("signal.idct", "spectral.idct")
@variant(_cosine, True)
def idct() -> None:
    """Computes the inverse cosine transform, up to a factor of 2 * n unless norm is "ortho"."""


def last_size(x: Tensor) -> Any:
    """Returns the size of the last dimension: an int if it is static, else a tensor."""
    if x.dims == ():
        raise ValueError(f"{x.label}: expected at least one dimension, received a scalar")
    size = x.dims[-1] if x.dims is not None else None
    return reshape_ops.shape(x)[-1] if size is None else size


def _of_type(kind: int, x: Tensor, norm: str | None) -> Tensor:
    count = last_size(x)
    size = cast_ops.cast(count, x.dtype)
    if kind == 1:
        return math.real(rfft(concat([x, x[..., -2:0:-1]], -1)))
    if kind == 2:
        terms = rfft(x, [2 * count])[..., :count]
        result = math.real(terms * _phases(count, -1, x.dtype))
        return result * _first_differs(0.5 * math.rsqrt(size), 2**0.5, count) if norm else result
    if kind == 3:
        x = x * (_first_differs(math.sqrt(size), 0.5**0.5, count) if norm else size)
        terms = _phases(count, 1, x.dtype) * math.complex(x, zeros([], x.dtype))
        return irfft(terms, [2 * count])[..., :count]
    result = _of_type(2, extend(x, stack([2 * count]), 1), None)[..., 1::2]
    return result * (0.5**0.5 * math.rsqrt(size)) if norm else result


def _phases(count: Any, sign: int, dtype: DType) -> Tensor:
    """Returns 2 * exp(sign * i * pi * k / (2 * count)) for each k."""
    if isinstance(count, int):
        turns = 2 * np.exp(sign * 1j * np.arange(count) * pi / (2 * max(count, 1)))
        return convert_to_tensor(turns.astype(np.complex64 if dtype is dtypes.float32 else np.complex128))
    angle = cast_ops.cast(sequences_ops.range(count), dtype) * (sign * pi / 2) / cast_ops.cast(count, dtype)
    return 2 * math.complex(math.cos(angle), math.sin(angle))


def _first_differs(first: Tensor, factor: float, count: Any) -> Tensor:
    """Returns a weight per term: one for the first, a multiple of it for the others."""
    return where_v2(sequences_ops.range(count) > 0, first * factor, first)
