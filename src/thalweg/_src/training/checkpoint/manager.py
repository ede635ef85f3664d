"""CheckpointManager: numbers the checkpoints of objects in a folder, and deletes old ones."""

from __future__ import annotations

import os
import time
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.training.checkpoint.object_checkpoint import session_for
from thalweg._src.training.checkpoint.state import (
    deletable_checkpoints,
    get_checkpoint_state,
    remove_checkpoint,
    update_checkpoint_state,
)


@export("train.CheckpointManager")
class CheckpointManager:
    """The checkpoints of one `Checkpoint` object in one folder.

    Args:
        checkpoint: The `Checkpoint` to save.
        directory: Folder of the checkpoints.
        checkpoint_name: File name of the checkpoints.
    """

    directory = ReadOnly[str]("The folder of the checkpoints.")
    checkpoint = ReadOnly[Any]("The checkpoint that the manager saves.")
    latest_checkpoint = ReadOnly[str | None]("The prefix of the newest checkpoint, None if there is none.", "_latest")

    def __init__(
        self,
        checkpoint: Any,
        directory: PathLike,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        self._checkpoint = checkpoint
        self._directory = str(os.fspath(directory))
        self._max_to_keep = max_to_keep
        self._hours = keep_checkpoint_every_n_hours
        self._name = checkpoint_name
        self._latest: str | None = None
        self._managed: dict[str, float] = {}  # prefix -> time of the save, oldest first
        now = time.time()
        self._last_preserved = now - 1.0  # another manager may be created within the same tick of the clock
        state = get_checkpoint_state(self._directory)
        if state is not None:
            self._recover(state, now)

    def _recover(self, state: Any, now: float) -> None:
        """Takes over the checkpoints of an earlier run."""
        self._latest = state.model_checkpoint_path
        self._last_preserved = state.last_preserved_timestamp
        if now < self._last_preserved:
            logging.warning("the clock was set back: checkpoints of %s are dated in the future", self._directory)
            self._last_preserved = now
        paths, deletable = list(state.all_model_checkpoint_paths), deletable_checkpoints(self._directory, state)
        times = list(state.all_model_checkpoint_timestamps) or [self._last_preserved] * len(paths)
        saved = [(path, min(moment, now)) for path, moment in zip(paths, times) if path in deletable]
        self._managed = {path: moment for path, moment in saved if moment > self._last_preserved}

    @property
    def checkpoints(self) -> list[str]:
        """The managed checkpoints, newest last."""
        return list(self._managed)

    def save(self, checkpoint_number: Any = None) -> str:
        """Writes a checkpoint under the next number, or a given one, in the default session; returns its prefix."""
        session: Any = None if executing_eagerly() else session_for(None)
        number = self._checkpoint._count(session)
        if checkpoint_number is not None:
            is_graph_element = session is not None and hasattr(checkpoint_number, "graph")
            number = int(session.run(checkpoint_number) if is_graph_element else checkpoint_number)
        path = self._checkpoint.write(os.path.join(self._directory, f"{self._name}-{number}"), session)
        self._managed.pop(path, None)
        self._managed[path] = time.time()
        self._latest = path
        self._record()  # before anything is deleted, so that the state never names a deleted checkpoint
        if self._sweep():
            self._record()
        return str(path)

    def _record(self) -> None:
        update_checkpoint_state(
            self._directory,
            self._latest,
            list(self._managed),
            all_model_checkpoint_timestamps=list(self._managed.values()),
            last_preserved_timestamp=self._last_preserved,
            save_relative_paths=True,
        )

    def _sweep(self) -> bool:
        """Deletes the oldest checkpoints, except one per interval of hours, which is kept and no longer managed."""
        before = len(self._managed)
        while self._max_to_keep and len(self._managed) > self._max_to_keep:
            path, moment = next(iter(self._managed.items()))
            del self._managed[path]
            if self._hours and moment - self._hours * 3600 >= self._last_preserved:
                self._last_preserved = moment
            else:
                remove_checkpoint(path)
        return len(self._managed) < before
