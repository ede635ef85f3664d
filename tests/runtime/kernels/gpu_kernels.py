"""Runs every GPU kernel on fake tensors that have a shape and a device but no values, and prints the outcome.

torch's fake tensors refuse to mix devices and to say what is in them. So a kernel that leaves a tensor on the wrong
side is found, and one that reads a value back is noted, on a machine without a GPU. `away` is a device type that has
no kernels at all. It cannot be unregistered, so this is a process of its own:
`python -m tests.runtime.kernels.gpu_kernels`.
"""

import json
import sys

import numpy as np
import torch
from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

import thalweg as tf
from tests.sandbox import PREPARE, Variable
from tests.strategies import valid
from tests.test_bad_input import NAMES, NEVER_RUNS
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.partition.host_memory import assign_memory, on_host
from thalweg._src.graph.ir.step_graph import Output
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.ops.constants import array_constant
from thalweg._src.graph.ops.state import var_handle_op
from thalweg._src.runtime.compile.bind import bind_node
from thalweg._src.runtime.kernels.registry import Constant, device_types, invoke
from thalweg._src.runtime.kernels.types import TORCH, from_numpy
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.variables import VariableResource

_setup_privateuseone_for_python_backend("away")
AWAY = torch.device("away", 0)
torch._C._set_only_lift_cpu_tensors(True)  # what is made of numbers goes there by a copy
_aten = torch.ops.aten
READ = (_aten._local_scalar_dense.default, _aten.item.default, _aten.is_nonzero.default)
ELEMENTWISE = (_aten._standard_gamma.default, _aten._standard_gamma_grad.default)  # not every torch knows their shapes
PATIENCE = 16  # answers after which the other one comes: a series that is summed up until it converges ends


class NoGenerator(torch.Generator):
    """Stands for the generator of a device that cannot draw."""

    def __new__(cls, device=None):
        return super().__new__(cls)

    device = AWAY


torch.Generator = NoGenerator


class Away(TorchDispatchMode):
    """Computes host values, leaves device values to fake tensors, and records where the host reads one."""

    def __init__(self, answer):
        super().__init__()
        self._answer = answer
        self._asked = 0
        self.waits = False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        is_away = any(isinstance(tensor, FakeTensor) for tensor in tensors)
        goes_there = AWAY in (*args[1:], torch.device(kwargs.get("device") or "cpu"))
        if is_away and function in READ:
            self.waits = True
            self._asked += 1
            answer = self._answer if self._asked <= PATIENCE else 1 - self._answer
            return float(answer) if tensors[0].is_floating_point() else answer
        if is_away and function is _aten.nonzero.default:
            self.waits = True
            return torch.empty((1, args[0].dim()), dtype=torch.int64, device=AWAY)
        if is_away and function in ELEMENTWISE:
            return torch.empty_like(args[0])
        if is_away or (goes_there and not tensors):
            return function(*args, **kwargs)
        if goes_there:  # a copy from the host
            return torch.empty(tensors[0].shape, dtype=kwargs.get("dtype") or tensors[0].dtype, device=AWAY)
        with _disable_current_modes():
            return function(*args, **kwargs)


def built(case, is_known):
    """Returns the step of a call, with the arrays that it is fed, and the variables that it changes.

    is_known: the graph says the shapes of the arrays
    """
    definition = OPS.lookup(case.op)
    feeds, variables = {}, {}

    def made(arg, value):
        if isinstance(value, Variable):
            name = f"variable{len(variables)}"
            variables[name] = value
            return var_handle_op(dtype=value.dtype, shape=value.shape, shared_name=name)
        if arg.name in definition.host:
            return array_constant(np.array(value), tf.as_dtype(value.dtype))
        tensor = tf.placeholder(tf.as_dtype(value.dtype), value.shape if is_known else None)
        feeds[tensor] = value
        return tensor

    with tf.Graph().as_default() as graph:
        PREPARE.get(case.op, lambda graph: None)(graph)
        args = [
            [made(arg, v) for v in value] if isinstance(value, list) else made(arg, value)
            for arg, value in zip(definition.inputs, case.inputs)
        ]
        definition.many(*args, *case.inputs[len(args) :], name="tried", **case.attrs)
        operation = graph.get_operation_by_name("tried")
        step = step_graph(list(feeds), operation.outputs, [operation])
    return step, dict(zip(step.feeds, feeds.values())), variables


def run(step, feeds, variables, answer):
    """Runs a step node by node, and returns whether the node that is tried makes the host wait.

    answer: what a host that waits for a value is told
    """
    assign_memory(step)
    device = Device("/device:GPU:0", "GPU", AWAY, Containers())
    values = {Output(node, 0): from_numpy(feeds[node], node.dtypes[0]) for node in step.feeds}
    with FakeTensorMode(allow_non_fake_inputs=True), Away(answer) as away, torch.inference_mode():
        for node in step.nodes:
            if node.type == "_Arg":
                continue
            kernel = bind_node(node, device)
            if isinstance(kernel, Constant):
                result = kernel.value
                if isinstance(result, VariableResource) and result.name in variables:
                    held = variables[result.name]
                    result.value = torch.empty(held.shape, dtype=TORCH[tf.as_dtype(held.dtype)], device=AWAY)
            else:
                result = invoke(kernel, [values[output] for output in node.inputs], Step())
            results = [result] if len(node.dtypes) == 1 else list(result or ())
            values.update((Output(node, i), value) for i, value in enumerate(results))
            if node.name == "tried":
                _require_sides(node, results)
                return away.waits
    raise AssertionError("it did not run")


def _require_sides(node, results):
    for index, value in enumerate(results):
        if isinstance(value, torch.Tensor) and value.device.type != ("cpu" if on_host(Output(node, index)) else "away"):
            raise AssertionError(f"output {index} is on {value.device}")


def tried(name):
    """Returns what came of an operation: nothing if it has no kernel for GPUs, "waits", "runs", or an error."""
    case = valid(name)
    flat = [v for value in case.inputs for v in (value if isinstance(value, list) else [value])]
    definition = OPS.lookup(name)
    if name in NEVER_RUNS or definition.waits or definition.on_handles or any(hasattr(v, "make_handle") for v in flat):
        return None
    step, _, _ = built(case, True)
    if "GPU" not in device_types(next(node for node in step.nodes if node.name == "tried")):
        return None
    outcomes = [_outcome(case, is_known) for is_known in (True, False)]
    return max(outcomes, key=lambda outcome: {"runs": 0, "waits": 1}.get(outcome, 2))


def _outcome(case, is_known):
    error = None
    for answer in (0, 1):
        try:
            return "waits" if run(*built(case, is_known), answer) else "runs"
        except DynamicOutputShapeException:
            return "waits"
        except tf.errors.InvalidArgumentError as refusal:  # the answer was a wrong one
            error = refusal
        except Exception as failure:
            error = failure
            break
    if "numpy() is not supported" in str(error) or isinstance(error, tf.errors.InvalidArgumentError):
        return "waits"
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"


if __name__ == "__main__":
    json.dump({name: tried(name) for name in NAMES}, sys.stdout)
