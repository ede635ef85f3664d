"""tf.compat: text and number types of any Python, and `tf.compat.v1`, which is the package itself."""

import numbers
from importlib import import_module
from typing import Any

import numpy as np

from thalweg._src.compat.forward_compatibility import forward_compatibility_horizon, forward_compatible
from thalweg._src.formats.text import as_bytes, as_str, as_str_any, as_text, path_to_str
from thalweg._src.shapes import dimension_at_index, dimension_value

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "forward_compatibility_horizon",
    "forward_compatible",
    "integral_types",
    "path_to_str",
    "real_types",
]

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def __getattr__(name: str) -> Any:
    if name == "v1":
        return import_module("thalweg.compat.v1")
    raise AttributeError(f"module 'thalweg.compat' has no attribute {name!r}")
