"""Valid calls of summaries."""

from __future__ import annotations

import numpy as np

from tests.valid_calls.values import Call


def _text(value: bytes) -> np.ndarray:
    return np.array(value, dtype=object)


_TAG = _text(b"tag")
_SUMMARIES = [_text(b"\n\x08\n\x01" + letter + b"\x15\x00\x00\x80?") for letter in (b"a", b"b")]
_IMAGES = np.arange(2 * 4 * 5 * 3, dtype=np.float32).reshape(2, 4, 5, 3)
_SOUNDS = np.linspace(-1, 1, 2 * 5 * 3, dtype=np.float32).reshape(2, 5, 3)

VALID: dict[str, Call] = {
    "ScalarSummary": ((_TAG, np.array(1.5, np.float32)), {}),
    "HistogramSummary": ((_TAG, _IMAGES), {}),
    "ImageSummary": ((_TAG, _IMAGES), {}),
    "AudioSummaryV2": ((_TAG, _SOUNDS, np.array(44.0, np.float32)), {}),
    "MergeSummary": ((_SUMMARIES,), {}),
    "TensorSummary": ((_SOUNDS,), {}),
    "TensorSummaryV2": ((_TAG, _SOUNDS, _text(b"\n\x06\n\x04text")), {}),
}
