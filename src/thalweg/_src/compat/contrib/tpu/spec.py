"""TPUEstimatorSpec: what a model function for TPUs returns, with functions that the host calls on tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.summary.writers import SummaryWriter, flush, summary_writer_initializer_op
from thalweg._src.estimator.spec import EstimatorSpec, checked_hooks
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metrics: Any
    export_outputs: Any
    scaffold_fn: Any
    host_call: Any
    training_hooks: tuple[SessionRunHook, ...]
    evaluation_hooks: tuple[SessionRunHook, ...]
    prediction_hooks: tuple[SessionRunHook, ...]


@export("contrib.tpu.TPUEstimatorSpec", "estimator.tpu.TPUEstimatorSpec")
class TPUEstimatorSpec(_Fields):
    """The operations of a model in one mode, as a `TPUEstimator` takes them.

    Args:
        mode: A constant of `tf.estimator.ModeKeys`.
        predictions: The predictions, tensors by name.
        loss: The loss, a scalar.
        train_op: Operation that takes a step of training.
        eval_metrics: Pair of a function that returns metrics by name, and its arguments: a list of tensors, or tensors
            by the names of its parameters.
        export_outputs: What is served: `ExportOutput` objects by signature; by default the predictions.
        scaffold_fn: Function without arguments that returns a `tf.train.Scaffold`, or None.
        host_call: Pair of a function and its arguments, as in `eval_metrics`; what it returns is run in each step.
        training_hooks: Hooks of training.
        evaluation_hooks: Hooks of evaluation.
        prediction_hooks: Hooks of prediction.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: TensorLike | None = None,
        loss: object = None,
        train_op: object = None,
        eval_metrics: object = None,
        export_outputs: Mapping[str, Any] | None = None,
        scaffold_fn: Callable[[], Any] | None = None,
        host_call: object = None,
        training_hooks: Sequence[SessionRunHook] | None = None,
        evaluation_hooks: Sequence[SessionRunHook] | None = None,
        prediction_hooks: Sequence[SessionRunHook] | None = None,
    ) -> TPUEstimatorSpec:
        _check_call("eval_metrics", eval_metrics)
        _check_call("host_call", host_call)
        return super().__new__(
            cls,
            mode,
            predictions,
            loss,
            train_op,
            eval_metrics,
            export_outputs,
            scaffold_fn,
            host_call,
            checked_hooks(training_hooks, "training_hooks"),
            checked_hooks(evaluation_hooks, "evaluation_hooks"),
            checked_hooks(prediction_hooks, "prediction_hooks"),
        )

    def as_estimator_spec(self) -> EstimatorSpec:
        """Returns the spec of an Estimator without TPUs, in which the functions of the host are called at once."""
        metrics = None if self.eval_metrics is None else _called(self.eval_metrics)
        added = () if self.host_call is None else (_HostCallHook(_called(self.host_call)),)
        return EstimatorSpec(
            self.mode,
            self.predictions,
            self.loss,
            self.train_op,
            metrics,
            self.export_outputs,
            training_hooks=self.training_hooks + added,
            scaffold=None if self.scaffold_fn is None else self.scaffold_fn(),
            evaluation_hooks=self.evaluation_hooks + added,
            prediction_hooks=self.prediction_hooks + added,
        )


def _check_call(what: str, call: object) -> None:
    """Raises unless a call of the host is None, or a function with arguments that it takes."""
    if call is None:
        return
    if not isinstance(call, tuple | list):
        raise ValueError(f"{what} should be tuple or list of a function and its tensors, received {call!r}")
    if len(call) != 2:
        raise ValueError(f"{what} should have two elements, a function and its tensors, received {len(call)}")
    function, tensors = call
    if not callable(function):
        raise TypeError(f"{what}[0] should be callable, received {function!r}")
    if not isinstance(tensors, tuple | list | Mapping):
        raise ValueError(f"{what}[1] should be tuple or list, or dict, of tensors, received {tensors!r}")
    try:
        args_and_kwargs = ((), tensors) if isinstance(tensors, Mapping) else (tensors, {})
        inspect.signature(function).bind(*args_and_kwargs[0], **args_and_kwargs[1])
    except TypeError as error:
        raise RuntimeError(f"{what}: the tensors do not match the parameters of {function!r}: {error}") from None


def _called(call: Any) -> Any:
    function, tensors = call
    return function(**tensors) if isinstance(tensors, Mapping) else function(*tensors)


class _HostCallHook(SessionRunHook):
    """Runs what a call of the host returned in each step, and opens and flushes the event files that it writes."""

    def __init__(self, tensors: Any) -> None:
        self._tensors = tensors

    def begin(self) -> None:
        self._open = summary_writer_initializer_op()
        self._flush = [flush(SummaryWriter(op.inputs[0])) for op in self._open]

    def after_create_session(self, session: Any, coord: object) -> None:
        session.run(self._open)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._tensors)

    def end(self, session: Any) -> None:
        session.run(self._flush)
