"""Savers of variables by name in eager execution."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike, as_text
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.types import TensorLike
from thalweg._src.graph.variable_creators import variable_creator_scope
from thalweg._src.training.checkpoint.reader import CheckpointReader
from thalweg._src.training.checkpoint.saver import Saver as GraphSaver
from thalweg._src.training.optimizers.optimizer import Optimizer


@export("contrib.eager.Saver")
class Saver:
    """Saves and restores variables by their names, in eager execution."""

    def __init__(self, var_list: Any) -> None:
        _require_eager("Saver")
        self._saver = GraphSaver(var_list)

    def save(self, file_prefix: PathLike, global_step: TensorLike | None = None) -> str | None:
        """Writes a checkpoint and returns its prefix, with the number of the step if one is given."""
        return self._saver.save(None, file_prefix, global_step=global_step)

    def restore(self, file_prefix: PathLike) -> None:
        """Restores the variables from a checkpoint."""
        self._saver.restore(None, file_prefix)


@export("contrib.eager.restore_variables_on_create")
@contextlib.contextmanager
def restore_variables_on_create(
    save_path: PathLike | None, map_func: Callable[[str], str] | None = None
) -> Iterator[None]:
    """Context manager: variables that are created take their values from a checkpoint, those that it has."""
    _require_eager("restore_variables_on_create")
    if map_func is not None and not callable(map_func):
        raise ValueError(f"map_func must be callable: {map_func!r}")
    if save_path is None:
        yield
        return
    reader = CheckpointReader(as_text(os.fspath(save_path)))

    def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        variable = next_creator(**kwargs)
        name = variable._shared_name if map_func is None else map_func(variable._shared_name)
        if reader.has_tensor(name):
            variable.assign(reader.get_tensor(name))
        return variable

    with variable_creator_scope(create):
        yield


@export("contrib.eager.get_optimizer_variables")
def get_optimizer_variables(optimizer: Optimizer) -> list[Any]:
    """Returns the variables of an optimizer: its own, and its slots."""
    require_members("optimizer", optimizer, "an optimizer", "variables")
    return optimizer.variables()


def _require_eager(what: str) -> None:
    if not executing_eagerly():
        raise RuntimeError(
            f"tf.contrib.eager.{what} needs eager execution: tf.enable_eager_execution(); "
            "tf.train.Saver works in graphs too"
        )
