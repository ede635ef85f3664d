"""TensorFlow's internal module paths, for programs that import from them: aliases of the public names.

`from tensorflow.python.ops import array_ops` was never public, but common. A path listed here is a module that looks
names up in the namespaces in which its functions are exported; names that are not public, but that published programs
use, are in `thalweg._src.compat.internals`. Other paths and names do not exist.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

PYTHON: dict[str, tuple[str, ...]] = {  # namespaces under `tf`, or modules for names that are not public
    "client.device_lib": ("thalweg._src.runtime.session.device_lib",),
    "client.session": ("", "thalweg._src.runtime.session.fetches", "thalweg._src.runtime.session.session"),
    "client.timeline": ("thalweg._src.training.observe.timeline",),
    "data.experimental.ops.batching": ("data.experimental",),
    "data.experimental.ops.grouping": ("data.experimental",),
    "data.experimental.ops.interleave_ops": ("data.experimental",),
    "data.experimental.ops.optimization": ("data.experimental",),
    "data.experimental.ops.readers": ("data.experimental",),
    "data.experimental.ops.resampling": ("data.experimental",),
    "data.experimental.ops.shuffle_ops": ("data.experimental",),
    "data.ops.dataset_ops": ("data", "thalweg._src.training.data.dataset"),
    "data.ops.iterator_ops": ("data", "data.experimental"),
    "data.ops.optional_ops": ("data.experimental", ""),
    "data.ops.readers": ("data",),
    "data.util.nest": ("thalweg._src.compat.internals.data_nest",),
    "distribute.all_reduce": ("contrib.all_reduce",),
    "distribute.central_storage_strategy": ("distribute.experimental",),
    "distribute.cluster_resolver": ("distribute.cluster_resolver", "contrib.cluster_resolver"),
    "distribute.cluster_resolver.cluster_resolver": ("distribute.cluster_resolver", "contrib.cluster_resolver"),
    "distribute.cluster_resolver.gce_cluster_resolver": ("distribute.cluster_resolver",),
    "distribute.cluster_resolver.kubernetes_cluster_resolver": ("distribute.cluster_resolver",),
    "distribute.cluster_resolver.slurm_cluster_resolver": ("distribute.cluster_resolver",),
    "distribute.cluster_resolver.tfconfig_cluster_resolver": ("distribute.cluster_resolver",),
    "distribute.collective_all_reduce_strategy": ("contrib.distribute", "distribute.experimental"),
    "distribute.cross_device_ops": ("distribute", "contrib.distribute", "distribute.experimental"),
    "distribute.distribute_lib": ("distribute", "contrib.distribute"),
    "distribute.distribution_strategy_context": ("distribute", "contrib.distribute"),
    "distribute.mirrored_strategy": ("distribute",),
    "distribute.one_device_strategy": ("distribute",),
    "distribute.parameter_server_strategy": ("distribute.experimental",),
    "distribute.reduce_util": ("distribute",),
    "distribute.summary_op_util": ("thalweg._src.compat.internals.summary_op_util",),
    "distribute.values": ("thalweg._src.training.distribute.values", "thalweg._src.training.distribute.variables"),
    "eager.backprop": ("", "thalweg._src.runtime.eager.gradient_functions"),
    "eager.context": ("thalweg._src.compat.internals.context", ""),
    "eager.tape": ("thalweg._src.runtime.eager.tape",),
    "framework.common_shapes": ("thalweg._src.compat.internals.common_shapes",),
    "framework.config": ("config", "config.experimental", "config.optimizer", "config.threading"),
    "framework.constant_op": ("",),
    "framework.device": ("", "thalweg._src.base.devices"),
    "framework.dtypes": ("dtypes", ""),
    "framework.errors": ("errors",),
    "framework.errors_impl": ("errors",),
    "framework.function": ("thalweg._src.compat.internals.function",),
    "framework.graph_util": ("graph_util",),
    "framework.graph_util_impl": ("graph_util",),
    "framework.importer": ("",),
    "framework.indexed_slices": ("", "thalweg._src.compat.internals.framework_ops"),
    "framework.load_library": ("",),
    "framework.meta_graph": ("train", "thalweg._src.training.checkpoint.meta_graph"),
    "framework.op_def_library": ("thalweg._src.compat.internals.op_def_library",),
    "framework.op_def_registry": ("thalweg._src.compat.internals.op_def_library",),
    "framework.ops": (
        "",
        "thalweg._src.graph.scopes",
        "thalweg._src.graph.convert",
        "thalweg._src.compat.internals.framework_ops",
    ),
    "framework.random_seed": ("", "thalweg._src.graph.seeds"),
    "framework.smart_cond": ("contrib.framework",),
    "framework.sparse_tensor": ("", "thalweg._src.graph.sparse_tensor"),
    "framework.tensor_shape": ("", "thalweg._src.base.shapes", "thalweg._src.compat.internals.tensor_shape"),
    "framework.tensor_spec": ("",),
    "framework.tensor_util": ("contrib.util", "", "contrib.framework", "thalweg._src.compat.internals.array_ops"),
    "framework.test_util": ("thalweg._src.tools.testing.test_util",),
    "framework.type_spec": ("",),
    "framework.versions": ("version", ""),
    "layers.base": ("layers",),
    "layers.convolutional": ("layers", "thalweg._src.training.nn.layers.convolution"),
    "layers.core": ("layers",),
    "layers.layers": ("layers",),
    "layers.normalization": ("layers",),
    "layers.pooling": ("layers",),
    "layers.utils": ("thalweg._src.compat.internals.layers_utils",),
    "lib.io.file_io": ("thalweg._src.compat.internals.file_io", "gfile", "io.gfile"),
    "lib.io.python_io": ("python_io",),
    "lib.io.tf_record": ("io", ""),
    "module.module": ("",),
    "ops.array_ops": (
        "",
        "thalweg._src.graph.ops.reshape",
        "thalweg._src.compat.internals.array_ops",
        "thalweg._src.compat.internals.gen_ops",
    ),
    "ops.bitwise_ops": ("bitwise",),
    "ops.candidate_sampling_ops": ("nn", "random"),
    "ops.check_ops": ("", "debugging"),
    "ops.clip_ops": ("",),
    "ops.collective_ops": ("thalweg._src.graph.ops.collective",),
    "ops.confusion_matrix": ("math", ""),
    "ops.control_flow_ops": (
        "",
        "thalweg._src.graph.ops.control_flow",
        "thalweg._src.graph.ops.control",
        "thalweg._src.compat.internals.gen_ops",
    ),
    "ops.control_flow_util": ("thalweg._src.compat.internals.control_flow_util",),
    "ops.ctc_ops": ("nn",),
    "ops.custom_gradient": ("",),
    "ops.data_flow_ops": ("", "contrib.staging", "thalweg._src.training.input.barrier"),
    "ops.distributions.bernoulli": ("distributions",),
    "ops.distributions.beta": ("distributions",),
    "ops.distributions.categorical": ("distributions",),
    "ops.distributions.dirichlet": ("distributions",),
    "ops.distributions.dirichlet_multinomial": ("distributions",),
    "ops.distributions.distribution": ("distributions",),
    "ops.distributions.distributions": ("distributions",),
    "ops.distributions.exponential": ("distributions",),
    "ops.distributions.gamma": ("distributions",),
    "ops.distributions.kullback_leibler": ("distributions",),
    "ops.distributions.laplace": ("distributions",),
    "ops.distributions.multinomial": ("distributions",),
    "ops.distributions.normal": ("distributions",),
    "ops.distributions.student_t": ("distributions",),
    "ops.distributions.uniform": ("distributions",),
    "ops.embedding_ops": ("nn",),
    "ops.functional_ops": ("",),
    "ops.gradient_checker": ("test",),
    "ops.gradients": ("",),
    "ops.gradients_impl": ("", "thalweg._src.compat.internals.array_ops"),
    "ops.histogram_ops": ("",),
    "ops.image_ops": ("image", "thalweg._src.compat.internals.array_ops"),
    "ops.image_ops_impl": ("image", "thalweg._src.compat.internals.array_ops"),
    "ops.init_ops": ("", "initializers", "thalweg._src.training.variables.initializers"),
    "ops.inplace_ops": ("thalweg._src.compat.internals.inplace_ops",),
    "ops.io_ops": ("", "io", "thalweg._src.compat.internals.gen_ops"),
    "ops.linalg.linalg": ("linalg",),
    "ops.linalg.linalg_impl": ("linalg",),
    "ops.linalg.linear_operator": ("linalg",),
    "ops.linalg_ops": ("", "linalg"),
    "ops.logging_ops": ("", "summary"),
    "ops.lookup_ops": ("lookup", "contrib.lookup", ""),
    "ops.losses.losses": ("losses",),
    "ops.losses.losses_impl": ("losses", "thalweg._src.compat.internals.losses_impl"),
    "ops.losses.util": ("losses",),
    "ops.manip_ops": ("manip",),
    "ops.map_fn": ("",),
    "ops.math_ops": ("", "math", "thalweg._src.compat.internals.array_ops"),
    "ops.metrics": ("metrics",),
    "ops.metrics_impl": ("metrics", "thalweg._src.training.nn.metrics.state"),
    "ops.nccl_ops": ("contrib.nccl",),
    "ops.nn": ("nn", ""),
    "ops.nn_impl": ("nn",),
    "ops.nn_ops": ("nn", "", "thalweg._src.compat.internals.array_ops", "thalweg._src.compat.internals.gen_ops"),
    "ops.numerics": ("", "debugging"),
    "ops.parsing_ops": ("io", ""),
    "ops.partitioned_variables": ("",),
    "ops.random_ops": ("", "random"),
    "ops.resource_variable_ops": (
        "",
        "thalweg._src.training.variables.resource_variable",
        "thalweg._src.compat.internals.gen_ops",
    ),
    "ops.resources": ("thalweg._src.compat.internals.resources",),
    "ops.rnn": ("nn", "thalweg._src.compat.internals.rnn_cell_impl"),
    "ops.rnn_cell": ("nn.rnn_cell", "contrib.rnn", "thalweg._src.compat.internals.rnn_cell_impl"),
    "ops.rnn_cell_impl": (
        "nn.rnn_cell",
        "contrib.rnn",
        "thalweg._src.training.nn.rnn.cells",
        "thalweg._src.compat.internals.rnn_cell_impl",
    ),
    "ops.script_ops": ("",),
    "ops.sets": ("sets",),
    "ops.sets_impl": ("sets",),
    "ops.signal.signal": ("signal",),
    "ops.sort_ops": ("",),
    "ops.sparse_ops": ("", "sparse"),
    "ops.special_math_ops": ("", "math"),
    "ops.spectral_ops": ("signal", "spectral", ""),
    "ops.standard_ops": ("",),
    "ops.state_ops": ("",),
    "ops.stateless_random_ops": ("random", "contrib.stateless"),
    "ops.string_ops": ("strings", ""),
    "ops.summary_op_util": ("thalweg._src.compat.internals.summary_op_util",),
    "ops.summary_ops_v2": ("contrib.summary",),
    "ops.template": ("", "thalweg._src.training.variables.templates"),
    "ops.tensor_array_ops": ("",),
    "ops.variable_scope": ("", "thalweg._src.training.variables.variable_scope"),
    "ops.variables": ("", "thalweg._src.training.variables.ref_variable", "thalweg._src.training.variables.partitions"),
    "ops.weights_broadcast_ops": ("thalweg._src.training.nn.weights",),
    "platform.app": ("app",),
    "platform.benchmark": ("test",),
    "platform.flags": ("flags",),
    "platform.gfile": ("gfile",),
    "platform.googletest": ("test", "absl.testing.absltest"),
    "platform.resource_loader": ("resource_loader",),
    "platform.sysconfig": ("sysconfig",),
    "platform.test": ("test",),
    "platform.tf_logging": ("logging",),
    "profiler.model_analyzer": ("profiler",),
    "profiler.option_builder": ("profiler",),
    "profiler.profiler": ("profiler",),
    "pywrap_tensorflow": ("train", "thalweg._src.compat.internals.pywrap_tensorflow"),
    "saved_model.builder": ("saved_model.builder",),
    "saved_model.builder_impl": ("saved_model.builder",),
    "saved_model.constants": ("saved_model.constants",),
    "saved_model.loader": ("saved_model.loader",),
    "saved_model.loader_impl": ("saved_model.loader", "saved_model", "thalweg._src.deploy.saved_model.files"),
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
    "summary.summary_iterator": ("train",),
    "summary.writer.event_file_writer": ("thalweg._src.base.formats.events",),
    "summary.writer.writer": ("summary", "thalweg._src.base.formats.events"),
    "summary.writer.writer_cache": ("summary",),
    "tf2": ("thalweg._src.compat.internals.tf2",),
    "tools.freeze_graph": ("thalweg._src.compat.internals.freeze_graph",),
    "tools.inspect_checkpoint": ("thalweg._src.compat.internals.inspect_checkpoint",),
    "tools.optimize_for_inference_lib": ("thalweg._src.compat.internals.optimize_for_inference",),
    "tools.strip_unused_lib": ("thalweg._src.compat.internals.optimize_for_inference",),
    "training.adadelta": ("train",),
    "training.adagrad": ("train",),
    "training.adagrad_da": ("train",),
    "training.adam": ("train",),
    "training.basic_loops": ("train",),
    "training.basic_session_run_hooks": ("train",),
    "training.checkpoint_management": ("train",),
    "training.checkpoint_state_pb2": ("train",),
    "training.checkpoint_utils": ("train",),
    "training.checkpointable.util": ("train",),
    "training.coordinator": ("train",),
    "training.device_setter": ("train",),
    "training.evaluation": ("contrib.training", "thalweg._src.compat.contrib.training.evaluation"),
    "training.experimental.loss_scale": ("train.experimental",),
    "training.ftrl": ("train",),
    "training.gradient_descent": ("train",),
    "training.input": ("train",),
    "training.learning_rate_decay": ("train",),
    "training.momentum": ("train",),
    "training.monitored_session": ("train", "thalweg._src.training.monitored_session"),
    "training.moving_averages": ("train", "thalweg._src.training.optimizers.moving_averages"),
    "training.optimizer": ("train",),
    "training.proximal_adagrad": ("train",),
    "training.proximal_gradient_descent": ("train",),
    "training.py_checkpoint_reader": ("train",),
    "training.queue_runner": ("train",),
    "training.rmsprop": ("train",),
    "training.saver": (
        "train",
        "thalweg._src.training.checkpoint.saver_builder",
        "thalweg._src.compat.internals.saver",
    ),
    "training.saving.saveable_object": ("thalweg._src.training.checkpoint.saver_builder",),
    "training.server_lib": ("train",),
    "training.session_manager": ("train", "thalweg._src.training.session_manager"),
    "training.session_run_hook": ("train",),
    "training.slot_creator": ("thalweg._src.training.variables.slots",),
    "training.summary_io": ("summary", "train"),
    "training.supervisor": ("train",),
    "training.tracking.base": ("thalweg._src.training.checkpoint.trackable",),
    "training.tracking.python_state": ("train.experimental",),
    "training.tracking.tracking": ("thalweg._src.training.checkpoint.trackable",),
    "training.tracking.util": ("train",),
    "training.training": ("train",),
    "training.training_ops": ("raw_ops", "thalweg._src.compat.internals.gen_ops"),
    "training.training_util": ("train",),
    "training.warm_starting_util": ("train",),
    "util.all_util": ("thalweg._src.compat.internals.all_util",),
    "util.compat": ("compat",),
    "util.deprecation": ("thalweg._src.compat.contrib.framework.deprecation",),
    "util.function_utils": ("thalweg._src.compat.internals.function_utils",),
    "util.lazy_loader": ("thalweg._src.compat.internals.lazy_loader",),
    "util.nest": ("contrib.framework.nest", "nest", "thalweg._src.compat.internals.nest"),
    "util.tf_contextlib": ("contextlib",),
    "util.tf_decorator": ("thalweg._src.compat.internals.tf_decorator",),
    "util.tf_export": ("thalweg._src.compat.internals.tf_export",),
    "util.tf_inspect": ("thalweg._src.compat.internals.tf_inspect", "inspect"),
}
_GENERATED = """array audio batch bitwise candidate_sampling checkpoint control_flow ctc data_flow dataset
    experimental_dataset functional image io linalg list logging lookup manip math nn parsing random resource_variable
    script sdca set sparse spectral state stateless_random string summary user"""
PYTHON |= {f"ops.gen_{name}_ops": ("thalweg._src.compat.internals.gen_ops",) for name in _GENERATED.split()}
_EVALUATION = "thalweg._src.compat.contrib.training.evaluation"
_PRIVATE = {  # names that are not public, with those that they have here
    "data.ops.dataset_ops.DatasetV1": "thalweg._src.training.data.dataset.Dataset",
    "data.ops.dataset_ops.DatasetV2": "thalweg._src.training.data.dataset.Dataset",
    "framework.tensor_util.MakeNdarray": "thalweg._src.graph.ops.tensor_proto.make_ndarray",
    "layers.base._Layer": "thalweg._src.training.nn.layers.base.Layer",
    "layers.normalization.BatchNorm": "thalweg._src.training.nn.layers.normalization.BatchNormalization",
    "ops.confusion_matrix.remove_squeezable_dimensions": "thalweg._src.training.nn.weights.squeeze_to_common_rank",
    "ops.control_flow_ops.CondContext": "thalweg._src.graph.control_flow.context.Branch",
    "ops.control_flow_ops.ControlFlowContext": "thalweg._src.graph.control_flow.context.Context",
    "ops.control_flow_ops.WhileContext": "thalweg._src.graph.control_flow.context.Loop",
    "ops.init_ops._compute_fans": "thalweg._src.training.variables.initializers._fans",
    "ops.metrics_impl._remove_squeezable_dimensions": "thalweg._src.training.nn.weights.squeeze_to_common_rank",
    "ops.nn_impl._compute_sampled_logits": "thalweg._src.training.nn.sampled_losses._sampled_logits",
    "ops.nn_ops._get_noise_shape": "thalweg._src.training.nn.dropout._noise_shape",
    "ops.rnn_cell_impl._LayerRNNCell": "thalweg._src.training.nn.rnn.cells.LayerRNNCell",
    "ops.script_ops.eager_py_func": "thalweg._src.runtime.eager.py_function.py_function",
    "ops.tensor_array_ops._GraphTensorArray": "thalweg._src.graph.control_flow.tensor_array.TensorArray",
    "ops.variable_scope._VariableStore": "thalweg._src.training.variables.variable_store.VariableStore",
    "ops.variable_scope._get_default_variable_store": "thalweg._src.training.variables.variable_scope.variable_store",
    "ops.variables.VariableV1": "thalweg._src.training.variables.variables.Variable",
    "training.evaluation._StopAfterNEvalsHook": f"{_EVALUATION}.StopAfterNEvalsHook",
    "training.evaluation._get_or_create_eval_step": f"{_EVALUATION}.get_or_create_eval_step",
    "training.monitored_session._CoordinatedSession": "thalweg._src.training.session_layers.CoordinatedSession",
    "training.monitored_session._HookedSession": "thalweg._src.training.session_layers.HookedSession",
    "training.monitored_session._RecoverableSession": "thalweg._src.training.session_layers.RecoverableSession",
    "training.monitored_session._WrappedSession": "thalweg._src.training.session_layers.Layer",
    "training.optimizer._deduplicate_indexed_slices": "thalweg._src.training.optimizers.optimizer._sum_equal_indices",
    "training.saver._get_saver_or_default": "thalweg._src.training.scaffold.saver_or_default",
}
_MESSAGES = {
    "example": "example feature",
    "framework": """attr_value cost_graph function graph node_def op_def resource_handle step_stats summary tensor
        tensor_shape types variable versions""",
    "protobuf": "cluster config meta_graph rewriter_config saver",
    "util": "event",
}
CORE: dict[str, tuple[str, ...]] = {
    f"{folder}.{name}_pb2": ("", "train", "thalweg._src.base.config", f"tensorboard.compat.proto.{name}_pb2")
    for folder, names in _MESSAGES.items()
    for name in names.split()
}
CORE["protobuf.tensorflow_server_pb2"] = ("train",)
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
    "quantize": "quantize_graph",
    "resampler": "ops.resampler_ops",
    "rnn": """ops.core_rnn_cell ops.core_rnn_cell_impl ops.fused_rnn_cell ops.gru_ops ops.lstm_ops ops.rnn
        ops.rnn_cell""",
    "seq2seq": """ops.attention_wrapper ops.basic_decoder ops.beam_search_decoder ops.beam_search_ops ops.decoder
        ops.helper ops.loss""",
    "signal": "ops.mel_ops ops.mfcc_ops ops.reconstruction_ops ops.shape_ops ops.spectral_ops ops.window_ops",
    "training": """training.bucket_ops training.evaluation training.hparam training.sampling_ops
        training.sequence_queueing_state_saver training.training""",
}
CONTRIB: dict[str, tuple[str, ...]] = {
    f"{part}.python.{path}": (f"contrib.{part}",) for part, paths in _CONTRIB.items() for path in paths.split()
}
_DEBUG = (
    "thalweg._src.tools.debug.dump",
    "thalweg._src.tools.debug.watch",
    "thalweg._src.tools.debug.wrappers",
    "thalweg._src.tools.debug.hooks",
)
PYTHON |= dict.fromkeys(
    (
        *("debug", "debug.lib.debug_data", "debug.wrappers.dumping_wrapper", "debug.wrappers.framework"),
        *("debug.wrappers.hooks", "debug.wrappers.local_cli_wrapper"),
    ),
    _DEBUG,
)
CONTRIB |= dict.fromkeys(
    ("cudnn_rnn.python.layers.cudnn_rnn", "cudnn_rnn.python.ops.cudnn_rnn_ops"),
    ("contrib.cudnn_rnn", "thalweg._src.compat.contrib.cudnn_rnn"),
)
CONTRIB |= {
    **{f"eager.python.{name}": ("contrib.eager",) for name in ("datasets", "network", "saver", "tfe")},
    "eager.python.metrics": ("contrib.eager.metrics",),
    "eager.python.metrics_impl": ("contrib.eager.metrics",),
    "framework.python.ops.audio_ops": ("audio", "thalweg._src.compat.contrib.framework.audio"),
    "layers.python.layers.utils": ("contrib.layers.utils", "contrib.layers"),
    "learn.python.learn.datasets.base": ("contrib.learn.datasets.base",),
    "learn.python.learn.datasets.mnist": ("contrib.learn.datasets.mnist",),
    "learn.python.learn.learn_runner": ("contrib.learn.learn_runner",),
    "learn.python.learn.preprocessing.text": ("contrib.learn.preprocessing",),
    "losses.python.metric_learning.metric_loss_ops": ("contrib.losses.metric_learning",),
    "slim.python.slim.nets": ("contrib.slim.nets",),
    **{f"graph_editor.{name}": ("contrib.graph_editor",) for name in ("edit", "reroute", "select", "subgraph", "util")},
}
_SLIM = {  # files below `slim.python.slim`, each a namespace of its own below slim, or below its networks
    "": "evaluation learning losses metrics model_analyzer queues summaries",
    "data.": "data_provider dataset dataset_data_provider parallel_reader prefetch_queue tfexample_decoder",
    "nets.": "alexnet inception inception_v1 inception_v2 inception_v3 overfeat resnet_utils resnet_v1 resnet_v2 vgg",
}
CONTRIB |= {
    f"slim.python.slim.{folder}{file}": (f"contrib.slim.{'nets.' if folder == 'nets.' else ''}{file}", "contrib.slim")
    for folder, files in _SLIM.items()
    for file in files.split()
}
_TABLES: dict[str, dict[str, tuple[str, ...]]] = {
    "thalweg.python": PYTHON,
    "thalweg.core": CORE,
    "thalweg.contrib": CONTRIB,
}
_OTHERS = ("absl", "contextlib", "inspect", "tensorboard")  # packages other than this one
# Paths of contrib whose names are in a narrower namespace, or are not public.
_CELLS = ("contrib.rnn", "thalweg._src.compat.internals.rnn_cell_impl")
_DATA = "data_provider dataset dataset_data_provider parallel_reader prefetch_queue tfexample_decoder"
CONTRIB |= {
    "layers.python.layers.utils": ("contrib.layers.utils", "contrib.layers"),
    "rnn.python.ops.core_rnn_cell": _CELLS,
    "rnn.python.ops.core_rnn_cell_impl": _CELLS,
    "rnn.python.ops.rnn_cell": _CELLS,
    "seq2seq.python.ops.decoder": ("contrib.seq2seq", "thalweg._src.compat.internals.rnn_cell_impl"),
    "slim.python.slim.data.data_decoder": ("thalweg._src.compat.contrib.slim.data.decoders",),
    **{f"slim.python.slim.data.{name}": (f"contrib.slim.{name}",) for name in _DATA.split()},
}
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
        if name == "__all__" and self._sources:
            return self._public_names()
        if name.startswith("__"):
            raise AttributeError(name)
        for opened in self._opened_sources():
            if hasattr(opened, name):
                return getattr(opened, name)
        inside = sys.modules.get(f"{self.__name__}.{name}")
        if inside is not None:
            return inside
        private = _PRIVATE.get(f"{self.__name__.removeprefix('thalweg.python.')}.{name}")
        if private is not None:
            module, _, attribute = private.rpartition(".")
            return getattr(import_module(module), attribute)
        if self._sources and name in _NEIGHBOURS:  # modules of the source re-export the modules that they import
            return import_module(f"thalweg.python.{_NEIGHBOURS[name]}")
        raise AttributeError(f"module {self.__name__!r} has no public name {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute, also where it is read if only one module of ours stands behind the path.

        A file below the path is found by its name instead, after the public names: `contrib.framework.python.ops` has
        the function `arg_scope` of the file `arg_scope`.
        """
        if isinstance(value, SourcePath) and self._sources:
            return
        super().__setattr__(name, value)
        if not name.startswith("__") and len(getattr(self, "_sources", ())) == 1 and name != "_sources":
            module = sys.modules.get(self._sources[0])
            if module is not None and name in vars(module):
                setattr(module, name, value)

    def _opened_sources(self) -> Iterator[ModuleType]:
        """Yields the modules whose names this one has; TensorBoard has the messages of most files, not all."""
        for source in self._sources:
            try:
                yield _opened(source)
            except ModuleNotFoundError as error:
                if error.name != source:  # a package that the module needs
                    raise

    def _public_names(self) -> list[str]:
        """Returns what `import *` imports: the names of all sources, and the modules that TensorFlow's import."""
        names = {name for module in self._opened_sources() for name in dir(module) if not name.startswith("_")}
        imported = {name for name, path in _NEIGHBOURS.items() if path.split(".")[0] in ("framework", "ops", "util")}
        return sorted(names | {name for name in imported if "_" in name or name in ("dtypes", "nest", "ops")})

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(self._public_names() if self._sources else ())]


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


def attach(part: str) -> None:
    """Makes the paths below a part of contrib, which were registered before it was imported, attributes of it."""
    _show(sys.modules[f"{part}.python"])


def _show(module: ModuleType) -> None:
    parent, _, last = module.__name__.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], last, module)
