"""Arrays of Python objects: strings, and lists whose lengths may be equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def object_array(values: Sequence[Any], shape: Sequence[int] | None = None) -> np.ndarray[Any, Any]:
    """Returns values as an array of objects, a vector unless a shape is requested.

    `np.array` would make a further dimension of lists of one length, and drop the final zeros of bytes.
    """
    result = np.empty(len(values), object)
    result[:] = values
    return result if shape is None else result.reshape(shape)
