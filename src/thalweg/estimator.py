"""tf.estimator: Mode keys, and the training hooks that need no Estimator."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.checkpoint_hook import (
    CheckpointSaverHook as CheckpointSaverHook,
    CheckpointSaverListener as CheckpointSaverListener,
)
from thalweg._src.training.mode_keys import (
    ModeKeys as ModeKeys,
)
from thalweg._src.training.report_hooks import (
    LoggingTensorHook as LoggingTensorHook,
    ProfilerHook as ProfilerHook,
    SummarySaverHook as SummarySaverHook,
)
from thalweg._src.training.session_run_hook import (
    SessionRunArgs as SessionRunArgs,
    SessionRunContext as SessionRunContext,
    SessionRunHook as SessionRunHook,
    SessionRunValues as SessionRunValues,
)
from thalweg._src.training.step_hooks import (
    GlobalStepWaiterHook as GlobalStepWaiterHook,
    StepCounterHook as StepCounterHook,
    StopAtStepHook as StopAtStepHook,
)
from thalweg._src.training.timers import (
    SecondOrStepTimer as SecondOrStepTimer,
)
from thalweg._src.training.value_hooks import (
    FeedFnHook as FeedFnHook,
    FinalOpsHook as FinalOpsHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook,
)

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
