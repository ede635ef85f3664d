"""tf.math: Mathematical functions, element-wise and reducing."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.compat.gen_ops import (
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    betainc as betainc,
    ceil as ceil,
    cos as cos,
    cosh as cosh,
    digamma as digamma,
    erf as erf,
    erfc as erfc,
    erfinv as erfinv,
    exp as exp,
    expm1 as expm1,
    floor as floor,
    floormod as floormod,
    floormod as mod,
    greater as greater,
    greater_equal as greater_equal,
    igamma as igamma,
    igammac as igammac,
    invert_permutation as invert_permutation,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    less as less,
    less_equal as less_equal,
    lgamma as lgamma,
    log as log,
    log1p as log1p,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    maximum as maximum,
    minimum as minimum,
    ndtri as ndtri,
    negative as negative,
    nextafter as nextafter,
    polygamma as polygamma,
    pow as pow,
    reciprocal as reciprocal,
    rint as rint,
    rsqrt as rsqrt,
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    softplus as softplus,
    softsign as softsign,
    sqrt as sqrt,
    square as square,
    squared_difference as squared_difference,
    tan as tan,
    tanh as tanh,
    unsorted_segment_max as unsorted_segment_max,
    unsorted_segment_min as unsorted_segment_min,
    unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sum as unsorted_segment_sum,
    xdivy as xdivy,
    xlog1py as xlog1py,
    xlogy as xlogy,
    zeta as zeta,
)
from thalweg._src.graph.ops.bessel import (
    erfcinv as erfcinv,
    sobol_sample as sobol_sample,
)
from thalweg._src.graph.ops.bincount import (
    bincount as bincount,
    confusion_matrix as confusion_matrix,
)
from thalweg._src.graph.ops.check import (
    is_non_decreasing as is_non_decreasing,
    is_strictly_increasing as is_strictly_increasing,
)
from thalweg._src.graph.ops.comparison import (
    equal as equal,
    logical_xor as logical_xor,
    not_equal as not_equal,
)
from thalweg._src.graph.ops.math import (
    abs as abs,
    accumulate_n as accumulate_n,
    add as add,
    add_n as add_n,
    angle as angle,
    conj as conj,
    div_no_nan as divide_no_nan,
    divide as divide,
    floordiv as floordiv,
    imag as imag,
    multiply as multiply,
    multiply_no_nan as multiply_no_nan,
    real as real,
    reciprocal_no_nan as reciprocal_no_nan,
    round as round,
    scalar_mul as scalar_mul,
    subtract as subtract,
    truediv as truediv,
)
from thalweg._src.graph.ops.nn import (
    in_top_k as in_top_k,
    log_sigmoid as log_sigmoid,
    log_softmax as log_softmax,
    softmax as softmax,
    top_k as top_k,
)
from thalweg._src.graph.ops.normalization import l2_normalize as l2_normalize
from thalweg._src.graph.ops.polyval import polyval as polyval
from thalweg._src.graph.ops.reduction import (
    argmax as argmax,
    argmin as argmin,
    cumprod as cumprod,
    cumsum as cumsum,
    cumulative_logsumexp as cumulative_logsumexp,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_euclidean_norm as reduce_euclidean_norm,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
)
from thalweg._src.graph.ops.segment import (
    unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
)
from thalweg._src.graph.ops.sorting import (
    approx_max_k as approx_max_k,
    approx_min_k as approx_min_k,
)
from thalweg._src.graph.ops.special import (
    bessel_i0 as bessel_i0,
    bessel_i0e as bessel_i0e,
    bessel_i1 as bessel_i1,
    bessel_i1e as bessel_i1e,
    lbeta as lbeta,
)
from thalweg._src.training.nn.dropout import zero_fraction as zero_fraction
from thalweg._src.training.nn.statistics import (
    count_nonzero as count_nonzero,
    reduce_logsumexp as reduce_logsumexp,
    reduce_std as reduce_std,
    reduce_variance as reduce_variance,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.math import special as special

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["special"],
    {},
)

__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "angle", "approx_max_k", "approx_min_k", "argmax", "argmin",
    "asin", "asinh", "atan", "atan2", "atanh", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "betainc",
    "bincount", "ceil", "confusion_matrix", "conj", "cos", "cosh", "count_nonzero", "cumprod", "cumsum",
    "cumulative_logsumexp", "digamma", "divide", "divide_no_nan", "equal", "erf", "erfc", "erfcinv", "erfinv", "exp",
    "expm1", "floor", "floordiv", "floormod", "greater", "greater_equal", "igamma", "igammac", "imag", "in_top_k",
    "invert_permutation", "is_finite", "is_inf", "is_nan", "is_non_decreasing", "is_strictly_increasing",
    "l2_normalize", "lbeta", "less", "less_equal", "lgamma", "log", "log1p", "log_sigmoid", "log_softmax",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply",
    "multiply_no_nan", "ndtri", "negative", "nextafter", "not_equal", "polygamma", "polyval", "pow", "real",
    "reciprocal", "reciprocal_no_nan", "reduce_all", "reduce_any", "reduce_euclidean_norm", "reduce_logsumexp",
    "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum", "reduce_variance", "rint",
    "round", "rsqrt", "scalar_mul", "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum",
    "sigmoid", "sign", "sin", "sinh", "sobol_sample", "softmax", "softplus", "softsign", "special", "sqrt", "square",
    "squared_difference", "subtract", "tan", "tanh", "top_k", "truediv", "unsorted_segment_max",
    "unsorted_segment_mean", "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n",
    "unsorted_segment_sum", "xdivy", "xlog1py", "xlogy", "zero_fraction", "zeta",
]
