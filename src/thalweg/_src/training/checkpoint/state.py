"""Checkpoint state: the text file `checkpoint` of a folder, which lists its checkpoints and the latest one."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from thalweg._src.base import errors, logging
from thalweg._src.base.export import export
from thalweg._src.base.formats import durable, gfile
from thalweg._src.base.formats.bundle import data_files
from thalweg._src.base.formats.checkpoint_messages import message_class
from thalweg._src.base.formats.regular import read_regular
from thalweg._src.base.formats.table_checkpoint import open_checkpoint, table_files
from thalweg._src.base.formats.text import PathLike

_STATE = "checkpoint"
_INDEX = ".index"
_MAX_BYTES = 1 << 26


def _message(**fields: Any) -> Any:
    return message_class("CheckpointState")(**fields)


def state_path(save_dir: str, latest_filename: str | None = None) -> str:
    """Returns the path of the file that lists a folder's checkpoints."""
    return os.path.join(save_dir, latest_filename or _STATE)


@export("train.generate_checkpoint_state_proto")
def generate_checkpoint_state_proto(
    save_dir: PathLike,
    model_checkpoint_path: PathLike,
    all_model_checkpoint_paths: Sequence[Any] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """Returns the state of a folder as a message; paths are relative to the folder where possible."""
    save_dir, latest = os.fspath(save_dir), os.fspath(model_checkpoint_path)
    paths = [os.fspath(path) for path in all_model_checkpoint_paths or ()]
    if not paths or paths[-1] != latest:
        paths.append(latest)
    if all_model_checkpoint_timestamps and len(all_model_checkpoint_timestamps) != len(paths):
        raise ValueError(
            f"expected a timestamp for each of {len(paths)} checkpoints, received {all_model_checkpoint_timestamps}"
        )
    if not os.path.isabs(save_dir):
        paths = [path if os.path.isabs(path) else os.path.relpath(path, save_dir) for path in paths]
    return _message(
        model_checkpoint_path=paths[-1],
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=all_model_checkpoint_timestamps or (),
        last_preserved_timestamp=last_preserved_timestamp,
    )


@export("train.update_checkpoint_state")
def update_checkpoint_state(
    save_dir: PathLike,
    model_checkpoint_path: Any,
    all_model_checkpoint_paths: Sequence[Any] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
    *,
    save_relative_paths: bool = False,
) -> None:
    """Writes the state of a folder atomically."""
    from google.protobuf import text_format

    save_dir, latest = os.fspath(save_dir), os.fspath(model_checkpoint_path)
    paths = [os.fspath(path) for path in all_model_checkpoint_paths or ()]
    if save_relative_paths:
        latest, *paths = (os.path.relpath(p, save_dir) if os.path.isabs(p) else p for p in [latest, *paths])
    state = generate_checkpoint_state_proto(
        save_dir, latest, paths, all_model_checkpoint_timestamps, last_preserved_timestamp
    )
    path = state_path(save_dir, latest_filename)
    if path == state.model_checkpoint_path:
        raise RuntimeError(f"the checkpoint {path!r} has the name of the file that lists the checkpoints")
    with durable.typed_errors(path):
        durable.write_file(path, text_format.MessageToString(state).encode())


@export("train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir: PathLike, latest_filename: str | None = None) -> Any:
    """Returns the state of a folder with full paths; None if there is none or, with a warning, if it is unreadable."""
    from google.protobuf import text_format

    folder = os.fspath(checkpoint_dir)
    path = state_path(folder, latest_filename)
    try:
        state = text_format.Parse(read_regular(path, _MAX_BYTES), _message())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, errors.OpError, text_format.ParseError, UnicodeDecodeError, ValueError) as error:
        logging.warning("%s: %s; the checkpoints that it lists are ignored", path, error)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {folder}")
    state.model_checkpoint_path = os.path.join(folder, state.model_checkpoint_path)
    paths = [os.path.join(folder, path) for path in state.all_model_checkpoint_paths]
    state.ClearField("all_model_checkpoint_paths")
    state.all_model_checkpoint_paths.extend(paths)
    return state


def deletable_checkpoints(checkpoint_dir: PathLike, state: Any) -> list[str]:
    """Returns the checkpoints of a state that are in its folder, the only ones that may be deleted as old.

    The file may come from another machine, or from someone else.
    """
    folder = os.path.abspath(os.fspath(checkpoint_dir))
    paths = [str(path) for path in state.all_model_checkpoint_paths]
    return [path for path in paths if os.path.dirname(os.path.abspath(path)) == folder]


@export("train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix: PathLike) -> bool:
    """Returns whether a checkpoint with this prefix exists."""
    prefix = os.fspath(checkpoint_prefix)
    return os.path.exists(prefix + _INDEX) or bool(gfile.glob(prefix + _INDEX)) or bool(table_files(prefix))


@export("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir: PathLike, latest_filename: str | None = None) -> str | None:
    """Returns the prefix of the newest checkpoint of a folder, None if it has none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    if checkpoint_exists(state.model_checkpoint_path):
        return str(state.model_checkpoint_path)
    logging.error("the checkpoint %s, recorded as the latest, does not exist", state.model_checkpoint_path)
    return None


def check_checkpoint(checkpoint_prefix: PathLike) -> None:
    """Reads a whole checkpoint and raises an error if it is corrupt, usually DataLossError with file and tensor."""
    with open_checkpoint(os.fspath(checkpoint_prefix)) as reader:
        reader.verify()


def latest_good_checkpoint(checkpoint_dir: PathLike, latest_filename: str | None = None) -> str | None:
    """Returns the newest intact checkpoint, None if there is none; warns of every newer one that is corrupt.

    Checkpoints that the state file does not name, for example because it is lost, come last, newest file first.
    """
    folder = os.fspath(checkpoint_dir)
    try:
        state = get_checkpoint_state(folder, latest_filename)
    except ValueError:
        state = None
    named = [] if state is None else [state.model_checkpoint_path, *reversed(state.all_model_checkpoint_paths)]
    for prefix in dict.fromkeys([*named, *_listed(folder)]):
        try:
            check_checkpoint(prefix)
            return str(prefix)
        except errors.OpError as error:
            logging.warning("the checkpoint %s cannot be used: %s", prefix, error)
    return None


def _listed(folder: str) -> list[str]:
    """Returns the checkpoints in a folder, newest first, whatever the state file lists."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(_INDEX)]
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in names]
    times = {}
    for path in paths:
        with contextlib.suppress(OSError):
            times[path] = os.stat(path).st_mtime_ns
    return [path.removesuffix(_INDEX) for path in sorted(times, key=lambda path: (times[path], path), reverse=True)]


@export("train.get_checkpoint_mtimes")
def get_checkpoint_mtimes(checkpoint_prefixes: Iterable[Any]) -> list[float]:
    """Returns the modification times of existing checkpoints, in seconds since 1970."""
    times = []
    for prefix in checkpoint_prefixes:
        files = [f"{os.fspath(prefix)}{_INDEX}", *table_files(os.fspath(prefix))]
        with contextlib.suppress(OSError):
            times.append(os.stat(next(filter(os.path.exists, files), files[0])).st_mtime)
    return times


@export("train.remove_checkpoint")
def remove_checkpoint(
    checkpoint_prefix: PathLike, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Deletes a checkpoint, its index first, so that an interruption leaves no partial checkpoint."""
    prefix = os.fspath(checkpoint_prefix)
    durable.remove_quietly(prefix + _INDEX)
    if checkpoint_format_version == 1:
        for path in table_files(prefix):
            durable.remove_quietly(path)
    for path, _ in data_files(prefix):
        durable.remove_quietly(path)
    durable.remove_quietly(meta_graph_filename(prefix, meta_graph_suffix))


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """Returns the name of the file with a checkpoint's graph, the same for all its shards."""
    base = re.sub(r"-[\d?]+-of-\d+$", "", checkpoint_filename)
    return f"{base}.{meta_graph_suffix}"


@export(
    "train.checkpoints_iterator",
    "contrib.framework.checkpoints_iterator",
    "contrib.training.checkpoints_iterator",
    "contrib.slim.evaluation.checkpoints_iterator",
)
def checkpoints_iterator(
    checkpoint_dir: PathLike,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yields checkpoints of a folder as they appear, until none has appeared for `timeout` seconds."""
    last: str | None = None
    while True:
        checkpoint = wait_for_new_checkpoint(checkpoint_dir, last, timeout=timeout)
        if checkpoint is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        start, last = time.monotonic(), checkpoint
        yield checkpoint
        time.sleep(max(0.0, min_interval_secs - (time.monotonic() - start)))


@export("contrib.training.wait_for_new_checkpoint", "contrib.slim.evaluation.wait_for_new_checkpoint")
def wait_for_new_checkpoint(
    checkpoint_dir: PathLike,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """Returns the latest checkpoint of a folder once it differs from the last one; None after `timeout` seconds.

    Args:
        checkpoint_dir: The folder.
        last_checkpoint: The checkpoint that is known; None accepts any.
        seconds_to_sleep: Time between two looks into the folder.
        timeout: The longest time to wait; None sets no limit.
    """
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        checkpoint = latest_checkpoint(checkpoint_dir)
        if checkpoint is not None and checkpoint != last_checkpoint:
            return checkpoint
        left = seconds_to_sleep if until is None else until - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(seconds_to_sleep, left))
