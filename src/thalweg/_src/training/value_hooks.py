"""Hooks that read or feed values: a NaN loss, fetches at the end, feeds from a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base import errors, logging
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from thalweg._src.training.variables.sessions import SessionLike


@export("estimator.NanLossDuringTrainingError", "train.NanLossDuringTrainingError")
class NanLossDuringTrainingError(RuntimeError):
    """Raised when the loss is NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


@export("estimator.NanTensorHook", "train.NanTensorHook")
class NanTensorHook(SessionRunHook):
    """Stops or fails when the loss is NaN."""

    def __init__(self, loss_tensor: Tensor | str, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not np.isnan(run_values.results):
            return
        if self._fail_on_nan_loss:
            logging.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        logging.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


@export("estimator.FinalOpsHook", "train.FinalOpsHook")
class FinalOpsHook(SessionRunHook):
    """Runs fetches when training ends; `final_ops_values` holds their values."""

    final_ops_values = ReadOnly[Any]("The values of the final operations, after the end of the session.")

    def __init__(self, final_ops: Any, final_ops_feed_dict: dict[Any, Any] | None = None) -> None:
        self._final_ops = final_ops
        self._final_ops_feed_dict = final_ops_feed_dict
        self._final_ops_values: Any = None

    def end(self, session: SessionLike) -> None:
        if self._final_ops is None:
            return
        try:
            self._final_ops_values = session.run(self._final_ops, feed_dict=self._final_ops_feed_dict)
        except (errors.OutOfRangeError, StopIteration) as error:
            logging.warning(
                "the final operations have no values, because the input has ended: %s. "
                "They should not depend on input, since training continues until it ends.",
                error,
            )
            raise


@export("estimator.FeedFnHook", "train.FeedFnHook")
class FeedFnHook(SessionRunHook):
    """Feeds each step with the result of a function."""

    def __init__(self, feed_fn: Callable[[], dict[Any, Any]]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(None, feed_dict=self.feed_fn())
