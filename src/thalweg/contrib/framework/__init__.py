"""tf.contrib.framework: Argument scopes, model variables, checkpoint utilities and nested structures."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.compat.contrib.framework.arg_scope import (
    add_arg_scope as add_arg_scope,
    arg_scope as arg_scope,
    arg_scope_func_key as arg_scope_func_key,
    arg_scoped_arguments as arg_scoped_arguments,
    current_arg_scope as current_arg_scope,
    has_arg_scope as has_arg_scope,
)
from thalweg._src.compat.contrib.framework.assign_from_checkpoint import (
    assign_from_checkpoint as assign_from_checkpoint,
    assign_from_checkpoint_fn as assign_from_checkpoint_fn,
)
from thalweg._src.compat.contrib.framework.deprecation import (
    deprecated as deprecated,
    deprecated_arg_values as deprecated_arg_values,
    deprecated_args as deprecated_args,
)
from thalweg._src.compat.contrib.framework.graph_queries import (
    VariableDeviceChooser as VariableDeviceChooser,
    get_graph_from_inputs as get_graph_from_inputs,
    get_name_scope as get_name_scope,
    get_placeholders as get_placeholders,
    zero_initializer as zero_initializer,
)
from thalweg._src.compat.contrib.framework.names import (
    prepend_name_scope as prepend_name_scope,
    strip_name_scope as strip_name_scope,
)
from thalweg._src.compat.contrib.framework.orthogonal import ConvolutionDeltaOrthogonal as convolutional_delta_orthogonal
from thalweg._src.compat.contrib.framework.tensor_util import (
    assert_scalar_int as assert_scalar_int,
    reduce_sum_n as reduce_sum_n,
    remove_squeezable_dimensions as remove_squeezable_dimensions,
    with_same_shape as with_same_shape,
    with_shape as with_shape,
)
from thalweg._src.compat.contrib.framework.variables import (
    add_model_variable as add_model_variable,
    assert_or_get_global_step as assert_or_get_global_step,
    assign_from_values as assign_from_values,
    assign_from_values_fn as assign_from_values_fn,
    filter_variables as filter_variables,
    get_local_variables as get_local_variables,
    get_model_variables as get_model_variables,
    get_trainable_variables as get_trainable_variables,
    get_unique_variable as get_unique_variable,
    get_variable_full_name as get_variable_full_name,
    get_variables as get_variables,
    get_variables_by_name as get_variables_by_name,
    get_variables_by_suffix as get_variables_by_suffix,
    get_variables_to_restore as get_variables_to_restore,
    global_variable as global_variable,
    local_variable as local_variable,
    model_variable as model_variable,
    variable as variable,
)
from thalweg._src.compat.gen_ops import broadcast_to as broadcast_to
from thalweg._src.graph.is_tensor import is_tensor as is_tensor
from thalweg._src.graph.ops.check import (
    assert_same_float_dtype as assert_same_float_dtype,
    assert_scalar as assert_scalar,
)
from thalweg._src.graph.ops.py_func import py_func as py_func
from thalweg._src.graph.ops.sorting import (
    argsort as argsort,
    sort as sort,
)
from thalweg._src.graph.scopes import init_scope as init_scope
from thalweg._src.runtime.session.critical_section import CriticalSection as CriticalSection
from thalweg._src.training.checkpoint.reader import (
    init_from_checkpoint as init_from_checkpoint,
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
)
from thalweg._src.training.checkpoint.state import checkpoints_iterator as checkpoints_iterator
from thalweg._src.training.data.structure import TensorSpec as TensorSpec
from thalweg._src.training.nn.smart_cond import (
    smart_case as smart_case,
    smart_cond as smart_cond,
    smart_constant_value as smart_constant_value,
)
from thalweg._src.training.variables.global_step import (
    assert_global_step as assert_global_step,
    create_global_step as create_global_step,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.framework import nest as nest

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["nest"],
    {},
)

__all__ = [
    "CriticalSection", "TensorSpec", "VariableDeviceChooser", "add_arg_scope", "add_model_variable", "arg_scope",
    "arg_scope_func_key", "arg_scoped_arguments", "argsort", "assert_global_step", "assert_or_get_global_step",
    "assert_same_float_dtype", "assert_scalar", "assert_scalar_int", "assign_from_checkpoint",
    "assign_from_checkpoint_fn", "assign_from_values", "assign_from_values_fn", "broadcast_to", "checkpoints_iterator",
    "convolutional_delta_orthogonal", "create_global_step", "current_arg_scope", "deprecated", "deprecated_arg_values",
    "deprecated_args", "filter_variables", "get_global_step", "get_graph_from_inputs", "get_local_variables",
    "get_model_variables", "get_name_scope", "get_or_create_global_step", "get_placeholders", "get_trainable_variables",
    "get_unique_variable", "get_variable_full_name", "get_variables", "get_variables_by_name",
    "get_variables_by_suffix", "get_variables_to_restore", "global_variable", "has_arg_scope", "init_from_checkpoint",
    "init_scope", "is_tensor", "list_variables", "load_checkpoint", "load_variable", "local_variable", "model_variable",
    "nest", "prepend_name_scope", "py_func", "reduce_sum_n", "remove_squeezable_dimensions", "smart_case", "smart_cond",
    "smart_constant_value", "sort", "strip_name_scope", "variable", "with_same_shape", "with_shape", "zero_initializer",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
