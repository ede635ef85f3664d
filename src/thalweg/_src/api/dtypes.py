"""tf.dtypes: the types, and the operations that convert between them."""

from thalweg._src.dtypes import *  # noqa: F403
from thalweg._src.ops.decoding import as_string as as_string
from thalweg._src.ops.math import cast as cast, complex as complex, saturate_cast as saturate_cast
