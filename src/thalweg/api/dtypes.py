"""tf.dtypes: the operations beside the types, which are in thalweg.dtypes."""

from thalweg.ops.decoding import as_string
from thalweg.ops.math import cast, complex, saturate_cast

__all__ = ["as_string", "cast", "complex", "saturate_cast"]
