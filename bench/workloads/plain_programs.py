"""Baseline for checkpoints: one plain file with the same bytes, written and read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from workloads import data, records
from workloads.task import Task

Step = Callable[[], Any]
SHAPE = (data.CHECKPOINT_ROWS, 1024)


def save() -> Step:
    arrays = _arrays()

    def step() -> None:
        _write(arrays)

    return step


def restore(cached: bool = False) -> Step:
    path = _write(_arrays())
    prepare = touch if cached else drop

    def step() -> None:
        _read(path)

    return Task(step, before=lambda: prepare([path]))


def _arrays() -> list[Any]:
    random = np.random.default_rng(9)
    return [random.random(SHAPE, np.float32) for _ in range(data.CHECKPOINT_VARIABLES)]


def sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.close(file)


def drop(paths: Iterable[Path]) -> None:
    """Drops files from the page cache, so that they are read from disk."""
    for path in paths:
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def touch(paths: Iterable[Path]) -> None:
    """Reads files into the page cache."""
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 24):
                pass


def _write(arrays: list[Any]) -> Path:
    """Writes to a temporary name and renames, as for checkpoints."""
    path = records.folder() / "plain"
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb", buffering=0) as file:
        for array in arrays:
            rest = memoryview(array).cast("B")
            while rest:
                rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    unfinished.replace(path)
    return path


def _read(path: Path) -> list[Any]:
    """Reads into newly allocated arrays, one per array written."""
    arrays = [np.empty(SHAPE, np.float32) for _ in range(data.CHECKPOINT_VARIABLES)]
    with path.open("rb", buffering=0) as file:
        for array in arrays:
            rest = memoryview(array).cast("B")
            while rest:
                rest = rest[file.readinto(rest) :]
    return arrays


PROGRAMS: dict[str, Callable[[], Step]] = {
    "save": save,
    "restore": restore,
    "restore_cached": lambda: restore(cached=True),
}
