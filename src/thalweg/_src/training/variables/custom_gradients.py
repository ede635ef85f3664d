"""Custom gradients: gradient checkpointing (recomputation), and pass-through gradients."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.autodiff.custom_gradient import custom_gradient
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.runtime.eager.gradient_tape import GradientTape
from thalweg._src.runtime.eager.tape import VariableWatcher, stop_recording, variable_accessed
from thalweg._src.training.variables.variable_scope import get_variable_scope, variable_scope
from thalweg._src.training.variables.variables import Variable


@export("recompute_grad")
def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function like f that recomputes f in its gradient, so that no intermediate value of f is kept.

    Args:
        f: The function to wrap.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        scope = get_variable_scope()

        @custom_gradient
        def inner(*tensors: Any) -> Any:
            def grad(*grads: Any, variables: Sequence[Variable] | None = None) -> Any:
                # The dependency on the gradients prevents common-subexpression elimination with the first computation.
                sources = [*tensors, *(variables or ())]
                with (
                    control_dependencies(list(grads)),
                    variable_scope(scope, reuse=True),
                    GradientTape() if executing_eagerly() else contextlib.nullcontext() as tape,
                ):
                    if tape is not None:
                        tape.watch(sources)
                    again = f(*tensors, **kwargs)
                outputs = list(again) if isinstance(again, list | tuple) else [again]
                if tape is None:
                    source_grads = gradients(outputs, sources, grad_ys=list(grads))
                else:
                    source_grads = tape.gradient(outputs, sources, list(grads))
                inputs, variable_grads = source_grads[: len(tensors)], source_grads[len(tensors) :]
                return (inputs, variable_grads) if variables else inputs

            with stop_recording(), VariableWatcher() as watcher:
                result = f(*tensors, **kwargs)
            for variable in watcher.variables.values():
                variable_accessed(variable)
            return result, grad

        return inner(*args)

    return decorated


@export("grad_pass_through")
def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function like f whose gradient is that of the identity.

    Args:
        f: The function to wrap.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        @custom_gradient
        def inner(*tensors: Any) -> Any:
            def grad(*grads: Any, variables: Sequence[Variable] | None = None) -> Any:
                return (list(grads), [None] * len(variables)) if variables else list(grads)

            return f(*tensors, **kwargs), grad

        return inner(*args)

    return decorated
