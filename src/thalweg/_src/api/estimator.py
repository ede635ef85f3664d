"""tf.estimator: the words for what a model is built for, and the hooks of training, which need no Estimator."""

from thalweg._src.client.supervised.checkpoint_hook import CheckpointSaverHook, CheckpointSaverListener
from thalweg._src.client.supervised.report_hooks import LoggingTensorHook, ProfilerHook, SummarySaverHook
from thalweg._src.client.supervised.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from thalweg._src.client.supervised.step_hooks import GlobalStepWaiterHook, StepCounterHook, StopAtStepHook
from thalweg._src.client.supervised.timers import SecondOrStepTimer
from thalweg._src.client.supervised.value_hooks import (
    FeedFnHook,
    FinalOpsHook,
    NanLossDuringTrainingError,
    NanTensorHook,
)


class ModeKeys:
    """Tells what a model is built for."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


__all__ = [
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "FeedFnHook",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "LoggingTensorHook",
    "ModeKeys",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "ProfilerHook",
    "SecondOrStepTimer",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
]
