"""TensorFlow's internal module paths, for programs that import from them: aliases of the public names.

`from tensorflow.python.ops import array_ops` was never public, but common. A path listed here is a module that looks
names up in the namespaces in which its functions are exported; paths and names without a public counterpart do not
exist.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

PYTHON: dict[str, tuple[str, ...]] = {  # namespaces under `tf`, or modules for names that are not public
    "client.device_lib": ("thalweg._src.session.device_lib",),
    "client.session": ("", "thalweg._src.session.fetches"),
    "client.timeline": ("thalweg._src.observe.timeline",),
    "data.experimental.ops.batching": ("data.experimental",),
    "data.experimental.ops.grouping": ("data.experimental",),
    "data.experimental.ops.interleave_ops": ("data.experimental",),
    "data.experimental.ops.optimization": ("data.experimental",),
    "data.experimental.ops.readers": ("data.experimental",),
    "data.experimental.ops.resampling": ("data.experimental",),
    "data.experimental.ops.shuffle_ops": ("data.experimental",),
    "data.ops.dataset_ops": ("data", "thalweg._src.data.dataset"),
    "data.ops.iterator_ops": ("data",),
    "data.ops.optional_ops": ("data.experimental", ""),
    "data.ops.readers": ("data",),
    "eager.context": ("",),
    "framework.constant_op": ("",),
    "framework.dtypes": ("dtypes", ""),
    "framework.errors": ("errors",),
    "framework.errors_impl": ("errors",),
    "framework.graph_util": ("graph_util",),
    "framework.importer": ("",),
    "framework.meta_graph": ("train", "thalweg._src.checkpoint.meta_graph"),
    "framework.ops": ("", "thalweg._src.graph.scopes", "thalweg._src.graph.convert"),
    "framework.random_seed": ("",),
    "framework.smart_cond": ("contrib.framework",),
    "framework.sparse_tensor": ("", "thalweg._src.graph.sparse_tensor"),
    "framework.tensor_shape": ("", "thalweg._src.shapes"),
    "framework.tensor_spec": ("",),
    "framework.tensor_util": ("contrib.util", "", "contrib.framework"),
    "layers.base": ("layers",),
    "layers.convolutional": ("layers",),
    "layers.core": ("layers",),
    "layers.layers": ("layers",),
    "layers.normalization": ("layers",),
    "layers.pooling": ("layers",),
    "lib.io.file_io": ("gfile", "io.gfile"),
    "lib.io.python_io": ("python_io",),
    "lib.io.tf_record": ("io", ""),
    "module.module": ("",),
    "ops.array_ops": ("", "thalweg._src.ops.reshape"),
    "ops.bitwise_ops": ("bitwise",),
    "ops.candidate_sampling_ops": ("nn", "random"),
    "ops.check_ops": ("", "debugging"),
    "ops.clip_ops": ("",),
    "ops.confusion_matrix": ("math", ""),
    "ops.control_flow_ops": ("", "thalweg._src.ops.control_flow"),
    "ops.ctc_ops": ("nn",),
    "ops.custom_gradient": ("",),
    "ops.data_flow_ops": ("",),
    "ops.distributions.distribution": ("distributions",),
    "ops.distributions.distributions": ("distributions",),
    "ops.embedding_ops": ("nn",),
    "ops.functional_ops": ("",),
    "ops.gradients": ("",),
    "ops.gradients_impl": ("",),
    "ops.histogram_ops": ("",),
    "ops.image_ops": ("image",),
    "ops.image_ops_impl": ("image",),
    "ops.init_ops": ("", "initializers", "thalweg._src.variables.initializers"),
    "ops.io_ops": ("", "io"),
    "ops.linalg.linalg": ("linalg",),
    "ops.linalg.linalg_impl": ("linalg",),
    "ops.linalg_ops": ("", "linalg"),
    "ops.logging_ops": ("", "summary"),
    "ops.lookup_ops": ("lookup", "contrib.lookup", ""),
    "ops.losses.losses": ("losses",),
    "ops.losses.losses_impl": ("losses",),
    "ops.losses.util": ("losses",),
    "ops.manip_ops": ("manip",),
    "ops.map_fn": ("",),
    "ops.math_ops": ("", "math"),
    "ops.metrics": ("metrics",),
    "ops.metrics_impl": ("metrics",),
    "ops.nn": ("nn", ""),
    "ops.nn_impl": ("nn",),
    "ops.nn_ops": ("nn", ""),
    "ops.numerics": ("", "debugging"),
    "ops.parsing_ops": ("io", ""),
    "ops.partitioned_variables": ("",),
    "ops.random_ops": ("", "random"),
    "ops.resource_variable_ops": ("", "thalweg._src.variables.variables"),
    "ops.rnn": ("nn",),
    "ops.rnn_cell": ("nn.rnn_cell", "contrib.rnn"),
    "ops.rnn_cell_impl": ("nn.rnn_cell", "contrib.rnn", "thalweg._src.nn.rnn.cells"),
    "ops.script_ops": ("",),
    "ops.sparse_ops": ("", "sparse"),
    "ops.special_math_ops": ("", "math"),
    "ops.standard_ops": ("",),
    "ops.state_ops": ("",),
    "ops.string_ops": ("strings", ""),
    "ops.template": ("",),
    "ops.tensor_array_ops": ("",),
    "ops.variable_scope": ("", "thalweg._src.variables.variable_scope"),
    "ops.variables": ("",),
    "platform.app": ("app",),
    "platform.flags": ("flags",),
    "platform.gfile": ("gfile",),
    "platform.resource_loader": ("resource_loader",),
    "platform.test": ("test",),
    "platform.tf_logging": ("logging",),
    "pywrap_tensorflow": ("train",),
    "saved_model.builder": ("saved_model.builder",),
    "saved_model.builder_impl": ("saved_model.builder",),
    "saved_model.constants": ("saved_model.constants",),
    "saved_model.loader": ("saved_model.loader",),
    "saved_model.loader_impl": ("saved_model.loader", "saved_model", "thalweg._src.saved_model.files"),
    "saved_model.main_op": ("saved_model.main_op",),
    "saved_model.main_op_impl": ("saved_model.main_op",),
    "saved_model.signature_constants": ("saved_model.signature_constants",),
    "saved_model.signature_def_utils": ("saved_model.signature_def_utils",),
    "saved_model.signature_def_utils_impl": ("saved_model.signature_def_utils",),
    "saved_model.simple_save": ("saved_model",),
    "saved_model.tag_constants": ("saved_model.tag_constants",),
    "saved_model.utils": ("saved_model.utils",),
    "saved_model.utils_impl": ("saved_model.utils",),
    "summary.summary": ("summary",),
    "summary.writer.writer": ("summary",),
    "training.adadelta": ("train",),
    "training.adagrad": ("train",),
    "training.adagrad_da": ("train",),
    "training.adam": ("train",),
    "training.basic_loops": ("train",),
    "training.basic_session_run_hooks": ("train",),
    "training.checkpoint_management": ("train",),
    "training.checkpoint_utils": ("train",),
    "training.checkpointable.util": ("train",),
    "training.coordinator": ("train",),
    "training.device_setter": ("train",),
    "training.experimental.loss_scale": ("train.experimental",),
    "training.ftrl": ("train",),
    "training.gradient_descent": ("train",),
    "training.input": ("train",),
    "training.learning_rate_decay": ("train",),
    "training.momentum": ("train",),
    "training.monitored_session": ("train",),
    "training.moving_averages": ("train", "thalweg._src.optimizers.moving_averages"),
    "training.optimizer": ("train",),
    "training.proximal_adagrad": ("train",),
    "training.proximal_gradient_descent": ("train",),
    "training.py_checkpoint_reader": ("train",),
    "training.queue_runner": ("train",),
    "training.rmsprop": ("train",),
    "training.saver": ("train", "thalweg._src.checkpoint.saver_builder"),
    "training.saving.saveable_object": ("thalweg._src.checkpoint.saver_builder",),
    "training.session_manager": ("train",),
    "training.session_run_hook": ("train",),
    "training.slot_creator": ("thalweg._src.variables.slots",),
    "training.summary_io": ("summary", "train"),
    "training.supervisor": ("train",),
    "training.tracking.base": ("thalweg._src.checkpoint.trackable",),
    "training.tracking.python_state": ("train.experimental",),
    "training.tracking.tracking": ("thalweg._src.checkpoint.trackable",),
    "training.tracking.util": ("train",),
    "training.training": ("train",),
    "training.training_ops": ("raw_ops",),
    "training.training_util": ("train",),
    "training.warm_starting_util": ("train",),
    "util.compat": ("compat",),
    "util.nest": ("contrib.framework.nest", "nest"),
    "util.tf_contextlib": ("contextlib",),
    "util.tf_inspect": ("inspect",),
}
_MESSAGES = {
    "example": "example feature",
    "framework": """attr_value cost_graph function graph node_def op_def resource_handle step_stats summary tensor
        tensor_shape types variable versions""",
    "protobuf": "cluster config meta_graph rewriter_config saver",
    "util": "event",
}
CORE: dict[str, tuple[str, ...]] = {
    f"{folder}.{name}_pb2": ("", "train", "thalweg._src.config", f"tensorboard.compat.proto.{name}_pb2")
    for folder, names in _MESSAGES.items()
    for name in names.split()
}
_CONTRIB = {  # files below `python` in each part of contrib; they resolve to the names of that part
    "crf": "ops.crf",
    "data": "ops.batching ops.grouping ops.interleave_ops ops.iterator_ops ops.readers ops.shuffle_ops",
    "distributions": "ops.bijectors ops.distribution_util",
    "framework": """framework.checkpoint_utils framework.tensor_util framework.graph_util ops.arg_scope ops.ops
        ops.variables""",
    "gan": "losses.python.losses_impl losses.python.tuple_losses namedtuples train",
    "image": "ops.image_ops",
    "layers": """layers.encoders layers.feature_column layers.initializers layers.layers layers.normalization
        layers.optimizers layers.regularizers layers.summaries layers.utils ops.sparse_ops""",
    "legacy_seq2seq": "ops.seq2seq",
    "losses": "losses.loss_ops",
    "memory_stats": "ops.memory_stats_ops",
    "metrics": "metrics.classification ops.confusion_matrix_ops ops.metric_ops ops.set_ops",
    "mixed_precision": "loss_scale_manager loss_scale_optimizer",
    "nccl": "ops.nccl_ops",
    "nn": "ops.alpha_dropout ops.cross_entropy ops.sampling_ops ops.scaled_softplus",
    "opt": "training.adamax training.external_optimizer training.moving_average_optimizer training.nadam_optimizer",
    "resampler": "ops.resampler_ops",
    "rnn": """ops.core_rnn_cell ops.core_rnn_cell_impl ops.fused_rnn_cell ops.gru_ops ops.lstm_ops ops.rnn
        ops.rnn_cell""",
    "seq2seq": """ops.attention_wrapper ops.basic_decoder ops.beam_search_decoder ops.beam_search_ops ops.decoder
        ops.helper ops.loss""",
    "signal": "ops.mel_ops ops.mfcc_ops ops.reconstruction_ops ops.shape_ops ops.spectral_ops ops.window_ops",
    "slim": "slim.evaluation slim.learning slim.losses slim.metrics slim.queues",
    "training": """training.bucket_ops training.evaluation training.hparam training.sampling_ops
        training.sequence_queueing_state_saver training.training""",
}
CONTRIB: dict[str, tuple[str, ...]] = {
    f"{part}.python.{path}": (f"contrib.{part}",) for part, paths in _CONTRIB.items() for path in paths.split()
}
_NETS = "alexnet inception inception_v1 inception_v2 inception_v3 overfeat resnet_utils resnet_v1 resnet_v2 vgg"
CONTRIB |= {f"slim.python.slim.nets.{net}": (f"contrib.slim.nets.{net}",) for net in _NETS.split()}
CONTRIB |= {
    "framework.python.ops.audio_ops": ("audio", "thalweg._src.contrib.framework.audio"),
    "learn.python.learn.datasets.base": ("contrib.learn.datasets.base",),
    "learn.python.learn.datasets.mnist": ("contrib.learn.datasets.mnist",),
    "learn.python.learn.preprocessing.text": ("contrib.learn.preprocessing",),
    "losses.python.metric_learning.metric_loss_ops": ("contrib.losses.metric_learning",),
    "slim.python.slim.model_analyzer": ("contrib.slim.model_analyzer",),
    "slim.python.slim.nets": ("contrib.slim.nets",),
    "slim.python.slim.summaries": ("contrib.slim.summaries",),
    **{f"graph_editor.{name}": ("contrib.graph_editor",) for name in ("edit", "reroute", "select", "subgraph", "util")},
}
_TABLES: dict[str, dict[str, tuple[str, ...]]] = {
    "thalweg.python": PYTHON,
    "thalweg.core": CORE,
    "thalweg.contrib": CONTRIB,
}
_OTHERS = ("contextlib", "inspect", "tensorboard")  # packages other than this one
_NEIGHBOURS = {path.rpartition(".")[2]: path for path in PYTHON}


def _opened(namespace: str) -> ModuleType:
    """Returns the module of a namespace under `tf`, or of a full name."""
    named = namespace.split(".")[0] in ("thalweg", *_OTHERS)
    return import_module(namespace if named else f"thalweg.{namespace}".rstrip("."))


class SourcePath(ModuleType):
    """A module for a path of TensorFlow's source."""

    def __init__(self, name: str, sources: tuple[str, ...] = ()) -> None:
        super().__init__(name, "Public names under a path of TensorFlow's source.")
        self.__path__: list[str] = []
        self._sources = sources
        sys.modules[name] = self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for source in self._sources:
            try:
                return getattr(_opened(source), name)
            except AttributeError:
                continue
        if self._sources and name in _NEIGHBOURS:  # modules of the source re-export the modules that they import
            return import_module(f"thalweg.python.{_NEIGHBOURS[name]}")
        raise AttributeError(f"module {self.__name__!r} has no public name {name!r}")


def register(package: str) -> None:
    """Registers the modules of all paths below a package in `sys.modules`, each as an attribute of its parent."""
    for path, sources in _TABLES[package].items():
        *folders, last = path.split(".")
        parent = package
        for folder in folders:
            parent = f"{parent}.{folder}"
            inside_contrib = package == "thalweg.contrib" and ".python" in parent
            if parent not in sys.modules and (inside_contrib or package != "thalweg.contrib"):
                _show(SourcePath(parent, sources if inside_contrib else ()))
        _show(SourcePath(f"{parent}.{last}", sources))


def _show(module: ModuleType) -> None:
    parent, _, last = module.__name__.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], last, module)
