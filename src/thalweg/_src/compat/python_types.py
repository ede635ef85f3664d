"""Python's number and string types under tf.compat's names, for isinstance."""

from __future__ import annotations

import numbers

import numpy as np

from thalweg._src.base.export import export_constants

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)

export_constants(
    bytes_or_text_types="compat.bytes_or_text_types",
    complex_types="compat.complex_types",
    integral_types="compat.integral_types",
    real_types="compat.real_types",
)
