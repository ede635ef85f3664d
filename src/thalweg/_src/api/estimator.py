"""tf.estimator: the words for what a model is built for, and the hooks of training, which need no Estimator."""

from thalweg._src.training.checkpoint_hook import CheckpointSaverHook, CheckpointSaverListener
from thalweg._src.training.report_hooks import LoggingTensorHook, ProfilerHook, SummarySaverHook
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from thalweg._src.training.step_hooks import GlobalStepWaiterHook, StepCounterHook, StopAtStepHook
from thalweg._src.training.timers import SecondOrStepTimer
from thalweg._src.training.value_hooks import FeedFnHook, FinalOpsHook, NanLossDuringTrainingError, NanTensorHook


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
