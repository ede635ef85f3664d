"""The files of TensorFlow's source that programs import, each with the modules that have its names here.

A table has one folder per paragraph: its first line is `folder: sources`, the lines below name the files that have
these sources, and lines `files: sources` those with others. A source is a namespace of the package (`tf` for the
package itself), a module of the implementation (`_src.`, or `internals.` for names that are not public) or of another
package; `*` stands for the name of the file. A name is looked up in the sources in their order.
"""

from __future__ import annotations

_PYTHON = """
.: _src.tools.debug.dump _src.tools.debug.watch _src.tools.debug.wrappers _src.tools.debug.hooks
    debug debug.lib.debug_data debug.wrappers.dumping_wrapper debug.wrappers.framework debug.wrappers.hooks
    debug.wrappers.local_cli_wrapper
    pywrap_tensorflow: train internals.*
    tf2: internals.*
client
    device_lib: _src.runtime.session.device_lib
    session: tf _src.runtime.session.fetches _src.runtime.session.session
    timeline: _src.training.observe.timeline
data.experimental.ops: data.experimental
    batching grouping interleave_ops optimization readers resampling shuffle_ops
data.ops: data
    readers
    dataset_ops: data _src.training.data.dataset
    iterator_ops: data data.experimental
    optional_ops: data.experimental tf
data.util
    nest: internals.data_nest
distribute: distribute
    mirrored_strategy one_device_strategy reduce_util
    all_reduce: contrib.all_reduce
    central_storage_strategy parameter_server_strategy: distribute.experimental
    cluster_resolver cluster_resolver.cluster_resolver: distribute.cluster_resolver contrib.cluster_resolver
    collective_all_reduce_strategy: contrib.distribute distribute.experimental
    cross_device_ops: distribute contrib.distribute distribute.experimental
    distribute_lib distribution_strategy_context: distribute contrib.distribute
    summary_op_util: internals.*
    values: _src.training.distribute.values _src.training.distribute.variables
distribute.cluster_resolver: distribute.cluster_resolver
    gce_cluster_resolver kubernetes_cluster_resolver slurm_cluster_resolver tfconfig_cluster_resolver
eager
    backprop: tf _src.runtime.eager.gradient_functions
    context: internals.* tf
    tape: _src.runtime.eager.tape
framework: tf
    constant_op importer load_library tensor_spec type_spec
    common_shapes function op_def_library: internals.*
    config: config config.experimental config.optimizer config.threading
    device: tf _src.base.devices
    dtypes: dtypes tf
    errors errors_impl: errors
    graph_util graph_util_impl: graph_util
    indexed_slices: tf internals.framework_ops
    meta_graph: train _src.training.checkpoint.meta_graph
    op_def_registry: internals.op_def_library
    ops: tf _src.graph.scopes _src.graph.convert internals.framework_ops
    random_seed: tf _src.graph.seeds
    smart_cond: contrib.framework
    sparse_tensor: tf _src.graph.sparse_tensor
    tensor_shape: tf _src.base.shapes internals.*
    tensor_util: contrib.util tf contrib.framework internals.array_ops
    test_util: _src.tools.testing.test_util
    versions: version tf
layers: layers
    base core layers normalization pooling
    convolutional: layers _src.training.nn.layers.convolution
    utils: internals.layers_utils
lib.io
    file_io: internals.* gfile io.gfile
    python_io: python_io
    tf_record: io tf
module: tf
    module
ops: tf
    clip_ops custom_gradient functional_ops gradients histogram_ops map_fn partitioned_variables script_ops sort_ops
    standard_ops state_ops tensor_array_ops
    array_ops: tf _src.graph.ops.reshape internals.array_ops internals.gen_ops
    bitwise_ops: bitwise
    candidate_sampling_ops: nn random
    check_ops numerics: tf debugging
    collective_ops: _src.graph.ops.collective
    confusion_matrix: math tf
    control_flow_ops: tf _src.graph.ops.control_flow _src.graph.ops.control internals.gen_ops
    control_flow_util inplace_ops resources summary_op_util: internals.*
    ctc_ops embedding_ops nn_impl: nn
    data_flow_ops: tf contrib.staging _src.training.input.barrier
    gradient_checker: test
    gradients_impl: tf internals.array_ops
    image_ops image_ops_impl: image internals.array_ops
    init_ops: tf initializers _src.training.variables.initializers
    io_ops: tf io internals.gen_ops
    linalg_ops: tf linalg
    logging_ops: tf summary
    lookup_ops: lookup contrib.lookup tf
    manip_ops: manip
    math_ops: tf math internals.array_ops
    metrics: metrics
    metrics_impl: metrics _src.training.nn.metrics.state
    nccl_ops: contrib.nccl
    nn: nn tf
    nn_ops: nn tf internals.array_ops internals.gen_ops
    parsing_ops: io tf
    random_ops: tf random
    resource_variable_ops: tf _src.training.variables.resource_variable internals.gen_ops
    rnn: nn internals.rnn_cell_impl
    rnn_cell: nn.rnn_cell contrib.rnn internals.rnn_cell_impl
    rnn_cell_impl: nn.rnn_cell contrib.rnn _src.training.nn.rnn.cells internals.rnn_cell_impl
    sets sets_impl: sets
    sparse_ops: tf sparse
    special_math_ops: tf math
    spectral_ops: signal spectral tf
    stateless_random_ops: random contrib.stateless
    string_ops: strings tf
    summary_ops_v2: contrib.summary
    template: tf _src.training.variables.templates
    variable_scope: tf _src.training.variables.variable_scope
    variables: tf _src.training.variables.ref_variable _src.training.variables.partitions
    weights_broadcast_ops: _src.training.nn.weights
ops: internals.gen_ops
    gen_array_ops gen_audio_ops gen_batch_ops gen_bitwise_ops gen_candidate_sampling_ops gen_checkpoint_ops
    gen_control_flow_ops gen_ctc_ops gen_data_flow_ops gen_dataset_ops gen_experimental_dataset_ops gen_functional_ops
    gen_image_ops gen_io_ops gen_linalg_ops gen_list_ops gen_logging_ops gen_lookup_ops gen_manip_ops gen_math_ops
    gen_nn_ops gen_parsing_ops gen_random_ops gen_resource_variable_ops gen_script_ops gen_sdca_ops gen_set_ops
    gen_sparse_ops gen_spectral_ops gen_state_ops gen_stateless_random_ops gen_string_ops gen_summary_ops gen_user_ops
ops.distributions: distributions
    bernoulli beta categorical dirichlet dirichlet_multinomial distribution distributions exponential gamma
    kullback_leibler laplace multinomial normal student_t uniform
ops.linalg: linalg
    linalg linalg_impl linear_operator
ops.losses: losses
    losses util
    losses_impl: losses internals.*
ops.signal: signal
    signal
platform: *
    app flags gfile resource_loader sysconfig test
    benchmark: test
    googletest: test absl.testing.absltest
    tf_logging: logging
profiler: profiler
    model_analyzer option_builder profiler
saved_model: saved_model.*
    builder constants loader main_op signature_constants signature_def_utils tag_constants utils
    builder_impl: saved_model.builder
    loader_impl: saved_model.loader saved_model _src.deploy.saved_model.files
    main_op_impl: saved_model.main_op
    signature_def_utils_impl: saved_model.signature_def_utils
    simple_save: saved_model
    utils_impl: saved_model.utils
summary: summary
    summary writer.writer_cache
    summary_iterator: train
    writer.event_file_writer: _src.base.formats.events
    writer.writer: summary _src.base.formats.events
tools: internals.*
    freeze_graph inspect_checkpoint
    optimize_for_inference_lib strip_unused_lib: internals.optimize_for_inference
training: train
    adadelta adagrad adagrad_da adam basic_loops basic_session_run_hooks checkpoint_management checkpoint_state_pb2
    checkpoint_utils checkpointable.util coordinator device_setter ftrl gradient_descent input learning_rate_decay
    momentum optimizer proximal_adagrad proximal_gradient_descent py_checkpoint_reader queue_runner rmsprop server_lib
    session_run_hook supervisor training training_util warm_starting_util
    evaluation: contrib.training _src.compat.contrib.training.evaluation
    experimental.loss_scale: train.experimental
    monitored_session session_manager: train _src.training.*
    moving_averages: train _src.training.optimizers.moving_averages
    saver: train _src.training.checkpoint.saver_builder internals.saver
    saving.saveable_object: _src.training.checkpoint.saver_builder
    slot_creator: _src.training.variables.slots
    summary_io: summary train
    training_ops: raw_ops internals.gen_ops
training.tracking: _src.training.checkpoint.trackable
    base tracking
    python_state: train.experimental
    util: train
util: internals.*
    all_util function_utils lazy_loader tf_decorator tf_export
    compat: compat
    deprecation: _src.compat.contrib.framework.deprecation
    nest: contrib.framework.nest nest internals.nest
    tf_contextlib: contextlib
    tf_inspect: internals.* inspect
"""
_CORE = """
.: tf train _src.base.config tensorboard.compat.proto.*
    example.example_pb2 example.feature_pb2
    framework.attr_value_pb2 framework.cost_graph_pb2 framework.function_pb2 framework.graph_pb2
    framework.node_def_pb2 framework.op_def_pb2 framework.resource_handle_pb2 framework.step_stats_pb2
    framework.summary_pb2 framework.tensor_pb2 framework.tensor_shape_pb2 framework.types_pb2 framework.variable_pb2
    framework.versions_pb2
    protobuf.cluster_pb2 protobuf.config_pb2 protobuf.meta_graph_pb2 protobuf.rewriter_config_pb2 protobuf.saver_pb2
    util.event_pb2
    protobuf.tensorflow_server_pb2: train
"""
# A folder below `python` has the sources of its first file here.
_CONTRIB = """
crf.python: contrib.crf
    ops.crf
cudnn_rnn.python: contrib.cudnn_rnn _src.compat.contrib.cudnn_rnn
    layers.cudnn_rnn ops.cudnn_rnn_ops
data.python.ops: contrib.data
    batching grouping interleave_ops iterator_ops readers shuffle_ops
distributions.python.ops: contrib.distributions
    bijectors distribution_util
eager.python: contrib.eager
    datasets network saver tfe
    metrics metrics_impl: contrib.eager.metrics
framework.python: contrib.framework
    framework.checkpoint_utils framework.graph_util framework.tensor_util ops.arg_scope ops.ops ops.variables
    ops.audio_ops: audio _src.compat.contrib.framework.audio
gan.python: contrib.gan
    losses.python.losses_impl losses.python.tuple_losses namedtuples train
graph_editor: contrib.graph_editor
    edit reroute select subgraph util
image.python: contrib.image
    ops.image_ops
layers.python: contrib.layers
    layers.encoders layers.feature_column layers.initializers layers.layers layers.normalization layers.optimizers
    layers.regularizers layers.summaries ops.sparse_ops
    layers.utils: contrib.layers.utils contrib.layers
learn.python.learn
    datasets.base datasets.mnist: contrib.learn.datasets.*
    learn_runner: contrib.learn.learn_runner
    preprocessing.text: contrib.learn.preprocessing
legacy_seq2seq.python: contrib.legacy_seq2seq
    ops.seq2seq
losses.python: contrib.losses
    losses.loss_ops
    metric_learning.metric_loss_ops: contrib.losses.metric_learning
memory_stats.python: contrib.memory_stats
    ops.memory_stats_ops
metrics.python: contrib.metrics
    metrics.classification ops.confusion_matrix_ops ops.metric_ops ops.set_ops
mixed_precision.python: contrib.mixed_precision
    loss_scale_manager loss_scale_optimizer
nccl.python: contrib.nccl
    ops.nccl_ops
nn.python.ops: contrib.nn
    alpha_dropout cross_entropy sampling_ops scaled_softplus
opt.python.training: contrib.opt
    adamax external_optimizer moving_average_optimizer nadam_optimizer
quantize.python: contrib.quantize
    quantize_graph
resampler.python: contrib.resampler
    ops.resampler_ops
rnn.python.ops: contrib.rnn internals.rnn_cell_impl
    core_rnn_cell core_rnn_cell_impl rnn_cell
    fused_rnn_cell gru_ops lstm_ops rnn: contrib.rnn
seq2seq.python.ops: contrib.seq2seq
    attention_wrapper basic_decoder beam_search_decoder beam_search_ops helper loss
    decoder: contrib.seq2seq internals.rnn_cell_impl
signal.python.ops: contrib.signal
    mel_ops mfcc_ops reconstruction_ops shape_ops spectral_ops window_ops
slim.python.slim: contrib.slim.* contrib.slim
    nets: contrib.slim.nets
    evaluation learning losses metrics model_analyzer queues summaries
slim.python.slim.data: contrib.slim.*
    data_provider dataset dataset_data_provider parallel_reader prefetch_queue tfexample_decoder
    data_decoder: _src.compat.contrib.slim.data.decoders
slim.python.slim.nets: contrib.slim.nets.* contrib.slim
    alexnet inception inception_v1 inception_v2 inception_v3 overfeat resnet_utils resnet_v1 resnet_v2 vgg
training.python.training: contrib.training
    bucket_ops evaluation hparam sampling_ops sequence_queueing_state_saver training
"""


def _parse(text: str) -> dict[str, tuple[str, ...]]:
    """Returns the sources of each path of a table, in the order of the text."""
    table = {}
    folder = default = ""
    for line in text.strip().splitlines():
        names, _, sources = line.partition(":")
        if not line.startswith(" "):
            folder, default = names, sources
            continue
        for name in names.split():
            path = f"{folder}.{name}".lstrip(".")
            if path in table:
                raise ValueError(f"{path} stands twice in a table of source paths")
            file = path.rpartition(".")[2]
            table[path] = tuple(_full_name(source.replace("*", file)) for source in (sources or default).split())
    return table


def _full_name(source: str) -> str:
    """Returns a source as `source_paths` opens it: a namespace below the package, `""` for it, or a full name."""
    if source.startswith("_src."):
        return f"thalweg.{source}"
    if source.startswith("internals."):
        return f"thalweg._src.compat.{source}"
    return "" if source == "tf" else source


PYTHON, CORE, CONTRIB = _parse(_PYTHON), _parse(_CORE), _parse(_CONTRIB)
