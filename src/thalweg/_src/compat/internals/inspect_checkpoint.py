"""`tensorflow.python.tools.inspect_checkpoint`: prints what a checkpoint holds."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from thalweg._src.training.checkpoint.reader import NewCheckpointReader


def print_tensors_in_checkpoint_file(
    file_name: Any,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Prints the names of tensors, and the values of all or of one of them; without either, names and shapes."""
    reader = NewCheckpointReader(file_name)
    names = sorted(reader.get_variable_to_shape_map())
    if all_tensors or all_tensor_names:
        for name in names:
            print("tensor_name: ", name)
            if all_tensors:
                print(reader.get_tensor(name))
    elif tensor_name:
        print("tensor_name: ", tensor_name)
        print(reader.get_tensor(tensor_name))
    else:
        print(reader.debug_string().decode("utf-8"))
    print(f"# Total number of params: {_count(reader, names, count_exclude_pattern)}")


def _count(reader: Any, names: list[str], exclude: str) -> int:
    """Returns the number of elements of all tensors but those whose names match a pattern."""
    shapes = reader.get_variable_to_shape_map()
    return sum(int(np.prod(shapes[name])) for name in names if not (exclude and re.search(exclude, name)))
