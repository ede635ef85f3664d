"""tf.contrib.eager: Eager execution: tapes, functions, and what programs use with them."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.compat.contrib.eager.network import (
    Network as Network,
    Sequential as Sequential,
)
from thalweg._src.compat.contrib.eager.saver import (
    Saver as Saver,
    get_optimizer_variables as get_optimizer_variables,
    restore_variables_on_create as restore_variables_on_create,
)
from thalweg._src.compat.flags import run as run
from thalweg._src.graph.autodiff.custom_gradient import custom_gradient as custom_gradient
from thalweg._src.graph.default import (
    executing_eagerly as executing_eagerly,
    executing_eagerly as in_eager_mode,
)
from thalweg._src.runtime.eager.callbacks import (
    ExecutionCallback as ExecutionCallback,
    add_execution_callback as add_execution_callback,
    clear_execution_callbacks as clear_execution_callbacks,
    errstate as errstate,
    inf_callback as inf_callback,
    inf_nan_callback as inf_nan_callback,
    nan_callback as nan_callback,
    seterr as seterr,
)
from thalweg._src.runtime.eager.gradient_functions import (
    gradients_function as gradients_function,
    implicit_grad as implicit_gradients,
    implicit_val_and_grad as implicit_value_and_gradients,
    val_and_grad_function as value_and_gradients_function,
)
from thalweg._src.runtime.eager.gradient_tape import GradientTape as GradientTape
from thalweg._src.runtime.eager.mode import (
    ASYNC as ASYNC,
    SYNC as SYNC,
    enable_eager_execution as enable_eager_execution,
)
from thalweg._src.runtime.eager.py_function import py_function as py_func
from thalweg._src.runtime.eager.settings import (
    DEVICE_PLACEMENT_EXPLICIT as DEVICE_PLACEMENT_EXPLICIT,
    DEVICE_PLACEMENT_SILENT as DEVICE_PLACEMENT_SILENT,
    DEVICE_PLACEMENT_SILENT_FOR_INT32 as DEVICE_PLACEMENT_SILENT_FOR_INT32,
    DEVICE_PLACEMENT_WARN as DEVICE_PLACEMENT_WARN,
    async_clear_error as async_clear_error,
    async_wait as async_wait,
    execution_mode as execution_mode,
    list_devices as list_devices,
    num_gpus as num_gpus,
    set_execution_mode as set_execution_mode,
)
from thalweg._src.runtime.function.function import (
    defun as defun,
    function as function,
)
from thalweg._src.tools.testing.test_util import (
    run_all_in_graph_and_eager_modes as run_all_tests_in_graph_and_eager_modes,
    run_in_graph_and_eager_modes as run_test_in_graph_and_eager_modes,
)
from thalweg._src.training.checkpoint.object_checkpoint import Checkpoint as Checkpoint
from thalweg._src.training.checkpoint.trackable import AutoTrackable as Checkpointable
from thalweg._src.training.data.iterator import EagerIterator as Iterator
from thalweg._src.training.data.structure import TensorSpec as TensorSpec
from thalweg._src.training.variables.resource_variable import ResourceVariable as Variable
from thalweg._src.training.variables.templates import make_template as make_template
from thalweg._src.training.variables.variable_scope import EagerVariableStore as EagerVariableStore
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.eager import metrics as metrics

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["metrics"],
    {},
)

__all__ = [
    "ASYNC", "Checkpoint", "Checkpointable", "DEVICE_PLACEMENT_EXPLICIT", "DEVICE_PLACEMENT_SILENT",
    "DEVICE_PLACEMENT_SILENT_FOR_INT32", "DEVICE_PLACEMENT_WARN", "EagerVariableStore", "ExecutionCallback",
    "GradientTape", "Iterator", "Network", "SYNC", "Saver", "Sequential", "TensorSpec", "Variable",
    "add_execution_callback", "async_clear_error", "async_wait", "clear_execution_callbacks", "custom_gradient",
    "defun", "enable_eager_execution", "errstate", "executing_eagerly", "execution_mode", "function",
    "get_optimizer_variables", "gradients_function", "implicit_gradients", "implicit_value_and_gradients",
    "in_eager_mode", "inf_callback", "inf_nan_callback", "list_devices", "make_template", "metrics", "nan_callback",
    "num_gpus", "py_func", "restore_variables_on_create", "run", "run_all_tests_in_graph_and_eager_modes",
    "run_test_in_graph_and_eager_modes", "set_execution_mode", "seterr", "value_and_gradients_function",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
