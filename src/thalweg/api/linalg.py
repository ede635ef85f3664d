"""tf.linalg: matrices."""

from thalweg.client.clipping import (
    global_norm,
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
from thalweg.ops.math import (
    inv,
)
from thalweg.ops.matrix import (
    matmul,
)
from thalweg.ops.normalization import (
    l2_normalize,
)
from thalweg.ops.shaping import (
    matrix_transpose,
    transpose,
)
from thalweg.ops.statistics import (
    norm,
)

__all__ = [
    "band_part",
    "diag",
    "diag_part",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "matmul",
    "matrix_transpose",
    "norm",
    "set_diag",
    "tensor_diag",
    "tensor_diag_part",
    "transpose",
]
