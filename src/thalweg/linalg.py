"""tf.linalg: Linear algebra: matrix operations, decompositions and linear operators."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.gen_ops import (
    cholesky as cholesky,
    cross as cross,
    diag as tensor_diag,
    diag_part as tensor_diag_part,
    expm as expm,
    logm as logm,
    lu as lu,
    matrix_band_part as band_part,
    matrix_determinant as det,
    matrix_inverse as inv,
    matrix_solve_op as solve,
    qr as qr,
    sqrtm as sqrtm,
)
from thalweg._src.graph.ops.contraction import (
    einsum as einsum,
    matvec as matvec,
    tensordot as tensordot,
    trace as trace,
)
from thalweg._src.graph.ops.decompositions import (
    eig as eig,
    eigvals as eigvals,
    self_adjoint_eig as eigh,
    self_adjoint_eigvals as eigvalsh,
    svd as svd,
)
from thalweg._src.graph.ops.diagonal import (
    eye as eye,
    matrix_diag as diag,
    matrix_diag_part as diag_part,
    matrix_set_diag as set_diag,
)
from thalweg._src.graph.ops.linalg import (
    adjoint as adjoint,
    cholesky_solve as cholesky_solve,
    logdet as logdet,
    lu_matrix_inverse as lu_matrix_inverse,
    lu_reconstruct as lu_reconstruct,
    lu_solve as lu_solve,
    matrix_rank as matrix_rank,
    matrix_solve_ls as lstsq,
    matrix_triangular_solve as triangular_solve,
    pinv as pinv,
    slogdet as slogdet,
)
from thalweg._src.graph.ops.matrix import matmul as matmul
from thalweg._src.graph.ops.normalization import l2_normalize as l2_normalize
from thalweg._src.graph.ops.reshape import (
    matrix_transpose as matrix_transpose,
    matrix_transpose as transpose,
)
from thalweg._src.graph.ops.tridiagonal import (
    tridiagonal_matmul as tridiagonal_matmul,
    tridiagonal_solve as tridiagonal_solve,
)
from thalweg._src.training.nn.linear_operators.base import LinearOperator as LinearOperator
from thalweg._src.training.nn.linear_operators.circulant import (
    LinearOperatorCirculant as LinearOperatorCirculant,
    LinearOperatorCirculant2D as LinearOperatorCirculant2D,
    LinearOperatorCirculant3D as LinearOperatorCirculant3D,
)
from thalweg._src.training.nn.linear_operators.combined import (
    LinearOperatorAdjoint as LinearOperatorAdjoint,
    LinearOperatorBlockDiag as LinearOperatorBlockDiag,
    LinearOperatorComposition as LinearOperatorComposition,
    LinearOperatorInversion as LinearOperatorInversion,
    LinearOperatorKronecker as LinearOperatorKronecker,
)
from thalweg._src.training.nn.linear_operators.plain import (
    LinearOperatorDiag as LinearOperatorDiag,
    LinearOperatorFullMatrix as LinearOperatorFullMatrix,
    LinearOperatorIdentity as LinearOperatorIdentity,
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
    LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
    LinearOperatorZeros as LinearOperatorZeros,
)
from thalweg._src.training.nn.linear_operators.structured import (
    LinearOperatorHouseholder as LinearOperatorHouseholder,
    LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate,
    LinearOperatorPermutation as LinearOperatorPermutation,
    LinearOperatorToeplitz as LinearOperatorToeplitz,
    LinearOperatorTridiag as LinearOperatorTridiag,
)
from thalweg._src.training.nn.statistics import (
    norm as norm,
    normalize as normalize,
)
from thalweg._src.training.optimizers.clipping import global_norm as global_norm

__all__ = [
    "LinearOperator", "LinearOperatorAdjoint", "LinearOperatorBlockDiag", "LinearOperatorCirculant",
    "LinearOperatorCirculant2D", "LinearOperatorCirculant3D", "LinearOperatorComposition", "LinearOperatorDiag",
    "LinearOperatorFullMatrix", "LinearOperatorHouseholder", "LinearOperatorIdentity", "LinearOperatorInversion",
    "LinearOperatorKronecker", "LinearOperatorLowRankUpdate", "LinearOperatorLowerTriangular",
    "LinearOperatorPermutation", "LinearOperatorScaledIdentity", "LinearOperatorToeplitz", "LinearOperatorTridiag",
    "LinearOperatorZeros", "adjoint", "band_part", "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part",
    "eig", "eigh", "eigvals", "eigvalsh", "einsum", "expm", "eye", "global_norm", "inv", "l2_normalize", "logdet",
    "logm", "lstsq", "lu", "lu_matrix_inverse", "lu_reconstruct", "lu_solve", "matmul", "matrix_rank",
    "matrix_transpose", "matvec", "norm", "normalize", "pinv", "qr", "set_diag", "slogdet", "solve", "sqrtm", "svd",
    "tensor_diag", "tensor_diag_part", "tensordot", "trace", "transpose", "triangular_solve", "tridiagonal_matmul",
    "tridiagonal_solve",
]
