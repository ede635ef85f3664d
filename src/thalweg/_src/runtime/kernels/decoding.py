"""Kernels of decoding and encoding: numbers as text, raw bytes, base64, compression."""

from __future__ import annotations

import base64
import math
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.objects import object_array
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.strings import map_strings
from thalweg._src.runtime.kernels.types import from_numpy
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

_INTEGER = re.compile(rb"\s*[+-]?[0-9]+\s*")
_HEXADECIMAL = re.compile(rb"\s*[+-]?0x", re.IGNORECASE)
_MARKED_NAN = re.compile(rb"\s*[+-]?nan\(\w*\)\s*", re.IGNORECASE)
_LIMITS = {
    dtype: (np.iinfo(dtype.as_numpy_dtype).min, np.iinfo(dtype.as_numpy_dtype).max)
    for dtype in (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)
}
_FILLS = ("", " ", "+", "-", "0", "#")


def parse_number(text: bytes, dtype: DType) -> Any:
    """Parses a number; returns None if the text is not one of the type."""
    if dtype in _LIMITS:
        low, high = _LIMITS[dtype]
        if _INTEGER.fullmatch(text) is None or len(text) > 1000 or (low == 0 and b"-" in text):
            return None
        number = int(text)
        return number if low <= number <= high else None
    try:
        if b"_" not in text:
            return float(text)
    except ValueError:
        pass
    if _MARKED_NAN.fullmatch(text):
        return math.nan
    if _HEXADECIMAL.match(text) is None:
        return None
    try:
        return float.fromhex(text.decode("ascii"))
    except OverflowError:
        return -math.inf if text.lstrip().startswith(b"-") else math.inf
    except ValueError:
        return None


def number_tensor(numbers: list[Any], dtype: DType, shape: Sequence[int]) -> torch.Tensor:
    """Returns numbers as a tensor; values too large for a float32 become infinite."""
    with np.errstate(over="ignore"):
        array = np.array(numbers, np.float64 if dtype.is_floating else dtype.as_numpy_dtype)
        return torch.from_numpy(array.astype(dtype.as_numpy_dtype).reshape(shape))


@kernel("StringToNumber", devices=("CPU",))
def bind_to_number(node: Node, device: Device) -> Function:
    dtype = node.attrs["out_type"]

    def to_number(strings: Array) -> torch.Tensor:
        flat = strings.ravel().tolist()
        numbers = [parse_number(s, dtype) for s in flat]
        if None in numbers:
            raise invalid(f"StringToNumberOp could not correctly convert string: {_shown(flat[numbers.index(None)])}")
        return number_tensor(numbers, dtype, strings.shape)

    return to_number


def _shown(string: bytes) -> str:
    return string[:200].decode("utf-8", "backslashreplace")


@kernel("AsString", devices=("CPU",), T=dtypes.ALL - dtypes.QUANTIZED - {dtypes.resource, dtypes.variant})
def bind_as_string(node: Node, device: Device) -> Function:
    dtype, attrs = node.attrs["T"], node.attrs
    _check_format(dtype, attrs)
    if dtype.is_bool:
        return lambda value: object_array([b"true" if v else b"false" for v in value.ravel().tolist()], value.shape)
    kind = "e" if attrs["scientific"] else "g" if attrs["shortest"] else "f"
    # A C format; `%u` does not accept signs.
    fill = "" if dtype.is_integer and dtype.is_unsigned and attrs["fill"] in ("+", " ") else attrs["fill"]
    width = str(attrs["width"]) if attrs["width"] > -1 else ""
    precision = f".{attrs['precision']}" if attrs["precision"] > -1 else ""
    if dtype is dtypes.string:
        form = f"%{fill.replace('0', '')}{width}s".encode()
        return map_strings(lambda s: form % s)
    if dtype.is_integer:
        return _writer(f"%{fill}{width}d".encode())
    number = f"%{fill}{width}{precision}{kind}"
    # C pads NaN and infinity with spaces, whatever the fill.
    special = f"%{fill.replace('0', '')}{width}s"
    if dtype.is_complex:
        return _complex_writer(number, special)
    plain = _writer(number.encode())

    def write(value: torch.Tensor) -> Array:
        if bool(torch.isfinite(value).all()):
            return plain(value)  # type: ignore[no-any-return]
        texts = [_write_float(v, number, special) for v in value.ravel().tolist()]
        return object_array([text.encode() for text in texts], value.shape)

    return write


def _check_format(dtype: DType, attrs: dict[str, Any]) -> None:
    if attrs["fill"] not in _FILLS:
        raise invalid(f"fill is {attrs['fill']!r}, expected one of the characters ' +-0#' or an empty string")
    if attrs["scientific"] and attrs["shortest"]:
        raise invalid("scientific and shortest are mutually exclusive")
    numeric = dtype.is_floating or dtype.is_complex
    if (attrs["scientific"] or attrs["shortest"]) and not numeric and dtype is not dtypes.string:
        raise invalid(f"scientific and shortest require floating or complex numbers, received {dtype.name}")
    if attrs["precision"] > -1 and not numeric and dtype is not dtypes.string:
        raise invalid(f"precision requires floating or complex numbers, received {dtype.name}")


def _writer(form: bytes) -> Function:
    def write(value: torch.Tensor) -> Array:
        return object_array([form % number for number in value.ravel().tolist()], value.shape)

    return write


def _write_float(value: float, number: str, special: str) -> str:
    if math.isfinite(value):
        return number % value
    sign = "-" if math.copysign(1.0, value) < 0 else "+" if "+" in special else " " if "% " in special else ""
    return special.replace("+", "").replace("% ", "%").replace("#", "") % f"{sign}{abs(value)}"


def _complex_writer(number: str, special: str) -> Function:
    def write(value: torch.Tensor) -> Array:
        pairs = ((_write_float(v.real, number, special), _write_float(v.imag, number, special)) for v in _flat(value))
        return object_array([f"({real},{imaginary})".encode() for real, imaginary in pairs], value.shape)

    return write


def _flat(value: torch.Tensor) -> list[complex]:
    return value.ravel().tolist()


@kernel("EncodeBase64", devices=("CPU",))
def bind_encode_base64(node: Node, device: Device) -> Function:
    if node.attrs["pad"]:
        return map_strings(base64.urlsafe_b64encode)
    return map_strings(lambda s: base64.urlsafe_b64encode(s).rstrip(b"="))


_BASE64 = re.compile(rb"[0-9A-Za-z_-]*")


@kernel("DecodeBase64", devices=("CPU",))
def bind_decode_base64(node: Node, device: Device) -> Function:
    return map_strings(_decode_base64)


def _decode_base64(string: bytes) -> bytes:
    text = string
    if len(string) % 4 == 0 and string.endswith(b"="):
        text = string[:-2] if string.endswith(b"==") else string[:-1]
    if _BASE64.fullmatch(text) is None or len(text) % 4 == 1 or (string and not text):
        raise invalid(f"Invalid character or length of base64 in {_shown(string)!r}")
    return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))


def _element(dtype: DType, little_endian: bool) -> np.dtype[Any]:
    """Returns the NumPy type of a number in raw bytes; for complex types of the parts, for bfloat16 of the bits."""
    if dtype.is_complex:
        plain = np.dtype(f"f{dtype.size // 2}")
    elif dtype is dtypes.bfloat16:
        plain = np.dtype("i2")
    else:
        plain = np.dtype(np.uint8) if dtype.is_bool else np.dtype(dtype.as_numpy_dtype)
    return plain.newbyteorder("<" if little_endian else ">")


def _read(strings: list[bytes], dtype: DType, element: np.dtype[Any], shape: tuple[int, ...]) -> torch.Tensor:
    array = np.frombuffer(bytearray().join(strings), element).astype(element.newbyteorder("="), copy=False)
    if dtype is dtypes.bfloat16:
        return torch.from_numpy(array).view(torch.bfloat16).reshape(shape)
    array = array.view(dtype.as_numpy_dtype) if dtype.is_complex else array != 0 if dtype.is_bool else array
    tensor: torch.Tensor = from_numpy(array.reshape(shape), dtype)
    return tensor


@kernel("DecodeRaw", devices=("CPU",))
def bind_decode_raw(node: Node, device: Device) -> Function:
    dtype = node.attrs["out_type"]
    element = _element(dtype, node.attrs["little_endian"])

    def decode(strings: Array) -> torch.Tensor:
        flat = strings.ravel().tolist()
        size = len(flat[0]) if flat else 0
        if len(set(map(len, flat))) > 1:
            index, string = next((index, string) for index, string in enumerate(flat) if len(string) != size)
            raise invalid(
                f"the strings differ in length: element {index} has {len(string)} bytes, the first has {size}"
            )
        if size % dtype.size:
            text = f"has length {size} that is not a multiple of {dtype.size}, the size of {dtypes.native_name(dtype)}"
            raise invalid(f"Input to DecodeRaw {text}")
        return _read(flat, dtype, element, (*strings.shape, size // dtype.size))

    return decode


@kernel("DecodePaddedRaw", devices=("CPU",))
def bind_decode_padded_raw(node: Node, device: Device) -> Function:
    dtype = node.attrs["out_type"]
    element = _element(dtype, node.attrs["little_endian"])

    def decode(strings: Array, fixed_length: torch.Tensor) -> torch.Tensor:
        size = int(fixed_length)
        if size <= 0 or size % dtype.size:
            raise errors.ShapeError(f"fixed_length is {size}", expected=f"a positive multiple of {dtype.size}")
        padded = [s[:size].ljust(size, b"\0") for s in strings.ravel().tolist()]
        return _read(padded, dtype, element, (*strings.shape, size // dtype.size))

    return decode


_WINDOWS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}


@kernel("DecodeCompressed", devices=("CPU",))
def bind_decode_compressed(node: Node, device: Device) -> Function:
    kind = node.attrs["compression_type"]
    if kind not in ("", *_WINDOWS):
        raise invalid(f"compression_type is {kind!r}, expected 'ZLIB', 'GZIP' or ''")
    return map_strings(lambda s: _decompress(s, _WINDOWS[kind]) if kind else s)


def _decompress(data: bytes, window: int) -> bytes:
    """Decompresses all concatenated streams of GZIP; of a truncated stream, the available data."""
    streams = []
    while data:
        stream = zlib.decompressobj(window)
        try:
            streams.append(stream.decompress(data))
        except zlib.error as error:
            raise errors.DataLossError(None, None, f"the data cannot be decompressed: {error}") from None
        data = stream.unused_data if window == _WINDOWS["GZIP"] else b""
    return b"".join(streams)
