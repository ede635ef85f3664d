"""Valid calls of the recurrent networks in one operation: an LSTM of two layers."""

from __future__ import annotations

import numpy as np

from tests.valid_calls.values import Call, floats, ints

_TIME, _BATCH, _INPUT, _UNITS, _LAYERS = 4, 3, 2, 2, 2
_SIZE = 4 * _UNITS * (_INPUT + _UNITS) + 4 * _UNITS * 2 * _UNITS + _LAYERS * 2 * 4 * _UNITS
_STATE = floats(_LAYERS, _BATCH, _UNITS)
_GIVEN = (floats(_TIME, _BATCH, _INPUT), _STATE, _STATE, floats(_SIZE))
_RESULT = (floats(_TIME, _BATCH, _UNITS), _STATE, _STATE)
_LENGTHS = ints(4, 1, 2)
_NONE = np.zeros(0, np.float32)
_HOST = np.zeros(0, np.int8)
_SIZES = tuple(np.array(size, np.int32) for size in (_LAYERS, _UNITS, _INPUT))
_WEIGHTS = [floats(_UNITS, _INPUT)] * 16  # of the second layer too, as both sizes are 2
_BIASES = [floats(_UNITS)] * 16

VALID: dict[str, Call] = {
    "CudnnRNN": (_GIVEN, {}),
    "CudnnRNNBackprop": ((*_GIVEN, *_RESULT, *_RESULT, _NONE), {}),
    "CudnnRNNV3": ((*_GIVEN, _LENGTHS), {}),
    "CudnnRNNBackpropV3": ((*_GIVEN, _LENGTHS, *_RESULT, *_RESULT, _NONE, _HOST), {}),
    "CudnnRNNParamsSize": (_SIZES, {"T": "float32", "S": "int32"}),
    "CudnnRNNParamsToCanonical": ((*_SIZES, floats(_SIZE)), {"num_params": 16}),
    "CudnnRNNCanonicalToParams": ((*_SIZES, _WEIGHTS, _BIASES), {}),
}
