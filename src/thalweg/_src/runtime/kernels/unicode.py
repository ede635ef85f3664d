"""Kernels of Unicode: transcoding, and conversion between strings and code points."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.objects import object_array
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.strings import map_strings
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.kernels.unicode_scripts import script_of
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

_LAST = 0x10FFFF
_REPLACEMENT = 0xFFFD
_SURROGATES = range(0xD800, 0xE000)
_CODECS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}


class _Decoder:
    """Decodes strings of one encoding, with a policy for invalid bytes."""

    def __init__(self, attrs: dict[str, Any]) -> None:
        self._codec = attrs["input_encoding"]
        try:
            b"a".decode(self._codec)
        except UnicodeDecodeError:
            pass  # an incomplete character
        except (LookupError, ValueError):
            raise invalid(f"input_encoding {self._codec!r} is unknown") from None
        self._errors = attrs["errors"]
        self._replacement = _replacement(attrs)
        self._replaces_controls = attrs["replace_control_characters"]
        self._is_utf16 = self._codec.upper().replace("_", "-") in ("UTF-16", "UTF16")

    def text(self, string: bytes) -> str:
        return "".join(text for text, _ in self._runs(string))

    def characters(self, string: bytes) -> tuple[list[int], list[int]]:
        """Returns the code points and the byte offsets at which they start."""
        codec, mark = self._codec_of(string)
        codes: list[int] = []
        starts: list[int] = []
        for text, start in self._runs(string):
            for char in text:
                codes.append(ord(char))
                starts.append(start)
                start += len(char.encode(codec, "surrogatepass")) if len(text) > 1 else 0
        if mark and starts:
            starts[0] = 0  # a byte order mark is part of the first character
        return codes, starts

    def _codec_of(self, string: bytes) -> tuple[str, int]:
        """Returns Python's codec and the length of the byte order mark that selects it."""
        if not self._is_utf16:
            return self._codec, 0
        mark = string[:2]
        return ("utf-16-le" if mark == b"\xff\xfe" else "utf-16-be"), 2 * (mark in (b"\xff\xfe", b"\xfe\xff"))

    def _runs(self, string: bytes) -> Iterator[tuple[str, int]]:
        """Yields decoded runs and single replacements, each with its byte offset."""
        codec, start = self._codec_of(string)
        while start < len(string):
            rest = string[start:]
            try:
                good, bad = rest.decode(codec), 0
                size = len(rest)
            except UnicodeDecodeError as error:
                size, bad = error.start, max(error.end - error.start, 1)
                good = rest[:size].decode(codec)
            yield from self._without_controls(good, start, codec)
            if bad:
                yield self._replaced(), start + size
            start += size + bad

    def _without_controls(self, text: str, start: int, codec: str) -> Iterator[tuple[str, int]]:
        if not self._replaces_controls or not any(char <= "\x1f" for char in text):
            yield text, start
            return
        for char in text:
            yield (self._replaced() if char <= "\x1f" else char), start
            start += len(char.encode(codec))

    def _replaced(self) -> str:
        if self._errors == "strict":
            raise invalid("Invalid formatting on input string")
        return chr(self._replacement) if self._errors == "replace" else ""


def _replacement(attrs: dict[str, Any]) -> int:
    code: int = attrs["replacement_char"]
    if not 0 <= code <= _LAST:
        raise invalid(f"replacement_char {code} is out of range, expected a code point from 0 to {_LAST}")
    return code


def _writable(code: int) -> int:
    """Returns a character that encodings can represent, which surrogates are not."""
    return _REPLACEMENT if code in _SURROGATES else code


@kernel("UnicodeTranscode", devices=("CPU",))
def bind_transcode(node: Node, device: Device) -> Function:
    attrs = {**node.attrs, "replacement_char": _writable(node.attrs["replacement_char"])}
    decoder, codec = _Decoder(attrs), _CODECS[attrs["output_encoding"]]
    return map_strings(lambda s: decoder.text(s).encode(codec))


@kernel("UnicodeDecode", "UnicodeDecodeWithOffsets", devices=("CPU",))
def bind_decode(node: Node, device: Device) -> Function:
    decoder, splits_type = _Decoder(node.attrs), TORCH[node.attrs["Tsplits"]]
    outputs = len(node.dtypes)

    def decode(strings: Array) -> tuple[torch.Tensor, ...]:
        codes: list[int] = []
        starts: list[int] = []
        splits = [0]
        for string in strings.ravel().tolist():
            more_codes, more_starts = decoder.characters(string)
            codes += more_codes
            starts += more_starts
            splits.append(len(codes))
        values = (
            torch.tensor(splits, dtype=splits_type),
            torch.tensor(codes, dtype=torch.int32),
            torch.tensor(starts, dtype=torch.int64),
        )
        return values[:outputs]

    return decode


@kernel("UnicodeEncode", devices=("CPU",))
def bind_encode(node: Node, device: Device) -> Function:
    errors, codec = node.attrs["errors"], _CODECS[node.attrs["output_encoding"]]
    replacement = chr(_writable(_replacement(node.attrs)))

    def character(code: int) -> str:
        if 0 <= code <= _LAST and code not in _SURROGATES:
            return chr(code)
        if errors == "strict":
            raise invalid(f"{code} is not a character: a surrogate, or out of range")
        return replacement if errors == "replace" else ""

    def encode(values: torch.Tensor, splits: torch.Tensor) -> Array:
        bounds, codes = splits.tolist(), values.tolist()
        falling = any(a > b for a, b in itertools.pairwise(bounds))
        if falling or not bounds or bounds[0] != 0 or bounds[-1] != len(codes):
            raise invalid(f"input_splits must increase from 0 to {len(codes)}, the number of characters")
        texts = ["".join([character(code) for code in codes[a:b]]) for a, b in itertools.pairwise(bounds)]
        return object_array([text.encode(codec) for text in texts], (len(texts),))

    return encode


plain_kernel("UnicodeScript", devices=("CPU",))(lambda codes: torch.from_numpy(np.asarray(script_of(codes.numpy()))))
