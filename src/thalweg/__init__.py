"""Thalweg: a dataflow system for machine learning, under TensorFlow 1.15's public names.

import thalweg as tf
"""

from thalweg import dtypes as dtypes
from thalweg import errors as errors
from thalweg.api import (
    bitwise as bitwise,
)
from thalweg.api import (
    debugging as debugging,
)
from thalweg.api import (
    initializers as initializers,
)
from thalweg.api import (
    io as io,
)
from thalweg.api import (
    linalg as linalg,
)
from thalweg.api import (
    math as math,
)
from thalweg.api import (
    nn as nn,
)
from thalweg.api import (
    random as random,
)
from thalweg.api import (
    test as test,
)
from thalweg.api import (
    train as train,
)
from thalweg.autodiff.custom_gradient import (
    custom_gradient as custom_gradient,
)
from thalweg.autodiff.gradients import (
    AggregationMethod as AggregationMethod,
)
from thalweg.autodiff.gradients import (
    UnconnectedGradients as UnconnectedGradients,
)
from thalweg.autodiff.gradients import (
    gradients as gradients,
)
from thalweg.autodiff.hessians import (
    hessians as hessians,
)
from thalweg.autodiff.registry import (
    RegisterGradient as RegisterGradient,
)
from thalweg.autodiff.registry import (
    no_gradient as no_gradient,
)
from thalweg.client.assign import (
    assert_variables_initialized as assert_variables_initialized,
)
from thalweg.client.assign import (
    assign as assign,
)
from thalweg.client.assign import (
    assign_add as assign_add,
)
from thalweg.client.assign import (
    assign_sub as assign_sub,
)
from thalweg.client.assign import (
    count_up_to as count_up_to,
)
from thalweg.client.assign import (
    is_variable_initialized as is_variable_initialized,
)
from thalweg.client.assign import (
    report_uninitialized_variables as report_uninitialized_variables,
)
from thalweg.client.assign import (
    scatter_add as scatter_add,
)
from thalweg.client.assign import (
    scatter_div as scatter_div,
)
from thalweg.client.assign import (
    scatter_max as scatter_max,
)
from thalweg.client.assign import (
    scatter_min as scatter_min,
)
from thalweg.client.assign import (
    scatter_mul as scatter_mul,
)
from thalweg.client.assign import (
    scatter_nd_add as scatter_nd_add,
)
from thalweg.client.assign import (
    scatter_nd_sub as scatter_nd_sub,
)
from thalweg.client.assign import (
    scatter_nd_update as scatter_nd_update,
)
from thalweg.client.assign import (
    scatter_sub as scatter_sub,
)
from thalweg.client.assign import (
    scatter_update as scatter_update,
)
from thalweg.client.clipping import (
    clip_by_average_norm as clip_by_average_norm,
)
from thalweg.client.clipping import (
    clip_by_global_norm as clip_by_global_norm,
)
from thalweg.client.clipping import (
    clip_by_norm as clip_by_norm,
)
from thalweg.client.clipping import (
    global_norm as global_norm,
)
from thalweg.client.initializers import (
    Constant as constant_initializer,
)
from thalweg.client.initializers import (
    GlorotNormal as glorot_normal_initializer,
)
from thalweg.client.initializers import (
    GlorotUniform as glorot_uniform_initializer,
)
from thalweg.client.initializers import (
    Ones as ones_initializer,
)
from thalweg.client.initializers import (
    RandomNormal as random_normal_initializer,
)
from thalweg.client.initializers import (
    RandomUniform as random_uniform_initializer,
)
from thalweg.client.initializers import (
    TruncatedNormal as truncated_normal_initializer,
)
from thalweg.client.initializers import (
    UniformUnitScaling as uniform_unit_scaling_initializer,
)
from thalweg.client.initializers import (
    VarianceScaling as variance_scaling_initializer,
)
from thalweg.client.initializers import (
    Zeros as zeros_initializer,
)
from thalweg.client.session import (
    InteractiveSession as InteractiveSession,
)
from thalweg.client.session import (
    Session as Session,
)
from thalweg.client.variable_scope import (
    AUTO_REUSE as AUTO_REUSE,
)
from thalweg.client.variable_scope import (
    VariableScope as VariableScope,
)
from thalweg.client.variable_scope import (
    get_local_variable as get_local_variable,
)
from thalweg.client.variable_scope import (
    get_variable as get_variable,
)
from thalweg.client.variable_scope import (
    get_variable_scope as get_variable_scope,
)
from thalweg.client.variable_scope import (
    no_regularizer as no_regularizer,
)
from thalweg.client.variable_scope import (
    variable_op_scope as variable_op_scope,
)
from thalweg.client.variable_scope import (
    variable_scope as variable_scope,
)
from thalweg.client.variables import (
    Variable as Variable,
)
from thalweg.client.variables import (
    VariableAggregation as VariableAggregation,
)
from thalweg.client.variables import (
    VariableSynchronization as VariableSynchronization,
)
from thalweg.client.variables import (
    all_variables as all_variables,
)
from thalweg.client.variables import (
    global_variables as global_variables,
)
from thalweg.client.variables import (
    global_variables_initializer as global_variables_initializer,
)
from thalweg.client.variables import (
    initialize_all_variables as initialize_all_variables,
)
from thalweg.client.variables import (
    initialize_local_variables as initialize_local_variables,
)
from thalweg.client.variables import (
    initialize_variables as initialize_variables,
)
from thalweg.client.variables import (
    local_variables as local_variables,
)
from thalweg.client.variables import (
    local_variables_initializer as local_variables_initializer,
)
from thalweg.client.variables import (
    model_variables as model_variables,
)
from thalweg.client.variables import (
    moving_average_variables as moving_average_variables,
)
from thalweg.client.variables import (
    trainable_variables as trainable_variables,
)
from thalweg.client.variables import (
    variable_creator_scope as variable_creator_scope,
)
from thalweg.client.variables import (
    variables_initializer as variables_initializer,
)
from thalweg.config import (
    ConfigProto as ConfigProto,
)
from thalweg.config import (
    GPUOptions as GPUOptions,
)
from thalweg.config import (
    GraphOptions as GraphOptions,
)
from thalweg.config import (
    OptimizerOptions as OptimizerOptions,
)
from thalweg.config import (
    RunMetadata as RunMetadata,
)
from thalweg.config import (
    RunOptions as RunOptions,
)
from thalweg.devices import (
    DeviceSpec as DeviceSpec,
)
from thalweg.dtypes import (
    QUANTIZED_DTYPES as QUANTIZED_DTYPES,
)
from thalweg.dtypes import (
    DType as DType,
)
from thalweg.dtypes import (
    as_dtype as as_dtype,
)
from thalweg.dtypes import (
    bfloat16 as bfloat16,
)
from thalweg.dtypes import (
    bool as bool,
)
from thalweg.dtypes import (
    complex64 as complex64,
)
from thalweg.dtypes import (
    complex128 as complex128,
)
from thalweg.dtypes import (
    double as double,
)
from thalweg.dtypes import (
    float16 as float16,
)
from thalweg.dtypes import (
    float32 as float32,
)
from thalweg.dtypes import (
    float64 as float64,
)
from thalweg.dtypes import (
    half as half,
)
from thalweg.dtypes import (
    int8 as int8,
)
from thalweg.dtypes import (
    int16 as int16,
)
from thalweg.dtypes import (
    int32 as int32,
)
from thalweg.dtypes import (
    int64 as int64,
)
from thalweg.dtypes import (
    qint8 as qint8,
)
from thalweg.dtypes import (
    qint16 as qint16,
)
from thalweg.dtypes import (
    qint32 as qint32,
)
from thalweg.dtypes import (
    quint8 as quint8,
)
from thalweg.dtypes import (
    quint16 as quint16,
)
from thalweg.dtypes import (
    resource as resource,
)
from thalweg.dtypes import (
    string as string,
)
from thalweg.dtypes import (
    uint8 as uint8,
)
from thalweg.dtypes import (
    uint16 as uint16,
)
from thalweg.dtypes import (
    uint32 as uint32,
)
from thalweg.dtypes import (
    uint64 as uint64,
)
from thalweg.dtypes import (
    variant as variant,
)
from thalweg.errors import (
    OpError as OpError,
)
from thalweg.graph.convert import (
    convert_to_tensor as convert_to_tensor,
)
from thalweg.graph.convert import (
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from thalweg.graph.default import (
    get_default_graph as get_default_graph,
)
from thalweg.graph.default import (
    get_default_session as get_default_session,
)
from thalweg.graph.default import (
    reset_default_graph as reset_default_graph,
)
from thalweg.graph.graph import (
    Graph as Graph,
)
from thalweg.graph.import_graph_def import (
    import_graph_def as import_graph_def,
)
from thalweg.graph.indexed_slices import (
    IndexedSlices as IndexedSlices,
)
from thalweg.graph.indexed_slices import (
    IndexedSlicesValue as IndexedSlicesValue,
)
from thalweg.graph.op_def import (
    OPS as OPS,
)
from thalweg.graph.op_def import (
    op as op,
)
from thalweg.graph.operation import (
    Operation as Operation,
)
from thalweg.graph.scopes import (
    GraphKeys as GraphKeys,
)
from thalweg.graph.scopes import (
    add_to_collection as add_to_collection,
)
from thalweg.graph.scopes import (
    add_to_collections as add_to_collections,
)
from thalweg.graph.scopes import (
    colocate_with as colocate_with,
)
from thalweg.graph.scopes import (
    container as container,
)
from thalweg.graph.scopes import (
    control_dependencies as control_dependencies,
)
from thalweg.graph.scopes import (
    device as device,
)
from thalweg.graph.scopes import (
    get_collection as get_collection,
)
from thalweg.graph.scopes import (
    get_collection_ref as get_collection_ref,
)
from thalweg.graph.scopes import (
    init_scope as init_scope,
)
from thalweg.graph.scopes import (
    name_scope as name_scope,
)
from thalweg.graph.seeds import (
    get_seed as get_seed,
)
from thalweg.graph.seeds import (
    set_random_seed as set_random_seed,
)
from thalweg.graph.tensor import (
    Tensor as Tensor,
)
from thalweg.graph.tensor_proto import (
    make_ndarray as make_ndarray,
)
from thalweg.kernels.registry import (
    Call as Call,
)
from thalweg.kernels.registry import (
    Input as Input,
)
from thalweg.kernels.registry import (
    kernel as kernel,
)
from thalweg.ops.array import (
    newaxis as newaxis,
)
from thalweg.ops.blocks import (
    batch_to_space as batch_to_space,
)
from thalweg.ops.blocks import (
    batch_to_space_nd as batch_to_space_nd,
)
from thalweg.ops.blocks import (
    depth_to_space as depth_to_space,
)
from thalweg.ops.blocks import (
    space_to_batch as space_to_batch,
)
from thalweg.ops.blocks import (
    space_to_batch_nd as space_to_batch_nd,
)
from thalweg.ops.blocks import (
    space_to_depth as space_to_depth,
)
from thalweg.ops.check import (
    assert_equal as assert_equal,
)
from thalweg.ops.check import (
    assert_greater as assert_greater,
)
from thalweg.ops.check import (
    assert_greater_equal as assert_greater_equal,
)
from thalweg.ops.check import (
    assert_integer as assert_integer,
)
from thalweg.ops.check import (
    assert_less as assert_less,
)
from thalweg.ops.check import (
    assert_less_equal as assert_less_equal,
)
from thalweg.ops.check import (
    assert_near as assert_near,
)
from thalweg.ops.check import (
    assert_negative as assert_negative,
)
from thalweg.ops.check import (
    assert_non_negative as assert_non_negative,
)
from thalweg.ops.check import (
    assert_non_positive as assert_non_positive,
)
from thalweg.ops.check import (
    assert_none_equal as assert_none_equal,
)
from thalweg.ops.check import (
    assert_positive as assert_positive,
)
from thalweg.ops.check import (
    assert_proper_iterable as assert_proper_iterable,
)
from thalweg.ops.check import (
    assert_rank as assert_rank,
)
from thalweg.ops.check import (
    assert_rank_at_least as assert_rank_at_least,
)
from thalweg.ops.check import (
    assert_rank_in as assert_rank_in,
)
from thalweg.ops.check import (
    assert_same_float_dtype as assert_same_float_dtype,
)
from thalweg.ops.check import (
    assert_scalar as assert_scalar,
)
from thalweg.ops.check import (
    assert_type as assert_type,
)
from thalweg.ops.check import (
    is_non_decreasing as is_non_decreasing,
)
from thalweg.ops.check import (
    is_numeric_tensor as is_numeric_tensor,
)
from thalweg.ops.check import (
    is_strictly_increasing as is_strictly_increasing,
)
from thalweg.ops.comparison import (
    equal as equal,
)
from thalweg.ops.comparison import (
    greater as greater,
)
from thalweg.ops.comparison import (
    greater_equal as greater_equal,
)
from thalweg.ops.comparison import (
    is_finite as is_finite,
)
from thalweg.ops.comparison import (
    is_inf as is_inf,
)
from thalweg.ops.comparison import (
    is_nan as is_nan,
)
from thalweg.ops.comparison import (
    less as less,
)
from thalweg.ops.comparison import (
    less_equal as less_equal,
)
from thalweg.ops.comparison import (
    logical_and as logical_and,
)
from thalweg.ops.comparison import (
    logical_not as logical_not,
)
from thalweg.ops.comparison import (
    logical_or as logical_or,
)
from thalweg.ops.comparison import (
    logical_xor as logical_xor,
)
from thalweg.ops.comparison import (
    not_equal as not_equal,
)
from thalweg.ops.constants import (
    constant as constant,
)
from thalweg.ops.constants import (
    fill as fill,
)
from thalweg.ops.constants import (
    no_op as no_op,
)
from thalweg.ops.constants import (
    placeholder as placeholder,
)
from thalweg.ops.constants import (
    placeholder_with_default as placeholder_with_default,
)
from thalweg.ops.control import (
    group as group,
)
from thalweg.ops.control import (
    tuple as tuple,
)
from thalweg.ops.diagonal import (
    diag as diag,
)
from thalweg.ops.diagonal import (
    diag_part as diag_part,
)
from thalweg.ops.diagonal import (
    eye as eye,
)
from thalweg.ops.diagonal import (
    matrix_band_part as matrix_band_part,
)
from thalweg.ops.diagonal import (
    matrix_diag as matrix_diag,
)
from thalweg.ops.diagonal import (
    matrix_diag_part as matrix_diag_part,
)
from thalweg.ops.diagonal import (
    matrix_set_diag as matrix_set_diag,
)
from thalweg.ops.extending import (
    broadcast_dynamic_shape as broadcast_dynamic_shape,
)
from thalweg.ops.extending import (
    broadcast_static_shape as broadcast_static_shape,
)
from thalweg.ops.extending import (
    broadcast_to as broadcast_to,
)
from thalweg.ops.extending import (
    meshgrid as meshgrid,
)
from thalweg.ops.extending import (
    pad as pad,
)
from thalweg.ops.extending import (
    repeat as repeat,
)
from thalweg.ops.extending import (
    reverse as reverse,
)
from thalweg.ops.extending import (
    reverse_sequence as reverse_sequence,
)
from thalweg.ops.extending import (
    reverse_v2 as reverse_v2,
)
from thalweg.ops.extending import (
    roll as roll,
)
from thalweg.ops.extending import (
    tile as tile,
)
from thalweg.ops.gathering import (
    batch_gather as batch_gather,
)
from thalweg.ops.gathering import (
    boolean_mask as boolean_mask,
)
from thalweg.ops.gathering import (
    dynamic_partition as dynamic_partition,
)
from thalweg.ops.gathering import (
    dynamic_stitch as dynamic_stitch,
)
from thalweg.ops.gathering import (
    gather as gather,
)
from thalweg.ops.gathering import (
    gather_nd as gather_nd,
)
from thalweg.ops.gathering import (
    scatter_nd as scatter_nd,
)
from thalweg.ops.gathering import (
    tensor_scatter_add as tensor_scatter_add,
)
from thalweg.ops.gathering import (
    tensor_scatter_nd_add as tensor_scatter_nd_add,
)
from thalweg.ops.gathering import (
    tensor_scatter_nd_sub as tensor_scatter_nd_sub,
)
from thalweg.ops.gathering import (
    tensor_scatter_nd_update as tensor_scatter_nd_update,
)
from thalweg.ops.gathering import (
    tensor_scatter_sub as tensor_scatter_sub,
)
from thalweg.ops.gathering import (
    tensor_scatter_update as tensor_scatter_update,
)
from thalweg.ops.identity import (
    bitcast as bitcast,
)
from thalweg.ops.identity import (
    ensure_shape as ensure_shape,
)
from thalweg.ops.identity import (
    guarantee_const as guarantee_const,
)
from thalweg.ops.identity import (
    identity as identity,
)
from thalweg.ops.identity import (
    identity_n as identity_n,
)
from thalweg.ops.identity import (
    stop_gradient as stop_gradient,
)
from thalweg.ops.joining import (
    concat as concat,
)
from thalweg.ops.joining import (
    parallel_stack as parallel_stack,
)
from thalweg.ops.joining import (
    split as split,
)
from thalweg.ops.joining import (
    stack as stack,
)
from thalweg.ops.joining import (
    unstack as unstack,
)
from thalweg.ops.math import (
    abs as abs,
)
from thalweg.ops.math import (
    accumulate_n as accumulate_n,
)
from thalweg.ops.math import (
    acos as acos,
)
from thalweg.ops.math import (
    acosh as acosh,
)
from thalweg.ops.math import (
    add as add,
)
from thalweg.ops.math import (
    add_n as add_n,
)
from thalweg.ops.math import (
    angle as angle,
)
from thalweg.ops.math import (
    asin as asin,
)
from thalweg.ops.math import (
    asinh as asinh,
)
from thalweg.ops.math import (
    atan as atan,
)
from thalweg.ops.math import (
    atan2 as atan2,
)
from thalweg.ops.math import (
    atanh as atanh,
)
from thalweg.ops.math import (
    cast as cast,
)
from thalweg.ops.math import (
    ceil as ceil,
)
from thalweg.ops.math import (
    clip_by_value as clip_by_value,
)
from thalweg.ops.math import (
    complex as complex,
)
from thalweg.ops.math import (
    conj as conj,
)
from thalweg.ops.math import (
    cos as cos,
)
from thalweg.ops.math import (
    cosh as cosh,
)
from thalweg.ops.math import (
    div as div,
)
from thalweg.ops.math import (
    div_no_nan as div_no_nan,
)
from thalweg.ops.math import (
    divide as divide,
)
from thalweg.ops.math import (
    exp as exp,
)
from thalweg.ops.math import (
    expm1 as expm1,
)
from thalweg.ops.math import (
    floor as floor,
)
from thalweg.ops.math import (
    floor_div as floor_div,
)
from thalweg.ops.math import (
    floordiv as floordiv,
)
from thalweg.ops.math import (
    floormod as floormod,
)
from thalweg.ops.math import (
    floormod as mod,
)
from thalweg.ops.math import (
    imag as imag,
)
from thalweg.ops.math import (
    log as log,
)
from thalweg.ops.math import (
    log1p as log1p,
)
from thalweg.ops.math import (
    log_sigmoid as log_sigmoid,
)
from thalweg.ops.math import (
    maximum as maximum,
)
from thalweg.ops.math import (
    minimum as minimum,
)
from thalweg.ops.math import (
    multiply as multiply,
)
from thalweg.ops.math import (
    negative as negative,
)
from thalweg.ops.math import (
    pow as pow,
)
from thalweg.ops.math import (
    real as real,
)
from thalweg.ops.math import (
    realdiv as realdiv,
)
from thalweg.ops.math import (
    reciprocal as reciprocal,
)
from thalweg.ops.math import (
    rint as rint,
)
from thalweg.ops.math import (
    round as round,
)
from thalweg.ops.math import (
    rsqrt as rsqrt,
)
from thalweg.ops.math import (
    saturate_cast as saturate_cast,
)
from thalweg.ops.math import (
    scalar_mul as scalar_mul,
)
from thalweg.ops.math import (
    sigmoid as sigmoid,
)
from thalweg.ops.math import (
    sign as sign,
)
from thalweg.ops.math import (
    sin as sin,
)
from thalweg.ops.math import (
    sinh as sinh,
)
from thalweg.ops.math import (
    sqrt as sqrt,
)
from thalweg.ops.math import (
    square as square,
)
from thalweg.ops.math import (
    squared_difference as squared_difference,
)
from thalweg.ops.math import (
    subtract as subtract,
)
from thalweg.ops.math import (
    tan as tan,
)
from thalweg.ops.math import (
    tanh as tanh,
)
from thalweg.ops.math import (
    to_bfloat16 as to_bfloat16,
)
from thalweg.ops.math import (
    to_complex64 as to_complex64,
)
from thalweg.ops.math import (
    to_complex128 as to_complex128,
)
from thalweg.ops.math import (
    to_double as to_double,
)
from thalweg.ops.math import (
    to_float as to_float,
)
from thalweg.ops.math import (
    to_int32 as to_int32,
)
from thalweg.ops.math import (
    to_int64 as to_int64,
)
from thalweg.ops.math import (
    truediv as truediv,
)
from thalweg.ops.math import (
    truncatediv as truncatediv,
)
from thalweg.ops.math import (
    truncatemod as truncatemod,
)
from thalweg.ops.matrix import (
    matmul as matmul,
)
from thalweg.ops.numerics import (
    add_check_numerics_ops as add_check_numerics_ops,
)
from thalweg.ops.numerics import (
    check_numerics as check_numerics,
)
from thalweg.ops.numerics import (
    verify_tensor_all_finite as verify_tensor_all_finite,
)
from thalweg.ops.printing import (
    Assert as Assert,
)
from thalweg.ops.printing import (
    Print as Print,
)
from thalweg.ops.printing import (
    print as print,
)
from thalweg.ops.random import (
    multinomial as multinomial,
)
from thalweg.ops.random import (
    random_crop as random_crop,
)
from thalweg.ops.random import (
    random_gamma as random_gamma,
)
from thalweg.ops.random import (
    random_normal as random_normal,
)
from thalweg.ops.random import (
    random_poisson as random_poisson,
)
from thalweg.ops.random import (
    random_shuffle as random_shuffle,
)
from thalweg.ops.random import (
    random_uniform as random_uniform,
)
from thalweg.ops.random import (
    truncated_normal as truncated_normal,
)
from thalweg.ops.reduction import (
    arg_max as arg_max,
)
from thalweg.ops.reduction import (
    arg_min as arg_min,
)
from thalweg.ops.reduction import (
    argmax as argmax,
)
from thalweg.ops.reduction import (
    argmin as argmin,
)
from thalweg.ops.reduction import (
    cumprod as cumprod,
)
from thalweg.ops.reduction import (
    cumsum as cumsum,
)
from thalweg.ops.reduction import (
    reduce_all as reduce_all,
)
from thalweg.ops.reduction import (
    reduce_any as reduce_any,
)
from thalweg.ops.reduction import (
    reduce_max as reduce_max,
)
from thalweg.ops.reduction import (
    reduce_mean as reduce_mean,
)
from thalweg.ops.reduction import (
    reduce_min as reduce_min,
)
from thalweg.ops.reduction import (
    reduce_prod as reduce_prod,
)
from thalweg.ops.reduction import (
    reduce_sum as reduce_sum,
)
from thalweg.ops.script import (
    numpy_function as numpy_function,
)
from thalweg.ops.script import (
    py_func as py_func,
)
from thalweg.ops.segment import (
    segment_max as segment_max,
)
from thalweg.ops.segment import (
    segment_mean as segment_mean,
)
from thalweg.ops.segment import (
    segment_min as segment_min,
)
from thalweg.ops.segment import (
    segment_prod as segment_prod,
)
from thalweg.ops.segment import (
    segment_sum as segment_sum,
)
from thalweg.ops.segment import (
    unsorted_segment_max as unsorted_segment_max,
)
from thalweg.ops.segment import (
    unsorted_segment_mean as unsorted_segment_mean,
)
from thalweg.ops.segment import (
    unsorted_segment_min as unsorted_segment_min,
)
from thalweg.ops.segment import (
    unsorted_segment_prod as unsorted_segment_prod,
)
from thalweg.ops.segment import (
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
)
from thalweg.ops.segments import (
    unsorted_segment_sum as unsorted_segment_sum,
)
from thalweg.ops.selecting import (
    one_hot as one_hot,
)
from thalweg.ops.selecting import (
    sequence_mask as sequence_mask,
)
from thalweg.ops.selecting import (
    setdiff1d as setdiff1d,
)
from thalweg.ops.selecting import (
    unique as unique,
)
from thalweg.ops.selecting import (
    unique_with_counts as unique_with_counts,
)
from thalweg.ops.selecting import (
    where as where,
)
from thalweg.ops.selecting import (
    where_v2 as where_v2,
)
from thalweg.ops.sequences import (
    lin_space as lin_space,
)
from thalweg.ops.sequences import (
    linspace as linspace,
)
from thalweg.ops.sequences import (
    range as range,
)
from thalweg.ops.shaping import (
    expand_dims as expand_dims,
)
from thalweg.ops.shaping import (
    invert_permutation as invert_permutation,
)
from thalweg.ops.shaping import (
    matrix_transpose as matrix_transpose,
)
from thalweg.ops.shaping import (
    ones as ones,
)
from thalweg.ops.shaping import (
    ones_like as ones_like,
)
from thalweg.ops.shaping import (
    rank as rank,
)
from thalweg.ops.shaping import (
    reshape as reshape,
)
from thalweg.ops.shaping import (
    shape as shape,
)
from thalweg.ops.shaping import (
    shape_n as shape_n,
)
from thalweg.ops.shaping import (
    size as size,
)
from thalweg.ops.shaping import (
    squeeze as squeeze,
)
from thalweg.ops.shaping import (
    transpose as transpose,
)
from thalweg.ops.shaping import (
    zeros as zeros,
)
from thalweg.ops.shaping import (
    zeros_like as zeros_like,
)
from thalweg.ops.slicing import (
    slice as slice,
)
from thalweg.ops.slicing import (
    strided_slice as strided_slice,
)
from thalweg.ops.special import (
    betainc as betainc,
)
from thalweg.ops.special import (
    digamma as digamma,
)
from thalweg.ops.special import (
    erf as erf,
)
from thalweg.ops.special import (
    erfc as erfc,
)
from thalweg.ops.special import (
    igamma as igamma,
)
from thalweg.ops.special import (
    igammac as igammac,
)
from thalweg.ops.special import (
    lbeta as lbeta,
)
from thalweg.ops.special import (
    lgamma as lgamma,
)
from thalweg.ops.special import (
    polygamma as polygamma,
)
from thalweg.ops.special import (
    zeta as zeta,
)
from thalweg.ops.statistics import (
    count_nonzero as count_nonzero,
)
from thalweg.ops.statistics import (
    norm as norm,
)
from thalweg.ops.statistics import (
    reduce_logsumexp as reduce_logsumexp,
)
from thalweg.ops.tensor_proto import (
    make_tensor_proto as make_tensor_proto,
)
from thalweg.shapes import (
    Dimension as Dimension,
)
from thalweg.shapes import (
    TensorShape as TensorShape,
)
from thalweg.shapes import (
    dimension_at_index as dimension_at_index,
)
from thalweg.shapes import (
    dimension_value as dimension_value,
)

__version__ = "0.1.0"
