"""tf.dtypes: the operations beside the types, which are in thalweg.dtypes."""

from thalweg.ops.math import cast, complex, saturate_cast

__all__ = ["cast", "complex", "saturate_cast"]
