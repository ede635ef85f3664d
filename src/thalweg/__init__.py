"""Thalweg: a dataflow system for machine learning, under TensorFlow 1.15's public names: `import thalweg as tf`."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from thalweg._src import dtypes as dtypes, errors as errors
from thalweg._src.api import home as _home, initializers as initializers
from thalweg._src.autodiff.custom_gradient import custom_gradient as custom_gradient
from thalweg._src.autodiff.gradients import (
    AggregationMethod as AggregationMethod,
    UnconnectedGradients as UnconnectedGradients,
    gradients as gradients,
)
from thalweg._src.autodiff.hessians import hessians as hessians
from thalweg._src.autodiff.registry import RegisterGradient as RegisterGradient, no_gradient as no_gradient
from thalweg._src.compat.logging import get_logger as get_logger
from thalweg._src.compat.version_switches import (
    control_flow_v2_enabled as control_flow_v2_enabled,
    disable_control_flow_v2 as disable_control_flow_v2,
    disable_eager_execution as disable_eager_execution,
    disable_resource_variables as disable_resource_variables,
    disable_tensor_equality as disable_tensor_equality,
    disable_v2_behavior as disable_v2_behavior,
    disable_v2_tensorshape as disable_v2_tensorshape,
    enable_control_flow_v2 as enable_control_flow_v2,
    enable_resource_variables as enable_resource_variables,
    executing_eagerly as executing_eagerly,
    executing_eagerly_outside_functions as executing_eagerly_outside_functions,
    is_tensor as is_tensor,
    resource_variables_enabled as resource_variables_enabled,
)
from thalweg._src.compat.versions import (
    COMPILER_VERSION as COMPILER_VERSION,
    CXX11_ABI_FLAG as CXX11_ABI_FLAG,
    CXX_VERSION as CXX_VERSION,
    GIT_VERSION as GIT_VERSION,
    GRAPH_DEF_VERSION as GRAPH_DEF_VERSION,
    GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER,
    GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER,
    MONOLITHIC_BUILD as MONOLITHIC_BUILD,
    VERSION as VERSION,
)
from thalweg._src.config import (
    ConfigProto as ConfigProto,
    GPUOptions as GPUOptions,
    GraphOptions as GraphOptions,
    OptimizerOptions as OptimizerOptions,
    RunMetadata as RunMetadata,
    RunOptions as RunOptions,
)
from thalweg._src.control_flow.cond import case as case, cond as cond, switch_case as switch_case
from thalweg._src.control_flow.functional import foldl as foldl, foldr as foldr, map_fn as map_fn, scan as scan
from thalweg._src.control_flow.tensor_array import TensorArray as TensorArray
from thalweg._src.control_flow.while_loop import while_loop as while_loop
from thalweg._src.data.optional import OptionalSpec as OptionalSpec
from thalweg._src.data.structure import SparseTensorSpec as SparseTensorSpec, Spec as _Spec, TensorSpec as TensorSpec
from thalweg._src.devices import DeviceSpec as DeviceSpec
from thalweg._src.dtypes import (
    QUANTIZED_DTYPES as QUANTIZED_DTYPES,
    DType as DType,
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool as bool,
    complex64 as complex64,
    complex128 as complex128,
    double as double,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    half as half,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    qint8 as qint8,
    qint16 as qint16,
    qint32 as qint32,
    quint8 as quint8,
    quint16 as quint16,
    resource as resource,
    string as string,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    variant as variant,
)
from thalweg._src.errors import OpError as OpError
from thalweg._src.graph.convert import (
    convert_to_tensor as convert_to_tensor,
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from thalweg._src.graph.default import (
    get_default_graph as get_default_graph,
    get_default_session as get_default_session,
    reset_default_graph as reset_default_graph,
)
from thalweg._src.graph.graph import Graph as Graph
from thalweg._src.graph.graphdef import MESSAGES as _MESSAGES, message_type as _message_type
from thalweg._src.graph.import_graph_def import import_graph_def as import_graph_def
from thalweg._src.graph.indexed_slices import IndexedSlices as IndexedSlices, IndexedSlicesValue as IndexedSlicesValue
from thalweg._src.graph.op_def import OPS as OPS, op as op
from thalweg._src.graph.operation import Operation as Operation
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
from thalweg._src.graph.seeds import get_seed as get_seed, set_random_seed as set_random_seed
from thalweg._src.graph.sparse_tensor import (
    SparseTensor as SparseTensor,
    SparseTensorValue as SparseTensorValue,
    convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices,
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
)
from thalweg._src.graph.tensor import Tensor as Tensor
from thalweg._src.graph.tensor_proto import make_ndarray as make_ndarray
from thalweg._src.input.accumulators import (
    ConditionalAccumulator as ConditionalAccumulator,
    ConditionalAccumulatorBase as ConditionalAccumulatorBase,
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)
from thalweg._src.input.features import (
    FixedLenFeature as FixedLenFeature,
    FixedLenSequenceFeature as FixedLenSequenceFeature,
    SparseFeature as SparseFeature,
    VarLenFeature as VarLenFeature,
    parse_example as parse_example,
    parse_single_example as parse_single_example,
    parse_single_sequence_example as parse_single_sequence_example,
)
from thalweg._src.input.queues import (
    FIFOQueue as FIFOQueue,
    PaddingFIFOQueue as PaddingFIFOQueue,
    PriorityQueue as PriorityQueue,
    QueueBase as QueueBase,
    RandomShuffleQueue as RandomShuffleQueue,
)
from thalweg._src.input.readers import (
    FixedLengthRecordReader as FixedLengthRecordReader,
    IdentityReader as IdentityReader,
    ReaderBase as ReaderBase,
    TextLineReader as TextLineReader,
    TFRecordReader as TFRecordReader,
    WholeFileReader as WholeFileReader,
)
from thalweg._src.kernels.registry import Call as Call, Input as Input, kernel as kernel
from thalweg._src.nn.lookup import (
    initialize_all_tables as initialize_all_tables,
    tables_initializer as tables_initializer,
)
from thalweg._src.nn.module import Module as Module
from thalweg._src.nn.space_to_batch import (
    conv2d_backprop_filter_v2 as conv2d_backprop_filter_v2,
    conv2d_backprop_input_v2 as conv2d_backprop_input_v2,
    required_space_to_batch_paddings as required_space_to_batch_paddings,
)
from thalweg._src.nn.statistics import (
    count_nonzero as count_nonzero,
    norm as norm,
    reduce_logsumexp as reduce_logsumexp,
)
from thalweg._src.ops.bincount import (
    bincount as bincount,
    confusion_matrix as confusion_matrix,
    histogram_fixed_width as histogram_fixed_width,
    histogram_fixed_width_bins as histogram_fixed_width_bins,
)
from thalweg._src.ops.check import (
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
from thalweg._src.ops.comparison import (
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    not_equal as not_equal,
)
from thalweg._src.ops.concat import (
    concat as concat,
    parallel_stack as parallel_stack,
    split as split,
    stack as stack,
    unstack as unstack,
)
from thalweg._src.ops.constants import (
    constant as constant,
    fill as fill,
    no_op as no_op,
    placeholder as placeholder,
    placeholder_with_default as placeholder_with_default,
)
from thalweg._src.ops.contraction import (
    cross as cross,
    einsum as einsum,
    sparse_matmul as sparse_matmul,
    tensordot as tensordot,
    trace as trace,
)
from thalweg._src.ops.control import group as group, tuple as tuple
from thalweg._src.ops.decoding import (
    as_string as as_string,
    decode_base64 as decode_base64,
    decode_compressed as decode_compressed,
    decode_csv as decode_csv,
    decode_raw as decode_raw,
    encode_base64 as encode_base64,
    string_to_number as string_to_number,
)
from thalweg._src.ops.decompositions import (
    cholesky as cholesky,
    qr as qr,
    self_adjoint_eig as self_adjoint_eig,
    self_adjoint_eigvals as self_adjoint_eigvals,
    svd as svd,
)
from thalweg._src.ops.diagonal import (
    diag as diag,
    diag_part as diag_part,
    eye as eye,
    matrix_band_part as matrix_band_part,
    matrix_diag as matrix_diag,
    matrix_diag_part as matrix_diag_part,
    matrix_set_diag as matrix_set_diag,
)
from thalweg._src.ops.edit_distance import edit_distance as edit_distance
from thalweg._src.ops.fake_quantization import (
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
from thalweg._src.ops.files import (
    matching_files as matching_files,
    read_file as read_file,
    timestamp as timestamp,
    write_file as write_file,
)
from thalweg._src.ops.gather import (
    batch_gather as batch_gather,
    boolean_mask as boolean_mask,
    dynamic_partition as dynamic_partition,
    dynamic_stitch as dynamic_stitch,
    gather as gather,
    gather_nd as gather_nd,
    scatter_nd as scatter_nd,
    tensor_scatter_add as tensor_scatter_add,
    tensor_scatter_nd_add as tensor_scatter_nd_add,
    tensor_scatter_nd_max as tensor_scatter_nd_max,
    tensor_scatter_nd_min as tensor_scatter_nd_min,
    tensor_scatter_nd_sub as tensor_scatter_nd_sub,
    tensor_scatter_nd_update as tensor_scatter_nd_update,
    tensor_scatter_sub as tensor_scatter_sub,
    tensor_scatter_update as tensor_scatter_update,
    unravel_index as unravel_index,
)
from thalweg._src.ops.hashing import (
    fingerprint as fingerprint,
    string_to_hash_bucket as string_to_hash_bucket,
    string_to_hash_bucket_fast as string_to_hash_bucket_fast,
    string_to_hash_bucket_strong as string_to_hash_bucket_strong,
)
from thalweg._src.ops.identity import (
    bitcast as bitcast,
    ensure_shape as ensure_shape,
    guarantee_const as guarantee_const,
    identity as identity,
    identity_n as identity_n,
    stop_gradient as stop_gradient,
)
from thalweg._src.ops.linalg import (
    cholesky_solve as cholesky_solve,
    matrix_determinant as matrix_determinant,
    matrix_inverse as matrix_inverse,
    matrix_solve as matrix_solve,
    matrix_solve_ls as matrix_solve_ls,
    matrix_square_root as matrix_square_root,
    matrix_triangular_solve as matrix_triangular_solve,
)
from thalweg._src.ops.math import (
    abs as abs,
    accumulate_n as accumulate_n,
    acos as acos,
    acosh as acosh,
    add as add,
    add_n as add_n,
    angle as angle,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    cast as cast,
    ceil as ceil,
    clip_by_value as clip_by_value,
    complex as complex,
    conj as conj,
    cos as cos,
    cosh as cosh,
    div as div,
    div_no_nan as div_no_nan,
    divide as divide,
    exp as exp,
    expm1 as expm1,
    floor as floor,
    floor_div as floor_div,
    floordiv as floordiv,
    floormod as floormod,
    imag as imag,
    log as log,
    log1p as log1p,
    log_sigmoid as log_sigmoid,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    negative as negative,
    pow as pow,
    real as real,
    realdiv as realdiv,
    reciprocal as reciprocal,
    rint as rint,
    round as round,
    rsqrt as rsqrt,
    saturate_cast as saturate_cast,
    scalar_mul as scalar_mul,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    squared_difference as squared_difference,
    subtract as subtract,
    tan as tan,
    tanh as tanh,
    to_bfloat16 as to_bfloat16,
    to_complex64 as to_complex64,
    to_complex128 as to_complex128,
    to_double as to_double,
    to_float as to_float,
    to_int32 as to_int32,
    to_int64 as to_int64,
    truediv as truediv,
    truncatediv as truncatediv,
    truncatemod as truncatemod,
)
from thalweg._src.ops.matrix import matmul as matmul
from thalweg._src.ops.numerics import (
    add_check_numerics_ops as add_check_numerics_ops,
    check_numerics as check_numerics,
    verify_tensor_all_finite as verify_tensor_all_finite,
)
from thalweg._src.ops.pad_tile import (
    broadcast_dynamic_shape as broadcast_dynamic_shape,
    broadcast_static_shape as broadcast_static_shape,
    broadcast_to as broadcast_to,
    meshgrid as meshgrid,
    pad as pad,
    repeat as repeat,
    reverse as reverse,
    reverse_sequence as reverse_sequence,
    reverse_v2 as reverse_v2,
    roll as roll,
    tile as tile,
)
from thalweg._src.ops.parsing import (
    decode_json_example as decode_json_example,
    parse_tensor as parse_tensor,
    serialize_tensor as serialize_tensor,
)
from thalweg._src.ops.patches import (
    extract_image_patches as extract_image_patches,
    extract_volume_patches as extract_volume_patches,
)
from thalweg._src.ops.printing import Assert as Assert, Print as Print, print as print
from thalweg._src.ops.py_func import numpy_function as numpy_function, py_func as py_func
from thalweg._src.ops.quantization import dequantize as dequantize, quantize as quantize, quantize_v2 as quantize_v2
from thalweg._src.ops.quantized import quantized_concat as quantized_concat
from thalweg._src.ops.random import (
    multinomial as multinomial,
    random_crop as random_crop,
    random_gamma as random_gamma,
    random_normal as random_normal,
    random_poisson as random_poisson,
    random_shuffle as random_shuffle,
    random_uniform as random_uniform,
    truncated_normal as truncated_normal,
)
from thalweg._src.ops.reduction import (
    arg_max as arg_max,
    arg_min as arg_min,
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
from thalweg._src.ops.reshape import (
    constant_value as _constant_value,
    expand_dims as expand_dims,
    invert_permutation as invert_permutation,
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
from thalweg._src.ops.segment import (
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
    unsorted_segment_max as unsorted_segment_max,
    unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_min as unsorted_segment_min,
    unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
    unsorted_segment_sum as unsorted_segment_sum,
)
from thalweg._src.ops.sequences import lin_space as lin_space, linspace as linspace, range as range
from thalweg._src.ops.slicing import newaxis as newaxis, slice as slice, strided_slice as strided_slice
from thalweg._src.ops.sorting import (
    approx_top_k as approx_top_k,
    argsort as argsort,
    searchsorted as searchsorted,
    sort as sort,
)
from thalweg._src.ops.space_to_depth import (
    batch_to_space as batch_to_space,
    batch_to_space_nd as batch_to_space_nd,
    depth_to_space as depth_to_space,
    space_to_batch as space_to_batch,
    space_to_batch_nd as space_to_batch_nd,
    space_to_depth as space_to_depth,
)
from thalweg._src.ops.sparse import (
    sparse_mask as sparse_mask,
    sparse_merge as sparse_merge,
    sparse_placeholder as sparse_placeholder,
    sparse_reset_shape as sparse_reset_shape,
    sparse_retain as sparse_retain,
    sparse_tensor_to_dense as sparse_tensor_to_dense,
    sparse_to_dense as sparse_to_dense,
    sparse_to_indicator as sparse_to_indicator,
)
from thalweg._src.ops.sparse_math import (
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
from thalweg._src.ops.sparse_rows import sparse_fill_empty_rows as sparse_fill_empty_rows
from thalweg._src.ops.sparse_segments import (
    sparse_segment_mean as sparse_segment_mean,
    sparse_segment_sqrt_n as sparse_segment_sqrt_n,
    sparse_segment_sum as sparse_segment_sum,
)
from thalweg._src.ops.sparse_serial import (
    deserialize_many_sparse as deserialize_many_sparse,
    serialize_many_sparse as serialize_many_sparse,
    serialize_sparse as serialize_sparse,
)
from thalweg._src.ops.sparse_shaping import (
    sparse_concat as sparse_concat,
    sparse_reorder as sparse_reorder,
    sparse_reshape as sparse_reshape,
    sparse_slice as sparse_slice,
    sparse_split as sparse_split,
    sparse_transpose as sparse_transpose,
)
from thalweg._src.ops.special import (
    betainc as betainc,
    digamma as digamma,
    erf as erf,
    erfc as erfc,
    igamma as igamma,
    igammac as igammac,
    lbeta as lbeta,
    lgamma as lgamma,
    polygamma as polygamma,
    zeta as zeta,
)
from thalweg._src.ops.spectral import (
    fft as fft,
    fft2d as fft2d,
    fft3d as fft3d,
    ifft as ifft,
    ifft2d as ifft2d,
    ifft3d as ifft3d,
)
from thalweg._src.ops.strings import (
    reduce_join as reduce_join,
    regex_replace as regex_replace,
    string_join as string_join,
    string_split as string_split,
    string_strip as string_strip,
    substr as substr,
)
from thalweg._src.ops.tensor_proto import make_tensor_proto as make_tensor_proto
from thalweg._src.ops.where import (
    one_hot as one_hot,
    sequence_mask as sequence_mask,
    setdiff1d as setdiff1d,
    unique as unique,
    unique_with_counts as unique_with_counts,
    where as where,
    where_v2 as where_v2,
)
from thalweg._src.optimizers.clipping import (
    clip_by_average_norm as clip_by_average_norm,
    clip_by_global_norm as clip_by_global_norm,
    clip_by_norm as clip_by_norm,
    global_norm as global_norm,
)
from thalweg._src.place.placers import placer as placer, register_placer as register_placer
from thalweg._src.session.critical_section import CriticalSection as CriticalSection
from thalweg._src.session.py_function import py_function as py_function
from thalweg._src.session.session import InteractiveSession as InteractiveSession, Session as Session
from thalweg._src.shapes import (
    Dimension as Dimension,
    TensorShape as TensorShape,
    dimension_at_index as dimension_at_index,
    dimension_value as dimension_value,
)
from thalweg._src.variables.assign import (
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
from thalweg._src.variables.custom_gradients import (
    grad_pass_through as grad_pass_through,
    recompute_grad as recompute_grad,
)
from thalweg._src.variables.partitioners import (
    create_partitioned_variables as create_partitioned_variables,
    fixed_size_partitioner as fixed_size_partitioner,
    min_max_variable_partitioner as min_max_variable_partitioner,
    variable_axis_size_partitioner as variable_axis_size_partitioner,
)
from thalweg._src.variables.templates import make_template as make_template
from thalweg._src.variables.variable_scope import (
    AUTO_REUSE as AUTO_REUSE,
    VariableScope as VariableScope,
    get_local_variable as get_local_variable,
    get_variable as get_variable,
    get_variable_scope as get_variable_scope,
    no_regularizer as no_regularizer,
    variable_op_scope as variable_op_scope,
    variable_scope as variable_scope,
)
from thalweg._src.variables.variables import (
    Variable as Variable,
    VariableAggregation as VariableAggregation,
    VariableSynchronization as VariableSynchronization,
    all_variables as all_variables,
    global_variables as global_variables,
    global_variables_initializer as global_variables_initializer,
    initialize_all_variables as initialize_all_variables,
    initialize_local_variables as initialize_local_variables,
    initialize_variables as initialize_variables,
    local_variables as local_variables,
    local_variables_initializer as local_variables_initializer,
    model_variables as model_variables,
    moving_average_variables as moving_average_variables,
    trainable_variables as trainable_variables,
    variable_creator_scope as variable_creator_scope,
    variables_initializer as variables_initializer,
)

__version__ = VERSION

TypeSpec = _Spec
NoGradient = no_gradient
NotDifferentiable = no_gradient
constant_initializer = initializers.constant
glorot_normal_initializer = initializers.glorot_normal
glorot_uniform_initializer = initializers.glorot_uniform
get_static_value = _constant_value
mod = floormod
ones_initializer = initializers.ones
orthogonal_initializer = initializers.orthogonal
random_normal_initializer = initializers.random_normal
random_uniform_initializer = initializers.random_uniform
truncated_normal_initializer = initializers.truncated_normal
uniform_unit_scaling_initializer = initializers.uniform_unit_scaling
variance_scaling_initializer = initializers.variance_scaling
zeros_initializer = initializers.zeros


if TYPE_CHECKING:
    from thalweg._src.api import (
        app as app,
        audio as audio,
        bitwise as bitwise,
        compat as compat,
        debugging as debugging,
        flags as flags,
        gfile as gfile,
        graph_util as graph_util,
        image as image,
        io as io,
        layers as layers,
        linalg as linalg,
        logging as logging,
        lookup as lookup,
        losses as losses,
        manip as manip,
        math as math,
        metrics as metrics,
        nest as nest,
        nn as nn,
        quantization as quantization,
        random as random,
        resource_loader as resource_loader,
        sets as sets,
        sparse as sparse,
        strings as strings,
        sysconfig as sysconfig,
        test as test,
        train as train,
        version as version,
    )


def __getattr__(name: str) -> Any:
    """Returns what is loaded when it is asked for: the namespaces, and the messages that need protobuf."""
    if _home(name) is not None:
        return _import_module(f"thalweg.{name}")
    if name in _MESSAGES:
        return _message_type(name)
    raise AttributeError(f"module 'thalweg' has no attribute {name!r}")
