"""One peer in one process that executes eagerly: answers requests, one JSON object per line."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from worker import Peer, Programs, serve

COMPILE_AFTER_SECONDS = 1.0  # spent in steps, instead of 10


def load(name: str) -> tuple[Any, Programs]:
    """Imports a peer's library, enables eager execution in it, and returns its programs."""
    library, _, variant = name.partition("_")
    if library not in ("thalweg", "tensorflow"):
        return importlib.import_module(library), importlib.import_module(f"workloads.eager_{library}").PROGRAMS
    tf = importlib.import_module("thalweg" if library == "thalweg" else "tensorflow.compat.v1")
    if library == "thalweg":
        importlib.import_module("thalweg._src.runtime.executable").COMPILE_AFTER_SECONDS = COMPILE_AFTER_SECONDS
    tf.enable_eager_execution()
    module = importlib.import_module("workloads.eager_programs")
    programs = module.REFERENCES if variant == "reference" else module.PROGRAMS
    return tf, {key: functools.partial(program, tf) for key, program in programs.items()}


if __name__ == "__main__":
    serve(functools.partial(Peer, load=load))
