"""tf.compat: Text and number types of Python, and `tf.compat.v1`, the name of this package in TensorFlow 2."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.formats.text import (
    as_bytes as as_bytes,
    as_str_any as as_str_any,
    as_text as as_str,
    as_text as as_text,
    path_to_str as path_to_str,
)
from thalweg._src.base.shapes import (
    dimension_at_index as dimension_at_index,
    dimension_value as dimension_value,
)
from thalweg._src.compat.python_types import (
    bytes_or_text_types as bytes_or_text_types,
    complex_types as complex_types,
    integral_types as integral_types,
    real_types as real_types,
)
from thalweg._src.compat.switches import (
    forward_compatibility_horizon as forward_compatibility_horizon,
    forward_compatible as forward_compatible,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.compat import v1 as v1

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["v1"],
    {},
)

__all__ = [
    "as_bytes", "as_str", "as_str_any", "as_text", "bytes_or_text_types", "complex_types", "dimension_at_index",
    "dimension_value", "forward_compatibility_horizon", "forward_compatible", "integral_types", "path_to_str",
    "real_types", "v1",
]
