"""tf.train: optimizers, schedules, averages and the global step."""

from typing import Any as _Any

from thalweg._src.api.train import experimental as experimental
from thalweg._src.checkpoint.manager import CheckpointManager as CheckpointManager
from thalweg._src.checkpoint.meta_graph import (
    export_meta_graph as export_meta_graph,
    import_meta_graph as import_meta_graph,
)
from thalweg._src.checkpoint.object_checkpoint import Checkpoint as Checkpoint
from thalweg._src.checkpoint.reader import (
    NewCheckpointReader as NewCheckpointReader,
    init_from_checkpoint as init_from_checkpoint,
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
)
from thalweg._src.checkpoint.saver import Saver as Saver
from thalweg._src.checkpoint.state import (
    checkpoint_exists as checkpoint_exists,
    checkpoints_iterator as checkpoints_iterator,
    generate_checkpoint_state_proto as generate_checkpoint_state_proto,
    get_checkpoint_mtimes as get_checkpoint_mtimes,
    get_checkpoint_state as get_checkpoint_state,
    latest_checkpoint as latest_checkpoint,
    remove_checkpoint as remove_checkpoint,
    update_checkpoint_state as update_checkpoint_state,
)
from thalweg._src.checkpoint.warm_start import VocabInfo as VocabInfo, warm_start as warm_start
from thalweg._src.graph.graphdef import write_graph
from thalweg._src.input import queue_runner as queue_runner
from thalweg._src.input.batches import (
    batch as batch,
    batch_join as batch_join,
    maybe_batch as maybe_batch,
    maybe_batch_join as maybe_batch_join,
    maybe_shuffle_batch as maybe_shuffle_batch,
    maybe_shuffle_batch_join as maybe_shuffle_batch_join,
    shuffle_batch as shuffle_batch,
    shuffle_batch_join as shuffle_batch_join,
)
from thalweg._src.input.coordinator import Coordinator as Coordinator, LooperThread as LooperThread
from thalweg._src.input.producers import (
    input_producer as input_producer,
    limit_epochs as limit_epochs,
    match_filenames_once as match_filenames_once,
    range_input_producer as range_input_producer,
    slice_input_producer as slice_input_producer,
    string_input_producer as string_input_producer,
)
from thalweg._src.input.queue_runner import (
    QueueRunner as QueueRunner,
    QueueRunnerDef as QueueRunnerDef,
    add_queue_runner as add_queue_runner,
    start_queue_runners as start_queue_runners,
)
from thalweg._src.observe.file_writer import summary_iterator as summary_iterator
from thalweg._src.optimizers.decay import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    piecewise_constant_decay,
    polynomial_decay,
)
from thalweg._src.optimizers.moving_averages import ExponentialMovingAverage
from thalweg._src.optimizers.optimizer import Optimizer
from thalweg._src.optimizers.optimizers import (
    AdadeltaOptimizer,
    AdagradOptimizer,
    AdamOptimizer,
    FtrlOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    RMSPropOptimizer,
)
from thalweg._src.optimizers.proximal import (
    AdagradDAOptimizer as AdagradDAOptimizer,
    ProximalAdagradOptimizer as ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
)
from thalweg._src.training.checkpoint_hook import (
    CheckpointSaverHook as CheckpointSaverHook,
    CheckpointSaverListener as CheckpointSaverListener,
)
from thalweg._src.training.device_setter import replica_device_setter as replica_device_setter
from thalweg._src.training.loops import basic_train_loop as basic_train_loop
from thalweg._src.training.monitored_session import (
    MonitoredSession as MonitoredSession,
    SingularMonitoredSession as SingularMonitoredSession,
)
from thalweg._src.training.report_hooks import (
    LoggingTensorHook as LoggingTensorHook,
    ProfilerHook as ProfilerHook,
    SummarySaverHook as SummarySaverHook,
)
from thalweg._src.training.scaffold import Scaffold as Scaffold
from thalweg._src.training.session_creators import (
    ChiefSessionCreator as ChiefSessionCreator,
    SessionCreator as SessionCreator,
    WorkerSessionCreator as WorkerSessionCreator,
)
from thalweg._src.training.session_manager import SessionManager as SessionManager
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
from thalweg._src.training.supervisor import Supervisor as Supervisor
from thalweg._src.training.timers import SecondOrStepTimer as SecondOrStepTimer
from thalweg._src.training.training_session import MonitoredTrainingSession as MonitoredTrainingSession
from thalweg._src.training.value_hooks import (
    FeedFnHook as FeedFnHook,
    FinalOpsHook as FinalOpsHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook,
)
from thalweg._src.variables.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "ChiefSessionCreator",
    "Coordinator",
    "ExponentialMovingAverage",
    "FeedFnHook",
    "FinalOpsHook",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "QueueRunnerDef",
    "RMSPropOptimizer",
    "Saver",
    "Scaffold",
    "SecondOrStepTimer",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "Supervisor",
    "VocabInfo",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "basic_train_loop",
    "batch",
    "batch_join",
    "checkpoint_exists",
    "checkpoints_iterator",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "experimental",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "queue_runner",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "summary_iterator",
    "update_checkpoint_state",
    "warm_start",
    "write_graph",
]

_MESSAGES = {
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
}


def __getattr__(name: str) -> _Any:
    """Returns the messages of training data, which need protobuf."""
    if name in _MESSAGES:
        from thalweg._src.formats.example import message_class

        return message_class(name)
    if name == "SaverDef":
        from tensorboard.compat.proto.saver_pb2 import SaverDef

        return SaverDef
    raise AttributeError(f"module 'thalweg.train' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MESSAGES, "SaverDef"})
