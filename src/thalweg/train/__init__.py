"""tf.train: Training: optimizers, learning rate schedules, checkpoints, monitored sessions, hooks and input queues."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.config import (
    ClusterDef as ClusterDef,
    JobDef as JobDef,
    ServerDef as ServerDef,
)
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec as ClusterSpec
from thalweg._src.cluster.distributed.server import Server as Server
from thalweg._src.graph.graphdef import write_graph as write_graph
from thalweg._src.training.checkpoint.manager import CheckpointManager as CheckpointManager
from thalweg._src.training.checkpoint.meta_graph import export_meta_graph as export_meta_graph
from thalweg._src.training.checkpoint.object_checkpoint import Checkpoint as Checkpoint
from thalweg._src.training.checkpoint.reader import (
    NewCheckpointReader as NewCheckpointReader,
    init_from_checkpoint as init_from_checkpoint,
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
)
from thalweg._src.training.checkpoint.saver import (
    Saver as Saver,
    import_meta_graph as import_meta_graph,
)
from thalweg._src.training.checkpoint.state import (
    checkpoint_exists as checkpoint_exists,
    checkpoints_iterator as checkpoints_iterator,
    generate_checkpoint_state_proto as generate_checkpoint_state_proto,
    get_checkpoint_mtimes as get_checkpoint_mtimes,
    get_checkpoint_state as get_checkpoint_state,
    latest_checkpoint as latest_checkpoint,
    remove_checkpoint as remove_checkpoint,
    update_checkpoint_state as update_checkpoint_state,
)
from thalweg._src.training.checkpoint.warm_start import (
    VocabInfo as VocabInfo,
    warm_start as warm_start,
)
from thalweg._src.training.checkpoint_hook import (
    CheckpointSaverHook as CheckpointSaverHook,
    CheckpointSaverListener as CheckpointSaverListener,
)
from thalweg._src.training.device_setter import replica_device_setter as replica_device_setter
from thalweg._src.training.input.batches import (
    batch as batch,
    batch_join as batch_join,
    maybe_batch as maybe_batch,
    maybe_batch_join as maybe_batch_join,
    maybe_shuffle_batch as maybe_shuffle_batch,
    maybe_shuffle_batch_join as maybe_shuffle_batch_join,
    shuffle_batch as shuffle_batch,
    shuffle_batch_join as shuffle_batch_join,
)
from thalweg._src.training.input.coordinator import (
    Coordinator as Coordinator,
    LooperThread as LooperThread,
)
from thalweg._src.training.input.producers import (
    input_producer as input_producer,
    limit_epochs as limit_epochs,
    match_filenames_once as match_filenames_once,
    range_input_producer as range_input_producer,
    slice_input_producer as slice_input_producer,
    string_input_producer as string_input_producer,
)
from thalweg._src.training.input.queue_runner import (
    QueueRunner as QueueRunner,
    QueueRunnerDef as QueueRunnerDef,
    add_queue_runner as add_queue_runner,
    start_queue_runners as start_queue_runners,
)
from thalweg._src.training.loops import basic_train_loop as basic_train_loop
from thalweg._src.training.monitored_session import (
    MonitoredSession as MonitoredSession,
    SingularMonitoredSession as SingularMonitoredSession,
)
from thalweg._src.training.observe.file_writer import summary_iterator as summary_iterator
from thalweg._src.training.optimizers.decay import (
    cosine_decay as cosine_decay,
    cosine_decay_restarts as cosine_decay_restarts,
    exponential_decay as exponential_decay,
    inverse_time_decay as inverse_time_decay,
    linear_cosine_decay as linear_cosine_decay,
    natural_exp_decay as natural_exp_decay,
    noisy_linear_cosine_decay as noisy_linear_cosine_decay,
    piecewise_constant as piecewise_constant,
    piecewise_constant as piecewise_constant_decay,
    polynomial_decay as polynomial_decay,
)
from thalweg._src.training.optimizers.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from thalweg._src.training.optimizers.optimizer import Optimizer as Optimizer
from thalweg._src.training.optimizers.optimizers import (
    AdadeltaOptimizer as AdadeltaOptimizer,
    AdagradOptimizer as AdagradOptimizer,
    AdamOptimizer as AdamOptimizer,
    FtrlOptimizer as FtrlOptimizer,
    GradientDescentOptimizer as GradientDescentOptimizer,
    MomentumOptimizer as MomentumOptimizer,
    RMSPropOptimizer as RMSPropOptimizer,
)
from thalweg._src.training.optimizers.proximal import (
    AdagradDAOptimizer as AdagradDAOptimizer,
    ProximalAdagradOptimizer as ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
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
from thalweg._src.training.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizer
from thalweg._src.training.timers import SecondOrStepTimer as SecondOrStepTimer
from thalweg._src.training.training_session import MonitoredTrainingSession as MonitoredTrainingSession
from thalweg._src.training.value_hooks import (
    FeedFnHook as FeedFnHook,
    FinalOpsHook as FinalOpsHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook,
)
from thalweg._src.training.variables.global_step import (
    assert_global_step as assert_global_step,
    create_global_step as create_global_step,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
    global_step as global_step,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.train import experimental as experimental
    from thalweg.train import queue_runner as queue_runner
    from thalweg._src.base.formats.example import BytesList as BytesList
    from thalweg._src.base.formats.example import Example as Example
    from thalweg._src.base.formats.example import Feature as Feature
    from thalweg._src.base.formats.example import FeatureList as FeatureList
    from thalweg._src.base.formats.example import FeatureLists as FeatureLists
    from thalweg._src.base.formats.example import Features as Features
    from thalweg._src.base.formats.example import FloatList as FloatList
    from thalweg._src.base.formats.example import Int64List as Int64List
    from tensorboard.compat.proto.saver_pb2 import SaverDef as SaverDef
    from thalweg._src.base.formats.example import SequenceExample as SequenceExample

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["experimental", "queue_runner"],
    {
        "BytesList": "thalweg._src.base.formats.example", "Example": "thalweg._src.base.formats.example",
        "Feature": "thalweg._src.base.formats.example", "FeatureList": "thalweg._src.base.formats.example",
        "FeatureLists": "thalweg._src.base.formats.example", "Features": "thalweg._src.base.formats.example",
        "FloatList": "thalweg._src.base.formats.example", "Int64List": "thalweg._src.base.formats.example",
        "SaverDef": "tensorboard.compat.proto.saver_pb2", "SequenceExample": "thalweg._src.base.formats.example",
    },
)

__all__ = [
    "AdadeltaOptimizer", "AdagradDAOptimizer", "AdagradOptimizer", "AdamOptimizer", "BytesList", "Checkpoint",
    "CheckpointManager", "CheckpointSaverHook", "CheckpointSaverListener", "ChiefSessionCreator", "ClusterDef",
    "ClusterSpec", "Coordinator", "Example", "ExponentialMovingAverage", "Feature", "FeatureList", "FeatureLists",
    "Features", "FeedFnHook", "FinalOpsHook", "FloatList", "FtrlOptimizer", "GlobalStepWaiterHook",
    "GradientDescentOptimizer", "Int64List", "JobDef", "LoggingTensorHook", "LooperThread", "MomentumOptimizer",
    "MonitoredSession", "MonitoredTrainingSession", "NanLossDuringTrainingError", "NanTensorHook",
    "NewCheckpointReader", "Optimizer", "ProfilerHook", "ProximalAdagradOptimizer", "ProximalGradientDescentOptimizer",
    "QueueRunner", "QueueRunnerDef", "RMSPropOptimizer", "Saver", "SaverDef", "Scaffold", "SecondOrStepTimer",
    "SequenceExample", "Server", "ServerDef", "SessionCreator", "SessionManager", "SessionRunArgs", "SessionRunContext",
    "SessionRunHook", "SessionRunValues", "SingularMonitoredSession", "StepCounterHook", "StopAtStepHook",
    "SummarySaverHook", "Supervisor", "SyncReplicasOptimizer", "VocabInfo", "WorkerSessionCreator", "add_queue_runner",
    "assert_global_step", "basic_train_loop", "batch", "batch_join", "checkpoint_exists", "checkpoints_iterator",
    "cosine_decay", "cosine_decay_restarts", "create_global_step", "experimental", "exponential_decay",
    "export_meta_graph", "generate_checkpoint_state_proto", "get_checkpoint_mtimes", "get_checkpoint_state",
    "get_global_step", "get_or_create_global_step", "global_step", "import_meta_graph", "init_from_checkpoint",
    "input_producer", "inverse_time_decay", "latest_checkpoint", "limit_epochs", "linear_cosine_decay",
    "list_variables", "load_checkpoint", "load_variable", "match_filenames_once", "maybe_batch", "maybe_batch_join",
    "maybe_shuffle_batch", "maybe_shuffle_batch_join", "natural_exp_decay", "noisy_linear_cosine_decay",
    "piecewise_constant", "piecewise_constant_decay", "polynomial_decay", "queue_runner", "range_input_producer",
    "remove_checkpoint", "replica_device_setter", "shuffle_batch", "shuffle_batch_join", "slice_input_producer",
    "start_queue_runners", "string_input_producer", "summary_iterator", "update_checkpoint_state", "warm_start",
    "write_graph",
]
