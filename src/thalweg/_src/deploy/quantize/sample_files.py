"""Samples for calibration in NumPy's files: .npz with an array per input, by its name, or .npy of the only input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.numpy_files import load
from thalweg._src.base.shapes import Shape, compatible, show

Array = np.ndarray[Any, Any]
_BATCH = 32  # samples that are fed together, unless the model fixes their number


def read_samples(path: str, shapes: Mapping[str, Shape]) -> Iterator[dict[str, Array]]:
    """Yields the samples of a file in batches.

    shapes: those of the inputs, by name; samples have the first axis, and a number is fed with every batch
    """
    arrays = _read(path, shapes)
    for name, shape in shapes.items():
        expected = (None, *shape[1:]) if shape else shape
        if not compatible(expected, arrays[name].shape):
            raise invalid(f"{path}: expected {name!r} of shape {show(expected)}, received {show(arrays[name].shape)}")
    counts = {name: len(array) for name, array in arrays.items() if array.ndim}
    if len(set(counts.values())) > 1:
        lengths = ", ".join(f"{count} of {name!r}" for name, count in counts.items())
        raise invalid(f"{path}: expected as many samples of each input, received {lengths}")
    fixed = {name: shape[0] for name, shape in shapes.items() if shape and shape[0] is not None}
    batch, count = next(iter(fixed.values()), _BATCH), next(iter(counts.values()), 1)
    whole = count - count % batch if fixed else count
    if not whole:
        raise invalid(f"{path}: expected {batch if fixed else 1} samples at least, received {count}")
    for start in range(0, whole, batch):
        yield {name: array[start : start + batch] if array.ndim else array for name, array in arrays.items()}


def _read(path: str, names: Mapping[str, Any]) -> dict[str, Array]:
    """Returns the arrays of the inputs; a file may have others, such as labels."""
    try:
        content = load(path)
        if isinstance(content, np.ndarray):
            if len(names) != 1:
                raise invalid(f"{path}: expected an .npz file with {', '.join(names)}, received a single array")
            return dict.fromkeys(names, content)
        missing = [name for name in names if name not in content]
        if missing:
            raise invalid(f"{path}: expected arrays {', '.join(names)}, received {', '.join(content) or 'none'}")
        return {name: content[name] for name in names}
    except ValueError as error:
        raise invalid(str(error)) from None
