"""Valid calls of the operations on matrices."""

from __future__ import annotations

import numpy as np

from tests.valid_calls.values import Call, S, X, floats, ints

_SQUARE = floats(2, 3, 3) + 2 * np.eye(3, dtype=np.float32)
_POSITIVE = _SQUARE @ _SQUARE.swapaxes(-1, -2)
_SINGLE = ("Cholesky", "MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "SelfAdjointEigV2", "Lu")

VALID: dict[str, Call] = {
    **{name: ((_POSITIVE,), {}) for name in (*_SINGLE, "MatrixSquareRoot", "MatrixExponential")},
    "MatrixLogarithm": ((_POSITIVE.astype(np.complex64),), {}),
    "Eig": ((_POSITIVE,), {"Tout": "complex64"}),
    "CholeskyGrad": ((_POSITIVE, _SQUARE), {}),
    "MatrixSolve": ((_SQUARE, floats(2, 3, 4)), {}),
    "MatrixTriangularSolve": ((_SQUARE, floats(2, 3, 4)), {}),
    "MatrixSolveLs": ((floats(3, 2) ** 2, floats(3, 4), np.array(0.5)), {}),
    "TridiagonalSolve": ((_SQUARE, floats(2, 3, 2)), {}),
    "TridiagonalMatMul": ((floats(2, 1, 3), floats(2, 1, 3), floats(2, 1, 3), floats(2, 3, 2)), {}),
    "Cross": ((X, X), {}),
    "Einsum": (([floats(2, 3), floats(3, 4)],), {"equation": "ij,jk->ki"}),
    "SparseMatMul": ((X, floats(3, 2)), {}),
    "BatchMatMul": ((floats(4, 2, 3), floats(4, 3, 2)), {}),
    "BatchMatMulV3": ((floats(4, 2, 3), floats(4, 3, 2)), {"Tout": "float32"}),
    **{f"MatrixDiagV{v}": ((floats(3, 2), ints(-1, 1), ints(2), ints(2), S), {}) for v in (2, 3)},
    **{f"MatrixDiagPartV{v}": ((floats(4, 3), ints(-1, 1), S), {}) for v in (2, 3)},
    **{f"MatrixSetDiagV{v}": ((floats(4, 3), floats(3, 3), ints(-1, 1)), {}) for v in (2, 3)},
}
