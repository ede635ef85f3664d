"""External optimizers: solvers outside the graph that evaluate the loss and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import logging
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default_stacks import get_default_session
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.reshape import reshape, zeros_like
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.variables import trainable_variables

Function = Callable[[Any], Any]


@export("contrib.opt.ExternalOptimizerInterface")
class ExternalOptimizerInterface:
    """Base class for external solvers; a subclass calls the solver in `_minimize`.

    At the solution, tensors in `equalities` are zero and those in `inequalities` are not negative.
    """

    def __init__(
        self,
        loss: TensorLike,
        var_list: Any = None,
        equalities: Sequence[Any] | None = None,
        inequalities: Sequence[Any] | None = None,
        var_to_bounds: dict[Any, Any] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._loss = loss
        self._equalities = list(equalities or ())
        self._inequalities = list(inequalities or ())
        self._vars = trainable_variables() if var_list is None else list(var_list)
        self.optimizer_kwargs = optimizer_kwargs
        for variable in self._vars:
            require_members("var_list", variable, "variables", "get_shape", "dtype")
        self._shapes = [tuple(v.get_shape().as_list()) for v in self._vars]
        self._packed_bounds = None if var_to_bounds is None else self._pack_bounds(var_to_bounds)
        self._update_placeholders = [placeholder(v.dtype, shape) for v, shape in zip(self._vars, self._shapes)]
        self._var_updates = [v.assign(p).op for v, p in zip(self._vars, self._update_placeholders)]
        self._packed_var = _pack(self._vars)
        self._packed_loss_grad = self._packed_gradient(loss)
        self._packed_equality_grads = [self._packed_gradient(t) for t in self._equalities]
        self._packed_inequality_grads = [self._packed_gradient(t) for t in self._inequalities]
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes]).tolist()
        self._packing_slices = [slice(start, end) for start, end in zip([0, *ends], ends)]

    def minimize(
        self,
        session: Any = None,
        feed_dict: dict[Any, Any] | None = None,
        fetches: Sequence[Any] | None = None,
        step_callback: Callable[[Any], Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Runs the solver and assigns the solution to the variables.

        `loss_callback` is called at each point with the values of `fetches`, `step_callback` after each step with the
        variables as one vector.
        """
        session = session or get_default_session()
        if session is None:
            raise ValueError("minimize needs a session: pass one, or call it inside `with session.as_default()`")
        evaluate = _Evaluation(self, session, feed_dict, run_kwargs)
        solution = self._minimize(
            initial_val=session.run(self._packed_var),
            loss_grad_func=evaluate.function([self._loss, self._packed_loss_grad], fetches, loss_callback),
            equality_funcs=[evaluate.function(t) for t in self._equalities],
            equality_grad_funcs=[evaluate.function(t) for t in self._packed_equality_grads],
            inequality_funcs=[evaluate.function(t) for t in self._inequalities],
            inequality_grad_funcs=[evaluate.function(t) for t in self._packed_inequality_grads],
            packed_bounds=self._packed_bounds,
            step_callback=step_callback or (lambda x: None),
            optimizer_kwargs=self.optimizer_kwargs,
        )
        evaluate.move_to(solution)

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: Function,
        equality_funcs: list[Function],
        equality_grad_funcs: list[Function],
        inequality_funcs: list[Function],
        inequality_grad_funcs: list[Function],
        packed_bounds: Any,
        step_callback: Function,
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        """Returns the solution as one vector."""
        raise NotImplementedError(f"{type(self).__name__} defines no _minimize, which finds the solution")

    def _pack_bounds(self, var_to_bounds: dict[Any, Any]) -> list[tuple[float, float]]:
        packed: list[tuple[float, float]] = []
        for variable, shape in zip(self._vars, self._shapes):
            low, high = var_to_bounds.get(variable, (-np.inf, np.inf))
            packed += zip(np.broadcast_to(low, shape).ravel(), np.broadcast_to(high, shape).ravel())
        return packed

    def _packed_gradient(self, tensor: Any) -> Any:
        """Returns the gradient of a tensor with respect to all variables as one vector."""
        grads = gradients(tensor, self._vars)
        return _pack([zeros_like(v.value()) if grad is None else grad for grad, v in zip(grads, self._vars)])


class _Evaluation:
    """Evaluations at the points that the solver requests, in one session."""

    def __init__(self, owner: ExternalOptimizerInterface, session: Any, feeds: Any, run_kwargs: Any) -> None:
        self._owner = owner
        self._session = session
        self._feeds = dict(feeds or {})
        self._run_kwargs = run_kwargs

    def move_to(self, x: Any) -> None:
        owner = self._owner
        values = [x[piece].reshape(shape) for piece, shape in zip(owner._packing_slices, owner._shapes)]
        self._session.run(owner._var_updates, dict(zip(owner._update_placeholders, values)), **self._run_kwargs)

    def function(self, tensors: Any, fetches: Any = None, callback: Callable[..., Any] | None = None) -> Function:
        """Returns the function from a point to the values of tensors."""
        extra = list(fetches or ())

        def evaluate(x: Any) -> Any:
            self.move_to(x)
            values, shown = self._session.run([tensors, extra], self._feeds)
            if callback is not None:
                callback(*shown)
            return values

        return evaluate


def _pack(tensors: Sequence[Any]) -> Any:
    if not tensors:
        return None
    return concat([reshape(convert_to_tensor(tensor), [-1]) for tensor in tensors], 0)


@export("contrib.opt.ScipyOptimizerInterface")
class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimizes the loss with `scipy.optimize.minimize`; further arguments are passed to it."""

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: Function,
        equality_funcs: list[Function],
        equality_grad_funcs: list[Function],
        inequality_funcs: list[Function],
        inequality_grad_funcs: list[Function],
        packed_bounds: Any,
        step_callback: Function,
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        import scipy.optimize

        def loss_and_gradient(x: Any) -> tuple[float, Any]:
            loss, gradient = loss_grad_func(x)
            return float(loss), gradient.astype("float64")

        constraints = [
            {"type": kind, "fun": function, "jac": gradient}
            for kind, functions, grads in (
                ("eq", equality_funcs, equality_grad_funcs),
                ("ineq", inequality_funcs, inequality_grad_funcs),
            )
            for function, gradient in zip(functions, grads)
        ]
        options = dict(optimizer_kwargs)
        arguments = {
            "jac": True,
            "callback": step_callback,
            "method": options.pop("method", self._DEFAULT_METHOD),
            "constraints": constraints,
            "bounds": packed_bounds,
        }
        if "bounds" in options:
            raise ValueError("Bounds must be set using the var_to_bounds argument")
        for key in arguments:
            if key in options:
                raise ValueError(f"Optimizer keyword arg '{key}' is set automatically and cannot be injected manually")
        result = scipy.optimize.minimize(loss_and_gradient, initial_val, **arguments, **options)
        logging.info(
            "Optimization terminated with: %s; objective function value: %s; iterations: %s; evaluations: %s",
            result.message,
            result.fun,
            result.get("nit"),
            result.nfev,
        )
        return result.x
