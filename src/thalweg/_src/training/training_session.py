"""MonitoredTrainingSession: a monitored session with the usual hooks of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.training.checkpoint_hook import AUTOMATIC, CheckpointSaverHook
from thalweg._src.training.monitored_session import MonitoredSession
from thalweg._src.training.report_hooks import SummarySaverHook
from thalweg._src.training.scaffold import Scaffold
from thalweg._src.training.session_creators import ChiefSessionCreator, WorkerSessionCreator
from thalweg._src.training.session_run_hook import SessionRunHook
from thalweg._src.training.step_hooks import StepCounterHook
from thalweg._src.training.variables.variables import global_variables

USE_DEFAULT: Any = object()


def _chosen(
    secs: float | str | None,
    steps: float | str | None,
    default_secs: float | str | None,
    default_steps: float | str | None,
) -> tuple[Any, Any]:
    """Returns an interval in seconds and in steps; the defaults apply only if neither is given."""
    if secs is USE_DEFAULT and steps is USE_DEFAULT:
        return default_secs, default_steps
    return None if secs is USE_DEFAULT else secs, None if steps is USE_DEFAULT else steps


def _is_enabled(secs: Any, steps: float | None) -> bool:
    return secs == AUTOMATIC or bool(secs and secs > 0) or bool(steps and steps > 0)


def _initializes_itself() -> bool:
    """Returns whether each worker has variables of its own, so that the chief does not initialize all of them."""
    strategies = {v.distribute_strategy for v in global_variables() if hasattr(v, "distribute_strategy")}
    return any(s.extended.experimental_between_graph and s.extended.experimental_should_init for s in strategies)


@export("train.MonitoredTrainingSession")
def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: PathLike | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: float | str | None = USE_DEFAULT,
    save_summaries_steps: float | str | None = USE_DEFAULT,
    save_summaries_secs: float | str | None = USE_DEFAULT,
    config: ConfigProto | None = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float | None = 7200,
    save_checkpoint_steps: float | str | None = USE_DEFAULT,
    summary_dir: PathLike | None = None,
    save_graph_def: bool = True,
    asynchronous_checkpoints: bool = False,
) -> MonitoredSession:
    """Returns a session for training that resumes from checkpoint_dir, saves there, and writes summaries.

    If neither `save_checkpoint_secs` nor `save_checkpoint_steps` is given, the interval is chosen: sqrt(2 c m) seconds,
    where c is the measured cost of a save and m the mean time between failures of the runs in this folder (initially a
    day), at least 10 and at most 600 seconds. With `asynchronous_checkpoints` files are written while training
    continues.

    Args:
        save_checkpoint_secs: Seconds between checkpoints; by default derived from what a save costs.
        log_step_count_steps: Steps between reports of the speed.
        save_checkpoint_steps: Steps between checkpoints; None or 0 saves none.
        summary_dir: Folder of the summaries; by default `checkpoint_dir`.
        asynchronous_checkpoints: Whether files are written in the background while training goes on.
    """
    scaffold = scaffold or Scaffold()
    if not is_chief and _initializes_itself():
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
        return MonitoredSession(creator, hooks, stop_grace_period_secs)
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
    all_hooks = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if log_step_count_steps and log_step_count_steps > 0:
            all_hooks.append(StepCounterHook(every_n_steps=log_step_count_steps, output_dir=summary_dir))
        secs, steps = _chosen(save_summaries_secs, save_summaries_steps, None, 100)
        if _is_enabled(secs, steps):
            all_hooks.append(
                SummarySaverHook(save_steps=steps, save_secs=secs, output_dir=summary_dir, scaffold=scaffold)
            )
    secs, steps = _chosen(save_checkpoint_secs, save_checkpoint_steps, AUTOMATIC, None)
    if checkpoint_dir and _is_enabled(secs, steps):
        all_hooks.append(
            CheckpointSaverHook(
                checkpoint_dir,
                save_secs=secs,
                save_steps=steps,
                scaffold=scaffold,
                save_graph_def=save_graph_def,
                asynchronous=asynchronous_checkpoints,
            )
        )
    if master and not checkpoint_dir:
        logging.warning(
            "MonitoredTrainingSession without checkpoint_dir: if a parameter server is lost, training starts over"
        )
    all_hooks += hooks or ()
    chief = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(chief, all_hooks, stop_grace_period_secs)
