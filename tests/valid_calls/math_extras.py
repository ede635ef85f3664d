"""Valid calls of sorting, counting, special functions, chosen rows and stateless random numbers."""

from __future__ import annotations

import numpy as np

from tests.valid_calls.values import Call, S, X, floats, ints, longs

_ROWS = (X, ints(0, 1, 1), ints(0, 0, 2))
_SEEDED = (ints(2, 3), ints(0, 1))

VALID: dict[str, Call] = {
    "LowerBound": ((X, floats(2, 4)), {}),
    "UpperBound": ((X, floats(2, 4)), {}),
    "NthElement": ((X, ints(1)), {}),
    "ApproxTopK": ((X,), {"k": 2}),
    "HistogramFixedWidth": ((X, floats(2), ints(4)), {}),
    "Bincount": ((ints(0, 2, 2), ints(3), floats(3)), {}),
    "DenseBincount": ((ints([[0, 2, 2]]), ints(3), floats(1, 3)), {}),
    "UnravelIndex": ((ints(1, 5), ints(2, 3)), {}),
    **{f"TensorScatter{verb}": ((X, ints([[1], [0]]), X), {}) for verb in ("Max", "Min")},
    "SobolSample": ((ints(3), ints(4), ints(1)), {}),
    **{f"SparseSegment{verb}": (_ROWS, {}) for verb in ("Sum", "Mean", "SqrtN")},
    **{f"SparseSegment{verb}WithNumSegments": ((*_ROWS, ints(4)), {}) for verb in ("Sum", "Mean", "SqrtN")},
    **{
        f"SparseSegment{verb}Grad": ((floats(3, 2), ints(0, 1, 1), ints(0, 0, 2), ints(2)), {})
        for verb in ("Sum", "Mean", "SqrtN")
    },
    "StatelessRandomBinomial": ((*_SEEDED, floats(3) * 9, S), {}),
    "StatelessRandomGammaV2": ((*_SEEDED, floats(3)), {}),
    "StatelessRandomPoisson": ((*_SEEDED, floats(3)), {}),
    "StatelessParameterizedTruncatedNormal": ((*_SEEDED, S, S, np.array(-1, np.float32), floats(3)), {}),
    "StatelessRandomUniformFullInt": ((longs(2, 3), ints(0, 1)), {}),
}
