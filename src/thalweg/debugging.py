"""tf.debugging: Assertions in graphs."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.gen_ops import (
    check_numerics as check_numerics,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
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
from thalweg._src.graph.ops.numerics import verify_tensor_all_finite as assert_all_finite
from thalweg._src.graph.ops.printing import Assert as Assert
from thalweg._src.runtime.session.config_functions import (
    get_log_device_placement as get_log_device_placement,
    set_log_device_placement as set_log_device_placement,
)
from thalweg._src.training.nn.check_shapes import assert_shapes as assert_shapes

__all__ = [
    "Assert", "assert_all_finite", "assert_equal", "assert_greater", "assert_greater_equal", "assert_integer",
    "assert_less", "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative", "assert_non_positive",
    "assert_none_equal", "assert_positive", "assert_proper_iterable", "assert_rank", "assert_rank_at_least",
    "assert_rank_in", "assert_same_float_dtype", "assert_scalar", "assert_shapes", "assert_type", "check_numerics",
    "get_log_device_placement", "is_finite", "is_inf", "is_nan", "is_non_decreasing", "is_numeric_tensor",
    "is_strictly_increasing", "set_log_device_placement",
]
