"""Valid calls of patches, morphology and fractional pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.valid_calls.values import IMAGE, VOLUME, Call, floats, longs

_PATCHES: dict[str, Any] = {"ksizes": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1]}
_MORPHOLOGY: dict[str, Any] = {"strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1]}
_FRACTIONAL: dict[str, Any] = {"pooling_ratio": [1.0, 1.5, 1.7, 1.0], "deterministic": True, "seed": 3, "seed2": 4}
_SEQUENCES = (longs(0, 2, 4), longs(0, 2, 5))
_POOLED = np.maximum.reduceat(np.maximum.reduceat(IMAGE, [0, 2], 1), [0, 2], 2)

VALID: dict[str, Call] = {
    "ExtractImagePatches": ((IMAGE,), _PATCHES),
    "ExtractVolumePatches": ((VOLUME,), {"ksizes": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 1, 1]}),
    "Dilation2D": ((IMAGE, floats(2, 3, 2)), _MORPHOLOGY),
    "Dilation2DBackpropInput": ((IMAGE, floats(2, 3, 2), floats(1, 2, 5, 2)), _MORPHOLOGY),
    "Dilation2DBackpropFilter": ((IMAGE, floats(2, 3, 2), floats(1, 2, 5, 2)), _MORPHOLOGY),
    "FractionalMaxPool": ((IMAGE,), _FRACTIONAL),
    "FractionalAvgPool": ((IMAGE,), _FRACTIONAL),
    "FractionalMaxPoolGrad": ((IMAGE, _POOLED, floats(1, 2, 2, 2), *_SEQUENCES), {}),
    "FractionalAvgPoolGrad": ((longs(IMAGE.shape), floats(1, 2, 2, 2), *_SEQUENCES), {}),
}
