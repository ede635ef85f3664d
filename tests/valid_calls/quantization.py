"""Valid calls of quantization."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.valid_calls.values import Call, S, X, floats, ints
from thalweg._src.base import dtypes


def _steps(*shape: int, dtype: str = "quint8") -> np.ndarray:
    """Returns quantized integers, all different."""
    kind = dtypes.as_dtype(dtype).as_numpy_dtype
    return np.arange(int(np.prod(shape)), dtype=kind[0]).reshape(shape).view(kind)


LOW, HIGH = np.array(-1, np.float32), np.array(2, np.float32)
_RANGE, _BOTH = (LOW, HIGH), (LOW, HIGH, LOW, HIGH)
_IMAGE = _steps(1, 4, 5, 2)
_WINDOW: dict[str, Any] = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1]}
_CHANNELS = (-floats(3), floats(3))

VALID: dict[str, Call] = {
    "QuantizeV2": ((X, *_RANGE), {"T": "quint8"}),
    "Dequantize": ((_steps(2, 3), *_RANGE), {}),
    **{f"QuantizeAndDequantize{version}": ((X, *_RANGE), {"range_given": True}) for version in ("V2", "V4")},
    "QuantizeAndDequantizeV3": ((X, *_RANGE, ints(8)), {}),
    "QuantizeAndDequantizeV4Grad": ((X, X, *_RANGE), {}),
    "FakeQuantWithMinMaxVars": ((X, *_RANGE), {}),
    "FakeQuantWithMinMaxVarsGradient": ((X, X, *_RANGE), {}),
    "FakeQuantWithMinMaxVarsPerChannel": ((X, *_CHANNELS), {}),
    "FakeQuantWithMinMaxVarsPerChannelGradient": ((X, X, *_CHANNELS), {}),
    "QuantizedRelu": ((_steps(2, 3), *_RANGE), {}),
    "QuantizedRelu6": ((_steps(2, 3), *_RANGE), {}),
    "QuantizedReluX": ((_steps(2, 3), S, *_RANGE), {}),
    "QuantizedMaxPool": ((_IMAGE, *_RANGE), _WINDOW),
    "QuantizedAvgPool": ((_IMAGE, *_RANGE), _WINDOW),
    "QuantizedConv2D": ((_IMAGE, _steps(3, 3, 2, 4), *_BOTH), {"strides": [1, 1, 1, 1]}),
    "QuantizedMatMul": ((_steps(2, 3), _steps(3, 2), *_BOTH), {}),
    "QuantizedMul": ((_steps(2, 3), _steps(3), *_BOTH), {}),
    "QuantizedBiasAdd": ((_steps(2, 3), _steps(3), *_BOTH), {"out_type": "qint32"}),
    "QuantizedReshape": ((_steps(2, 3), ints(3, -1), *_RANGE), {}),
    "Requantize": ((_steps(2, 3, dtype="qint32"), *_BOTH), {"out_type": "quint8"}),
    "QuantizeDownAndShrinkRange": ((_steps(2, 3, dtype="qint32"), *_RANGE), {"out_type": "quint8"}),
    "RequantizationRange": ((_steps(2, 3, dtype="qint32"), *_RANGE), {}),
    "QuantizedConcat": ((ints(1), [_steps(2, 3), _steps(2, 2)], [LOW, LOW], [HIGH, HIGH]), {}),
}
