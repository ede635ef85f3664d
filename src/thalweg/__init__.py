"""Thalweg, a dataflow system for machine learning under TensorFlow 1.15's public names: `import thalweg as tf`."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.config import (
    ConfigProto as ConfigProto,
    GPUOptions as GPUOptions,
    GraphOptions as GraphOptions,
    OptimizerOptions as OptimizerOptions,
    RunMetadata as RunMetadata,
    RunOptions as RunOptions,
)
from thalweg._src.base.devices import DeviceSpec as DeviceSpec
from thalweg._src.base.dtypes import (
    DType as DType,
    QUANTIZED_DTYPES as QUANTIZED_DTYPES,
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool as bool,
    complex128 as complex128,
    complex64 as complex64,
    float16 as float16,
    float16 as half,
    float32 as float32,
    float64 as double,
    float64 as float64,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int8 as int8,
    qint16 as qint16,
    qint32 as qint32,
    qint8 as qint8,
    quint16 as quint16,
    quint8 as quint8,
    resource as resource,
    string as string,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uint8 as uint8,
    variant as variant,
)
from thalweg._src.base.errors import OpError as OpError
from thalweg._src.base.logging import get_logger as get_logger
from thalweg._src.base.shapes import (
    Dimension as Dimension,
    TensorShape as TensorShape,
    dimension_at_index as dimension_at_index,
    dimension_value as dimension_value,
)
from thalweg._src.compat.as_tensorflow import install_as_tensorflow as install_as_tensorflow
from thalweg._src.compat.gen_ops import (
    acos as acos,
    acosh as acosh,
    approx_top_k as approx_top_k,
    arg_max as arg_max,
    arg_min as arg_min,
    as_string as as_string,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    batch_to_space_nd as batch_to_space_nd,
    betainc as betainc,
    bitcast as bitcast,
    broadcast_to as broadcast_to,
    ceil as ceil,
    check_numerics as check_numerics,
    cholesky as cholesky,
    cos as cos,
    cosh as cosh,
    cross as cross,
    decode_base64 as decode_base64,
    decode_compressed as decode_compressed,
    decode_json_example as decode_json_example,
    diag as diag,
    diag_part as diag_part,
    digamma as digamma,
    dynamic_stitch as dynamic_stitch,
    encode_base64 as encode_base64,
    erf as erf,
    erfc as erfc,
    exp as exp,
    expm1 as expm1,
    extract_volume_patches as extract_volume_patches,
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
    fft as fft,
    fft2d as fft2d,
    fft3d as fft3d,
    fill as fill,
    floor as floor,
    floormod as floormod,
    floormod as mod,
    greater as greater,
    greater_equal as greater_equal,
    identity as identity,
    ifft as ifft,
    ifft2d as ifft2d,
    ifft3d as ifft3d,
    igamma as igamma,
    igammac as igammac,
    invert_permutation as invert_permutation,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    less as less,
    less_equal as less_equal,
    lgamma as lgamma,
    lin_space as lin_space,
    lin_space as linspace,
    log as log,
    log1p as log1p,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    matching_files as matching_files,
    matrix_band_part as matrix_band_part,
    matrix_determinant as matrix_determinant,
    matrix_inverse as matrix_inverse,
    matrix_solve_op as matrix_solve,
    maximum as maximum,
    minimum as minimum,
    negative as negative,
    parse_tensor as parse_tensor,
    polygamma as polygamma,
    pow as pow,
    qr as qr,
    quantized_concat as quantized_concat,
    read_file as read_file,
    realdiv as realdiv,
    reciprocal as reciprocal,
    rint as rint,
    roll as roll,
    rsqrt as rsqrt,
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
    serialize_tensor as serialize_tensor,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    space_to_batch_nd as space_to_batch_nd,
    sparse_matmul as sparse_matmul,
    sqrt as sqrt,
    sqrtm as matrix_square_root,
    square as square,
    squared_difference as squared_difference,
    stop_gradient as stop_gradient,
    string_strip as string_strip,
    string_to_hash_bucket_fast as string_to_hash_bucket_fast,
    string_to_hash_bucket_strong as string_to_hash_bucket_strong,
    tan as tan,
    tanh as tanh,
    tile as tile,
    timestamp as timestamp,
    truncatediv as truncatediv,
    truncatemod as truncatemod,
    unique_with_counts as unique_with_counts,
    unravel_index as unravel_index,
    unsorted_segment_max as unsorted_segment_max,
    unsorted_segment_min as unsorted_segment_min,
    unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sum as unsorted_segment_sum,
    write_file as write_file,
    zeta as zeta,
)
from thalweg._src.compat.libraries import (
    load_file_system_library as load_file_system_library,
    load_library as load_library,
    load_op_library as load_op_library,
)
from thalweg._src.compat.switches import (
    control_flow_v2_enabled as control_flow_v2_enabled,
    disable_control_flow_v2 as disable_control_flow_v2,
    disable_tensor_equality as disable_tensor_equality,
    disable_v2_behavior as disable_v2_behavior,
    disable_v2_tensorshape as disable_v2_tensorshape,
    enable_control_flow_v2 as enable_control_flow_v2,
)
from thalweg._src.compiler.place.placers import (
    placer as placer,
    register_placer as register_placer,
)
from thalweg._src.graph.autodiff.custom_gradient import custom_gradient as custom_gradient
from thalweg._src.graph.autodiff.gradients import (
    AggregationMethod as AggregationMethod,
    UnconnectedGradients as UnconnectedGradients,
    gradients as gradients,
)
from thalweg._src.graph.autodiff.hessians import hessians as hessians
from thalweg._src.graph.autodiff.registry import (
    RegisterGradient as RegisterGradient,
    no_gradient as NoGradient,
    no_gradient as NotDifferentiable,
    no_gradient as no_gradient,
)
from thalweg._src.graph.control_flow.cond import (
    case as case,
    cond as cond,
    switch_case as switch_case,
)
from thalweg._src.graph.control_flow.functional import (
    foldl as foldl,
    foldr as foldr,
    map_fn as map_fn,
    scan as scan,
)
from thalweg._src.graph.control_flow.tensor_array import TensorArray as TensorArray
from thalweg._src.graph.control_flow.while_loop import while_loop as while_loop
from thalweg._src.graph.convert import (
    convert_to_tensor as convert_to_tensor,
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from thalweg._src.graph.default import (
    executing_eagerly as executing_eagerly,
    executing_eagerly_outside_functions as executing_eagerly_outside_functions,
    get_default_graph as get_default_graph,
    reset_default_graph as reset_default_graph,
)
from thalweg._src.graph.default_stacks import get_default_session as get_default_session
from thalweg._src.graph.graph import Graph as Graph
from thalweg._src.graph.graphdef import (
    MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER,
    PRODUCER as GRAPH_DEF_VERSION,
)
from thalweg._src.graph.import_graph_def import import_graph_def as import_graph_def
from thalweg._src.graph.indexed_slices import (
    IndexedSlices as IndexedSlices,
    IndexedSlicesValue as IndexedSlicesValue,
)
from thalweg._src.graph.is_tensor import is_tensor as is_tensor
from thalweg._src.graph.op_def import (
    OPS as OPS,
    op as op,
)
from thalweg._src.graph.operation import Operation as Operation
from thalweg._src.graph.ops.bincount import (
    bincount as bincount,
    confusion_matrix as confusion_matrix,
    histogram_fixed_width as histogram_fixed_width,
    histogram_fixed_width_bins as histogram_fixed_width_bins,
)
from thalweg._src.graph.ops.cast import (
    cast as cast,
    to_bfloat16 as to_bfloat16,
    to_complex128 as to_complex128,
    to_complex64 as to_complex64,
    to_double as to_double,
    to_float as to_float,
    to_int32 as to_int32,
    to_int64 as to_int64,
)
from thalweg._src.graph.ops.check import (
    assert_equal as assert_equal,
    assert_greater as assert_greater,
    assert_greater_equal as assert_greater_equal,
    assert_integer as assert_integer,
    assert_less as assert_less,
    assert_less_equal as assert_less_equal,
    assert_near as assert_near,
    assert_negative as assert_negative,
    assert_non_negative as assert_non_negative,
    assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal,
    assert_positive as assert_positive,
    assert_proper_iterable as assert_proper_iterable,
    assert_rank as assert_rank,
    assert_rank_at_least as assert_rank_at_least,
    assert_rank_in as assert_rank_in,
    assert_same_float_dtype as assert_same_float_dtype,
    assert_scalar as assert_scalar,
    assert_type as assert_type,
    is_non_decreasing as is_non_decreasing,
    is_numeric_tensor as is_numeric_tensor,
    is_strictly_increasing as is_strictly_increasing,
)
from thalweg._src.graph.ops.comparison import (
    equal as equal,
    logical_xor as logical_xor,
    not_equal as not_equal,
)
from thalweg._src.graph.ops.concat import (
    concat as concat,
    parallel_stack as parallel_stack,
    split as split,
    stack as stack,
    unstack as unstack,
)
from thalweg._src.graph.ops.constants import (
    constant as constant,
    no_op as no_op,
    placeholder as placeholder,
    placeholder_with_default as placeholder_with_default,
)
from thalweg._src.graph.ops.contraction import (
    einsum as einsum,
    tensordot as tensordot,
    trace as trace,
)
from thalweg._src.graph.ops.control import (
    group as group,
    tuple as tuple,
)
from thalweg._src.graph.ops.csv import decode_csv as decode_csv
from thalweg._src.graph.ops.decoding import (
    decode_raw as decode_raw,
    string_to_number as string_to_number,
)
from thalweg._src.graph.ops.decompositions import (
    self_adjoint_eig as self_adjoint_eig,
    self_adjoint_eigvals as self_adjoint_eigvals,
    svd as svd,
)
from thalweg._src.graph.ops.diagonal import (
    eye as eye,
    matrix_diag as matrix_diag,
    matrix_diag_part as matrix_diag_part,
    matrix_set_diag as matrix_set_diag,
)
from thalweg._src.graph.ops.edit_distance import edit_distance as edit_distance
from thalweg._src.graph.ops.gather import (
    batch_gather as batch_gather,
    boolean_mask as boolean_mask,
    dynamic_partition as dynamic_partition,
    gather as gather,
    gather_nd as gather_nd,
    scatter_nd as scatter_nd,
    tensor_scatter_add as tensor_scatter_add,
    tensor_scatter_add as tensor_scatter_nd_add,
    tensor_scatter_max as tensor_scatter_nd_max,
    tensor_scatter_min as tensor_scatter_nd_min,
    tensor_scatter_sub as tensor_scatter_nd_sub,
    tensor_scatter_sub as tensor_scatter_sub,
    tensor_scatter_update as tensor_scatter_nd_update,
    tensor_scatter_update as tensor_scatter_update,
)
from thalweg._src.graph.ops.hashing import (
    fingerprint as fingerprint,
    string_to_hash_bucket as string_to_hash_bucket,
)
from thalweg._src.graph.ops.identity import (
    ensure_shape as ensure_shape,
    guarantee_const as guarantee_const,
    identity_n as identity_n,
)
from thalweg._src.graph.ops.linalg import (
    cholesky_solve as cholesky_solve,
    matrix_solve_ls as matrix_solve_ls,
    matrix_triangular_solve as matrix_triangular_solve,
)
from thalweg._src.graph.ops.math import (
    abs as abs,
    accumulate_n as accumulate_n,
    add as add,
    add_n as add_n,
    angle as angle,
    clip_by_value as clip_by_value,
    complex as complex,
    conj as conj,
    div as div,
    div_no_nan as div_no_nan,
    divide as divide,
    floor_div as floor_div,
    floordiv as floordiv,
    imag as imag,
    multiply as multiply,
    real as real,
    round as round,
    scalar_mul as scalar_mul,
    subtract as subtract,
    truediv as truediv,
)
from thalweg._src.graph.ops.matrix import matmul as matmul
from thalweg._src.graph.ops.nn import log_sigmoid as log_sigmoid
from thalweg._src.graph.ops.numerics import (
    add_check_numerics_ops as add_check_numerics_ops,
    verify_tensor_all_finite as verify_tensor_all_finite,
)
from thalweg._src.graph.ops.pad_tile import (
    broadcast_dynamic_shape as broadcast_dynamic_shape,
    broadcast_static_shape as broadcast_static_shape,
    meshgrid as meshgrid,
    pad as pad,
    repeat as repeat,
    reverse as reverse,
    reverse as reverse_v2,
    reverse_sequence as reverse_sequence,
)
from thalweg._src.graph.ops.patches import extract_image_patches as extract_image_patches
from thalweg._src.graph.ops.printing import (
    Assert as Assert,
    Print as Print,
    print_v2 as print,
)
from thalweg._src.graph.ops.py_func import (
    numpy_function as numpy_function,
    py_func as py_func,
)
from thalweg._src.graph.ops.quantization import (
    dequantize as dequantize,
    quantize as quantize,
    quantize_v2 as quantize_v2,
)
from thalweg._src.graph.ops.random import (
    multinomial as multinomial,
    random_crop as random_crop,
    random_gamma as random_gamma,
    random_normal as random_normal,
    random_poisson as random_poisson,
    random_shuffle as random_shuffle,
    random_uniform as random_uniform,
    truncated_normal as truncated_normal,
)
from thalweg._src.graph.ops.reduction import (
    argmax as argmax,
    argmin as argmin,
    cumprod as cumprod,
    cumsum as cumsum,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
)
from thalweg._src.graph.ops.reshape import (
    constant_value as get_static_value,
    expand_dims as expand_dims,
    matrix_transpose as matrix_transpose,
    ones as ones,
    ones_like as ones_like,
    rank as rank,
    reshape as reshape,
    shape as shape,
    shape_n as shape_n,
    size as size,
    squeeze as squeeze,
    transpose as transpose,
    zeros as zeros,
    zeros_like as zeros_like,
)
from thalweg._src.graph.ops.saturate_cast import saturate_cast as saturate_cast
from thalweg._src.graph.ops.segment import (
    unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
)
from thalweg._src.graph.ops.sequences import range as range
from thalweg._src.graph.ops.slicing import (
    newaxis as newaxis,
    slice as slice,
    strided_slice as strided_slice,
)
from thalweg._src.graph.ops.sorting import (
    argsort as argsort,
    searchsorted as searchsorted,
    sort as sort,
)
from thalweg._src.graph.ops.space_to_depth import (
    batch_to_space as batch_to_space,
    depth_to_space as depth_to_space,
    space_to_batch as space_to_batch,
    space_to_depth as space_to_depth,
)
from thalweg._src.graph.ops.sparse import (
    sparse_mask as sparse_mask,
    sparse_placeholder as sparse_placeholder,
    sparse_reset_shape as sparse_reset_shape,
    sparse_retain as sparse_retain,
    sparse_tensor_to_dense as sparse_tensor_to_dense,
    sparse_to_dense as sparse_to_dense,
)
from thalweg._src.graph.ops.sparse_math import (
    sparse_add as sparse_add,
    sparse_maximum as sparse_maximum,
    sparse_minimum as sparse_minimum,
    sparse_reduce_max as sparse_reduce_max,
    sparse_reduce_max_sparse as sparse_reduce_max_sparse,
    sparse_reduce_sum as sparse_reduce_sum,
    sparse_reduce_sum_sparse as sparse_reduce_sum_sparse,
    sparse_softmax as sparse_softmax,
    sparse_tensor_dense_matmul as sparse_tensor_dense_matmul,
)
from thalweg._src.graph.ops.sparse_rows import sparse_fill_empty_rows as sparse_fill_empty_rows
from thalweg._src.graph.ops.sparse_segments import (
    sparse_segment_mean as sparse_segment_mean,
    sparse_segment_sqrt_n as sparse_segment_sqrt_n,
    sparse_segment_sum as sparse_segment_sum,
)
from thalweg._src.graph.ops.sparse_serial import (
    deserialize_many_sparse as deserialize_many_sparse,
    serialize_many_sparse as serialize_many_sparse,
    serialize_sparse as serialize_sparse,
)
from thalweg._src.graph.ops.sparse_shaping import (
    sparse_concat as sparse_concat,
    sparse_merge as sparse_merge,
    sparse_reorder as sparse_reorder,
    sparse_reshape as sparse_reshape,
    sparse_slice as sparse_slice,
    sparse_split as sparse_split,
    sparse_to_indicator as sparse_to_indicator,
    sparse_transpose as sparse_transpose,
)
from thalweg._src.graph.ops.special import lbeta as lbeta
from thalweg._src.graph.ops.strings import (
    reduce_join as reduce_join,
    regex_replace as regex_replace,
    string_join as string_join,
    substr as substr,
)
from thalweg._src.graph.ops.tensor_proto import make_tensor_proto as make_tensor_proto
from thalweg._src.graph.ops.where import (
    one_hot as one_hot,
    sequence_mask as sequence_mask,
    setdiff1d as setdiff1d,
    unique as unique,
    where as where,
    where_v2 as where_v2,
)
from thalweg._src.graph.scopes import (
    GraphKeys as GraphKeys,
    add_to_collection as add_to_collection,
    add_to_collections as add_to_collections,
    colocate_with as colocate_with,
    container as container,
    control_dependencies as control_dependencies,
    device as device,
    get_collection as get_collection,
    get_collection_ref as get_collection_ref,
    init_scope as init_scope,
    name_scope as name_scope,
    op_scope as op_scope,
)
from thalweg._src.graph.seeds import (
    get_seed as get_seed,
    set_random_seed as set_random_seed,
)
from thalweg._src.graph.sparse_tensor import (
    SparseTensor as SparseTensor,
    SparseTensorValue as SparseTensorValue,
    convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices,
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
)
from thalweg._src.graph.tensor import Tensor as Tensor
from thalweg._src.graph.tensor_proto import MakeNdarray as make_ndarray
from thalweg._src.graph.variable_creators import variable_creator_scope as variable_creator_scope
from thalweg._src.graph.versions import (
    COMPILER_VERSION as COMPILER_VERSION,
    CXX11_ABI_FLAG as CXX11_ABI_FLAG,
    CXX_VERSION as CXX_VERSION,
    GIT_VERSION as GIT_VERSION,
    GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER,
    MONOLITHIC_BUILD as MONOLITHIC_BUILD,
    VERSION as VERSION,
    VERSION as __version__,
)
from thalweg._src.runtime.eager.gradient_tape import GradientTape as GradientTape
from thalweg._src.runtime.eager.mode import (
    disable_eager_execution as disable_eager_execution,
    enable_eager_execution as enable_eager_execution,
)
from thalweg._src.runtime.eager.py_function import py_function as py_function
from thalweg._src.runtime.function.function import function as function
from thalweg._src.runtime.kernels.registry import (
    Call as Call,
    Input as Input,
    kernel as kernel,
)
from thalweg._src.runtime.session.critical_section import CriticalSection as CriticalSection
from thalweg._src.runtime.session.session import (
    InteractiveSession as InteractiveSession,
    Session as Session,
)
from thalweg._src.runtime.session.session_tensors import (
    delete_session_tensor as delete_session_tensor,
    get_session_handle as get_session_handle,
    get_session_tensor as get_session_tensor,
)
from thalweg._src.training.data.optional import OptionalSpec as OptionalSpec
from thalweg._src.training.data.structure import (
    SparseTensorSpec as SparseTensorSpec,
    Spec as TypeSpec,
    TensorSpec as TensorSpec,
)
from thalweg._src.training.input.accumulators import (
    ConditionalAccumulator as ConditionalAccumulator,
    ConditionalAccumulatorBase as ConditionalAccumulatorBase,
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)
from thalweg._src.training.input.features import (
    FixedLenFeature as FixedLenFeature,
    FixedLenSequenceFeature as FixedLenSequenceFeature,
    SparseFeature as SparseFeature,
    VarLenFeature as VarLenFeature,
    parse_example as parse_example,
    parse_single_example as parse_single_example,
    parse_single_sequence_example as parse_single_sequence_example,
)
from thalweg._src.training.input.queues import (
    FIFOQueue as FIFOQueue,
    PaddingFIFOQueue as PaddingFIFOQueue,
    PriorityQueue as PriorityQueue,
    QueueBase as QueueBase,
    RandomShuffleQueue as RandomShuffleQueue,
)
from thalweg._src.training.input.readers import (
    FixedLengthRecordReader as FixedLengthRecordReader,
    IdentityReader as IdentityReader,
    LMDBReader as LMDBReader,
    ReaderBase as ReaderBase,
    TFRecordReader as TFRecordReader,
    TextLineReader as TextLineReader,
    WholeFileReader as WholeFileReader,
)
from thalweg._src.training.nn.lookup import (
    initialize_all_tables as initialize_all_tables,
    tables_initializer as tables_initializer,
)
from thalweg._src.training.nn.module import Module as Module
from thalweg._src.training.nn.ragged.strings import string_split as string_split
from thalweg._src.training.nn.ragged.tensor import RaggedTensor as RaggedTensor
from thalweg._src.training.nn.space_to_batch import (
    conv2d_backprop_filter_v2 as conv2d_backprop_filter_v2,
    conv2d_backprop_input_v2 as conv2d_backprop_input_v2,
    required_space_to_batch_paddings as required_space_to_batch_paddings,
)
from thalweg._src.training.nn.statistics import (
    count_nonzero as count_nonzero,
    norm as norm,
    reduce_logsumexp as reduce_logsumexp,
)
from thalweg._src.training.optimizers.clipping import (
    clip_by_average_norm as clip_by_average_norm,
    clip_by_global_norm as clip_by_global_norm,
    clip_by_norm as clip_by_norm,
    global_norm as global_norm,
)
from thalweg._src.training.variables.assign import (
    assert_variables_initialized as assert_variables_initialized,
    assign as assign,
    assign_add as assign_add,
    assign_sub as assign_sub,
    batch_scatter_update as batch_scatter_update,
    count_up_to as count_up_to,
    is_variable_initialized as is_variable_initialized,
    report_uninitialized_variables as report_uninitialized_variables,
    scatter_add as scatter_add,
    scatter_div as scatter_div,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_mul as scatter_mul,
    scatter_nd_add as scatter_nd_add,
    scatter_nd_sub as scatter_nd_sub,
    scatter_nd_update as scatter_nd_update,
    scatter_sub as scatter_sub,
    scatter_update as scatter_update,
)
from thalweg._src.training.variables.custom_gradients import (
    grad_pass_through as grad_pass_through,
    recompute_grad as recompute_grad,
)
from thalweg._src.training.variables.defaults import (
    disable_resource_variables as disable_resource_variables,
    enable_resource_variables as enable_resource_variables,
    resource_variables_enabled as resource_variables_enabled,
)
from thalweg._src.training.variables.initializers import (
    Constant as constant_initializer,
    GlorotNormal as glorot_normal_initializer,
    GlorotUniform as glorot_uniform_initializer,
    Ones as ones_initializer,
    Orthogonal as orthogonal_initializer,
    RandomNormal as random_normal_initializer,
    RandomUniform as random_uniform_initializer,
    TruncatedNormal as truncated_normal_initializer,
    UniformUnitScaling as uniform_unit_scaling_initializer,
    VarianceScaling as variance_scaling_initializer,
    Zeros as zeros_initializer,
)
from thalweg._src.training.variables.partitioners import (
    create_partitioned_variables as create_partitioned_variables,
    fixed_size_partitioner as fixed_size_partitioner,
    min_max_variable_partitioner as min_max_variable_partitioner,
    variable_axis_size_partitioner as variable_axis_size_partitioner,
)
from thalweg._src.training.variables.replication import (
    VariableAggregation as VariableAggregation,
    VariableSynchronization as VariableSynchronization,
)
from thalweg._src.training.variables.templates import make_template as make_template
from thalweg._src.training.variables.variable_scope import (
    AUTO_REUSE as AUTO_REUSE,
    VariableScope as VariableScope,
    get_local_variable as get_local_variable,
    get_variable as get_variable,
    get_variable_scope as get_variable_scope,
    no_regularizer as no_regularizer,
    variable_op_scope as variable_op_scope,
    variable_scope as variable_scope,
)
from thalweg._src.training.variables.variables import (
    Variable as Variable,
    global_variables as all_variables,
    global_variables as global_variables,
    global_variables_initializer as global_variables_initializer,
    global_variables_initializer as initialize_all_variables,
    local_variables as local_variables,
    local_variables_initializer as initialize_local_variables,
    local_variables_initializer as local_variables_initializer,
    model_variables as model_variables,
    moving_average_variables as moving_average_variables,
    trainable_variables as trainable_variables,
    variables_initializer as initialize_variables,
    variables_initializer as variables_initializer,
)
import thalweg._src.cluster.distributed.client as _client
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg import app as app
    from thalweg import audio as audio
    from thalweg import autograph as autograph
    from thalweg import bitwise as bitwise
    from thalweg import compat as compat
    from thalweg import config as config
    from thalweg import contrib as contrib
    from thalweg import core as core
    from thalweg import data as data
    from thalweg import debugging as debugging
    from thalweg import distribute as distribute
    from thalweg import distributions as distributions
    from thalweg import dtypes as dtypes
    from thalweg import errors as errors
    from thalweg import estimator as estimator
    from thalweg import examples as examples
    from thalweg import export as export
    from thalweg import feature_column as feature_column
    from thalweg import flags as flags
    from thalweg import gfile as gfile
    from thalweg import graph_util as graph_util
    from thalweg import image as image
    from thalweg import initializers as initializers
    from thalweg import io as io
    from thalweg import keras as keras
    from thalweg import layers as layers
    from thalweg import linalg as linalg
    from thalweg import lite as lite
    from thalweg import logging as logging
    from thalweg import lookup as lookup
    from thalweg import losses as losses
    from thalweg import manip as manip
    from thalweg import math as math
    from thalweg import metrics as metrics
    from thalweg import mixed_precision as mixed_precision
    from thalweg import nest as nest
    from thalweg import nn as nn
    from thalweg import onnx as onnx
    from thalweg import profiler as profiler
    from thalweg import python as python
    from thalweg import python_io as python_io
    from thalweg import quantization as quantization
    from thalweg import queue as queue
    from thalweg import ragged as ragged
    from thalweg import random as random
    from thalweg import raw_ops as raw_ops
    from thalweg import ray as ray
    from thalweg import resource_loader as resource_loader
    from thalweg import saved_model as saved_model
    from thalweg import serving as serving
    from thalweg import sets as sets
    from thalweg import signal as signal
    from thalweg import sparse as sparse
    from thalweg import spectral as spectral
    from thalweg import strings as strings
    from thalweg import summary as summary
    from thalweg import sysconfig as sysconfig
    from thalweg import test as test
    from thalweg import tools as tools
    from thalweg import tpu as tpu
    from thalweg import train as train
    from thalweg import version as version
    from thalweg import xla as xla
    from tensorboard.compat.proto.meta_graph_pb2 import AssetFileDef as AssetFileDef
    from tensorboard.compat.proto.attr_value_pb2 import AttrValue as AttrValue
    from tensorboard.compat.proto.event_pb2 import Event as Event
    from tensorboard.compat.proto.graph_pb2 import GraphDef as GraphDef
    from tensorboard.compat.proto.histogram_pb2 import HistogramProto as HistogramProto
    from tensorboard.compat.proto.event_pb2 import LogMessage as LogMessage
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef as MetaGraphDef
    from tensorboard.compat.proto.attr_value_pb2 import NameAttrList as NameAttrList
    from tensorboard.compat.proto.node_def_pb2 import NodeDef as NodeDef
    from tensorboard.compat.proto.event_pb2 import SessionLog as SessionLog
    from tensorboard.compat.proto.meta_graph_pb2 import SignatureDef as SignatureDef
    from tensorboard.compat.proto.summary_pb2 import Summary as Summary
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata as SummaryMetadata
    from tensorboard.compat.proto.meta_graph_pb2 import TensorInfo as TensorInfo

__getattr__, __dir__ = _lazy_names(
    __name__,
    [
        "app", "audio", "autograph", "bitwise", "compat", "config", "contrib", "core", "data", "debugging",
        "distribute", "distributions", "dtypes", "errors", "estimator", "examples", "export", "feature_column", "flags",
        "gfile", "graph_util", "image", "initializers", "io", "keras", "layers", "linalg", "lite", "logging", "lookup",
        "losses", "manip", "math", "metrics", "mixed_precision", "nest", "nn", "onnx", "profiler", "python",
        "python_io", "quantization", "queue", "ragged", "random", "raw_ops", "ray", "resource_loader", "saved_model",
        "serving", "sets", "signal", "sparse", "spectral", "strings", "summary", "sysconfig", "test", "tools", "tpu",
        "train", "version", "xla",
    ],
    {
        "AssetFileDef": "tensorboard.compat.proto.meta_graph_pb2",
        "AttrValue": "tensorboard.compat.proto.attr_value_pb2", "Event": "tensorboard.compat.proto.event_pb2",
        "GraphDef": "tensorboard.compat.proto.graph_pb2", "HistogramProto": "tensorboard.compat.proto.histogram_pb2",
        "LogMessage": "tensorboard.compat.proto.event_pb2", "MetaGraphDef": "tensorboard.compat.proto.meta_graph_pb2",
        "NameAttrList": "tensorboard.compat.proto.attr_value_pb2", "NodeDef": "tensorboard.compat.proto.node_def_pb2",
        "SessionLog": "tensorboard.compat.proto.event_pb2", "SignatureDef": "tensorboard.compat.proto.meta_graph_pb2",
        "Summary": "tensorboard.compat.proto.summary_pb2", "SummaryMetadata": "tensorboard.compat.proto.summary_pb2",
        "TensorInfo": "tensorboard.compat.proto.meta_graph_pb2",
    },
)

__all__ = [
    "AUTO_REUSE", "AggregationMethod", "Assert", "AssetFileDef", "AttrValue", "COMPILER_VERSION", "CXX11_ABI_FLAG",
    "CXX_VERSION", "Call", "ConditionalAccumulator", "ConditionalAccumulatorBase", "ConfigProto", "CriticalSection",
    "DType", "DeviceSpec", "Dimension", "Event", "FIFOQueue", "FixedLenFeature", "FixedLenSequenceFeature",
    "FixedLengthRecordReader", "GIT_VERSION", "GPUOptions", "GRAPH_DEF_VERSION", "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER", "GradientTape", "Graph", "GraphDef", "GraphKeys", "GraphOptions",
    "HistogramProto", "IdentityReader", "IndexedSlices", "IndexedSlicesValue", "Input", "InteractiveSession",
    "LMDBReader", "LogMessage", "MONOLITHIC_BUILD", "MetaGraphDef", "Module", "NameAttrList", "NoGradient", "NodeDef",
    "NotDifferentiable", "OPS", "OpError", "Operation", "OptimizerOptions", "OptionalSpec", "PaddingFIFOQueue", "Print",
    "PriorityQueue", "QUANTIZED_DTYPES", "QueueBase", "RaggedTensor", "RandomShuffleQueue", "ReaderBase",
    "RegisterGradient", "RunMetadata", "RunOptions", "Session", "SessionLog", "SignatureDef",
    "SparseConditionalAccumulator", "SparseFeature", "SparseTensor", "SparseTensorSpec", "SparseTensorValue", "Summary",
    "SummaryMetadata", "TFRecordReader", "Tensor", "TensorArray", "TensorInfo", "TensorShape", "TensorSpec",
    "TextLineReader", "TypeSpec", "UnconnectedGradients", "VERSION", "VarLenFeature", "Variable", "VariableAggregation",
    "VariableScope", "VariableSynchronization", "WholeFileReader", "abs", "accumulate_n", "acos", "acosh", "add",
    "add_check_numerics_ops", "add_n", "add_to_collection", "add_to_collections", "all_variables", "angle", "app",
    "approx_top_k", "arg_max", "arg_min", "argmax", "argmin", "argsort", "as_dtype", "as_string", "asin", "asinh",
    "assert_equal", "assert_greater", "assert_greater_equal", "assert_integer", "assert_less", "assert_less_equal",
    "assert_near", "assert_negative", "assert_non_negative", "assert_non_positive", "assert_none_equal",
    "assert_positive", "assert_proper_iterable", "assert_rank", "assert_rank_at_least", "assert_rank_in",
    "assert_same_float_dtype", "assert_scalar", "assert_type", "assert_variables_initialized", "assign", "assign_add",
    "assign_sub", "atan", "atan2", "atanh", "audio", "autograph", "batch_gather", "batch_scatter_update",
    "batch_to_space", "batch_to_space_nd", "betainc", "bfloat16", "bincount", "bitcast", "bitwise", "bool",
    "boolean_mask", "broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to", "case", "cast", "ceil",
    "check_numerics", "cholesky", "cholesky_solve", "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm",
    "clip_by_value", "colocate_with", "compat", "complex", "complex128", "complex64", "concat", "cond", "config",
    "confusion_matrix", "conj", "constant", "constant_initializer", "container", "contrib", "control_dependencies",
    "control_flow_v2_enabled", "conv2d_backprop_filter_v2", "conv2d_backprop_input_v2", "convert_to_tensor",
    "convert_to_tensor_or_indexed_slices", "convert_to_tensor_or_sparse_tensor", "core", "cos", "cosh", "count_nonzero",
    "count_up_to", "create_partitioned_variables", "cross", "cumprod", "cumsum", "custom_gradient", "data", "debugging",
    "decode_base64", "decode_compressed", "decode_csv", "decode_json_example", "decode_raw", "delete_session_tensor",
    "depth_to_space", "dequantize", "deserialize_many_sparse", "device", "diag", "diag_part", "digamma",
    "dimension_at_index", "dimension_value", "disable_control_flow_v2", "disable_eager_execution",
    "disable_resource_variables", "disable_tensor_equality", "disable_v2_behavior", "disable_v2_tensorshape",
    "distribute", "distributions", "div", "div_no_nan", "divide", "double", "dtypes", "dynamic_partition",
    "dynamic_stitch", "edit_distance", "einsum", "enable_control_flow_v2", "enable_eager_execution",
    "enable_resource_variables", "encode_base64", "ensure_shape", "equal", "erf", "erfc", "errors", "estimator",
    "examples", "executing_eagerly", "executing_eagerly_outside_functions", "exp", "expand_dims", "expm1", "export",
    "extract_image_patches", "extract_volume_patches", "eye", "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient", "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel", "fake_quant_with_min_max_vars_per_channel_gradient", "feature_column",
    "fft", "fft2d", "fft3d", "fill", "fingerprint", "fixed_size_partitioner", "flags", "float16", "float32", "float64",
    "floor", "floor_div", "floordiv", "floormod", "foldl", "foldr", "function", "gather", "gather_nd", "get_collection",
    "get_collection_ref", "get_default_graph", "get_default_session", "get_local_variable", "get_logger", "get_seed",
    "get_session_handle", "get_session_tensor", "get_static_value", "get_variable", "get_variable_scope", "gfile",
    "global_norm", "global_variables", "global_variables_initializer", "glorot_normal_initializer",
    "glorot_uniform_initializer", "grad_pass_through", "gradients", "graph_util", "greater", "greater_equal", "group",
    "guarantee_const", "half", "hessians", "histogram_fixed_width", "histogram_fixed_width_bins", "identity",
    "identity_n", "ifft", "ifft2d", "ifft3d", "igamma", "igammac", "imag", "image", "import_graph_def", "init_scope",
    "initialize_all_tables", "initialize_all_variables", "initialize_local_variables", "initialize_variables",
    "initializers", "install_as_tensorflow", "int16", "int32", "int64", "int8", "invert_permutation", "io", "is_finite",
    "is_inf", "is_nan", "is_non_decreasing", "is_numeric_tensor", "is_strictly_increasing", "is_tensor",
    "is_variable_initialized", "keras", "kernel", "layers", "lbeta", "less", "less_equal", "lgamma", "lin_space",
    "linalg", "linspace", "lite", "load_file_system_library", "load_library", "load_op_library", "local_variables",
    "local_variables_initializer", "log", "log1p", "log_sigmoid", "logging", "logical_and", "logical_not", "logical_or",
    "logical_xor", "lookup", "losses", "make_ndarray", "make_template", "make_tensor_proto", "manip", "map_fn",
    "matching_files", "math", "matmul", "matrix_band_part", "matrix_determinant", "matrix_diag", "matrix_diag_part",
    "matrix_inverse", "matrix_set_diag", "matrix_solve", "matrix_solve_ls", "matrix_square_root", "matrix_transpose",
    "matrix_triangular_solve", "maximum", "meshgrid", "metrics", "min_max_variable_partitioner", "minimum",
    "mixed_precision", "mod", "model_variables", "moving_average_variables", "multinomial", "multiply", "name_scope",
    "negative", "nest", "newaxis", "nn", "no_gradient", "no_op", "no_regularizer", "norm", "not_equal",
    "numpy_function", "one_hot", "ones", "ones_initializer", "ones_like", "onnx", "op", "op_scope",
    "orthogonal_initializer", "pad", "parallel_stack", "parse_example", "parse_single_example",
    "parse_single_sequence_example", "parse_tensor", "placeholder", "placeholder_with_default", "placer", "polygamma",
    "pow", "print", "profiler", "py_func", "py_function", "python", "python_io", "qint16", "qint32", "qint8", "qr",
    "quantization", "quantize", "quantize_v2", "quantized_concat", "queue", "quint16", "quint8", "ragged", "random",
    "random_crop", "random_gamma", "random_normal", "random_normal_initializer", "random_poisson", "random_shuffle",
    "random_uniform", "random_uniform_initializer", "range", "rank", "raw_ops", "ray", "read_file", "real", "realdiv",
    "reciprocal", "recompute_grad", "reduce_all", "reduce_any", "reduce_join", "reduce_logsumexp", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum", "regex_replace", "register_placer",
    "register_tensor_conversion_function", "repeat", "report_uninitialized_variables",
    "required_space_to_batch_paddings", "reset_default_graph", "reshape", "resource", "resource_loader",
    "resource_variables_enabled", "reverse", "reverse_sequence", "reverse_v2", "rint", "roll", "round", "rsqrt",
    "saturate_cast", "saved_model", "scalar_mul", "scan", "scatter_add", "scatter_div", "scatter_max", "scatter_min",
    "scatter_mul", "scatter_nd", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update", "scatter_sub",
    "scatter_update", "searchsorted", "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum",
    "self_adjoint_eig", "self_adjoint_eigvals", "sequence_mask", "serialize_many_sparse", "serialize_sparse",
    "serialize_tensor", "serving", "set_random_seed", "setdiff1d", "sets", "shape", "shape_n", "sigmoid", "sign",
    "signal", "sin", "sinh", "size", "slice", "sort", "space_to_batch", "space_to_batch_nd", "space_to_depth", "sparse",
    "sparse_add", "sparse_concat", "sparse_fill_empty_rows", "sparse_mask", "sparse_matmul", "sparse_maximum",
    "sparse_merge", "sparse_minimum", "sparse_placeholder", "sparse_reduce_max", "sparse_reduce_max_sparse",
    "sparse_reduce_sum", "sparse_reduce_sum_sparse", "sparse_reorder", "sparse_reset_shape", "sparse_reshape",
    "sparse_retain", "sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum", "sparse_slice",
    "sparse_softmax", "sparse_split", "sparse_tensor_dense_matmul", "sparse_tensor_to_dense", "sparse_to_dense",
    "sparse_to_indicator", "sparse_transpose", "spectral", "split", "sqrt", "square", "squared_difference", "squeeze",
    "stack", "stop_gradient", "strided_slice", "string", "string_join", "string_split", "string_strip",
    "string_to_hash_bucket", "string_to_hash_bucket_fast", "string_to_hash_bucket_strong", "string_to_number",
    "strings", "substr", "subtract", "summary", "svd", "switch_case", "sysconfig", "tables_initializer", "tan", "tanh",
    "tensor_scatter_add", "tensor_scatter_nd_add", "tensor_scatter_nd_max", "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub", "tensor_scatter_nd_update", "tensor_scatter_sub", "tensor_scatter_update", "tensordot",
    "test", "tile", "timestamp", "to_bfloat16", "to_complex128", "to_complex64", "to_double", "to_float", "to_int32",
    "to_int64", "tools", "tpu", "trace", "train", "trainable_variables", "transpose", "truediv", "truncated_normal",
    "truncated_normal_initializer", "truncatediv", "truncatemod", "tuple", "uint16", "uint32", "uint64", "uint8",
    "uniform_unit_scaling_initializer", "unique", "unique_with_counts", "unravel_index", "unsorted_segment_max",
    "unsorted_segment_mean", "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n",
    "unsorted_segment_sum", "unstack", "variable_axis_size_partitioner", "variable_creator_scope", "variable_op_scope",
    "variable_scope", "variables_initializer", "variance_scaling_initializer", "variant", "verify_tensor_all_finite",
    "version", "where", "where_v2", "while_loop", "write_file", "xla", "zeros", "zeros_initializer", "zeros_like",
    "zeta",
]
