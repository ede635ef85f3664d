"""tf.linalg: matrices."""

from thalweg.client.clipping import (
    global_norm,
)
from thalweg.library.linear_operators.base import (
    LinearOperator,
)
from thalweg.library.linear_operators.combined import (
    LinearOperatorAdjoint,
    LinearOperatorBlockDiag,
    LinearOperatorComposition,
    LinearOperatorInversion,
    LinearOperatorKronecker,
)
from thalweg.library.linear_operators.plain import (
    LinearOperatorDiag,
    LinearOperatorFullMatrix,
    LinearOperatorIdentity,
    LinearOperatorLowerTriangular,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from thalweg.library.linear_operators.structured import (
    LinearOperatorHouseholder,
    LinearOperatorLowRankUpdate,
    LinearOperatorPermutation,
    LinearOperatorToeplitz,
    LinearOperatorTridiag,
)
from thalweg.ops.contraction import (
    cross,
    einsum,
    matvec,
    tensordot,
    trace,
)
from thalweg.ops.decompositions import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lu,
    qr,
    svd,
)
from thalweg.ops.diagonal import (
    diag as tensor_diag,
    diag_part as tensor_diag_part,
    eye,
    matrix_band_part as band_part,
    matrix_diag as diag,
    matrix_diag_part as diag_part,
    matrix_set_diag as set_diag,
)
from thalweg.ops.linalg import (
    adjoint,
    cholesky_solve,
    expm,
    logdet,
    logm,
    lu_matrix_inverse,
    lu_reconstruct,
    lu_solve,
    matrix_determinant as det,
    matrix_inverse as inv,
    matrix_rank,
    matrix_solve as solve,
    matrix_solve_ls as lstsq,
    matrix_triangular_solve as triangular_solve,
    pinv,
    slogdet,
    sqrtm,
)
from thalweg.ops.matrix import (
    matmul,
)
from thalweg.ops.normalization import (
    l2_normalize,
)
from thalweg.ops.shaping import (
    matrix_transpose,
    matrix_transpose as transpose,
)
from thalweg.ops.statistics import (
    norm,
    normalize,
)
from thalweg.ops.tridiagonal import (
    tridiagonal_matmul,
    tridiagonal_solve,
)

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorPermutation",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorTridiag",
    "LinearOperatorZeros",
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "logm",
    "lstsq",
    "lu",
    "lu_matrix_inverse",
    "lu_reconstruct",
    "lu_solve",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
    "tridiagonal_matmul",
    "tridiagonal_solve",
]
