"""tf.linalg: matrices."""

from thalweg.client.clipping import (
    global_norm,
)
from thalweg.ops.math import (
    inv,
)
from thalweg.ops.matrix import (
    matmul,
)
from thalweg.ops.shaping import (
    matrix_transpose,
    transpose,
)
from thalweg.ops.statistics import (
    norm,
)

__all__ = ["global_norm", "inv", "matmul", "matrix_transpose", "norm", "transpose"]
