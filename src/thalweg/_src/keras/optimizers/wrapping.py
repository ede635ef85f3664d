"""TFOptimizer: an optimizer of tf.train in the form that Keras calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.scopes import init_scope, name_scope
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.values import batch_get_value, batch_set_value
from thalweg._src.training.checkpoint.trackable import Child, children_of
from thalweg._src.training.optimizers.optimizer import Optimizer, flat_variables
from thalweg._src.training.variables.variables import Variable


class TFOptimizer:
    """An optimizer of tf.train; it counts its steps in `iterations`, and has neither hyperparameters nor a config."""

    def __init__(self, optimizer: Optimizer, iterations: Variable | None = None) -> None:
        self.optimizer = optimizer
        if iterations is None:
            with init_scope(), name_scope(type(self).__name__):
                iterations = Variable(0, name="iterations", dtype=dtypes.int64, trainable=False, use_resource=True)
                state.track_variable(iterations)
        self.iterations = iterations

    def _clip_gradients(self, grads: Sequence[Any]) -> list[Any]:
        """Returns the gradients unchanged: an optimizer of tf.train has no limits of its own."""
        return list(grads)

    def get_grads(
        self, loss: TensorLike | Callable[[], TensorLike], params: Iterable[Variable] | Callable[[], Iterable[Variable]]
    ) -> list[tuple[Any, Any]]:
        """Returns pairs of gradient and variable."""
        return self.optimizer.compute_gradients(loss, params)

    def get_gradients(
        self, loss: TensorLike, params: Iterable[Variable] | Callable[[], Iterable[Variable]]
    ) -> list[Any]:
        """Returns the gradients of a loss in a graph."""
        with state.get_graph().as_default():
            return [grad for grad, _ in self.optimizer.compute_gradients(loss, list(flat_variables(params)))]

    def get_updates(self, loss: TensorLike, params: Iterable[Variable] | Callable[[], Iterable[Variable]]) -> list[Any]:
        """Returns the operations of a step: that which applies the gradients of a loss in a graph."""
        variables = list(flat_variables(params))
        return [self.apply_gradients(list(zip(self.get_gradients(loss, variables), variables)))]

    def minimize(
        self,
        loss: TensorLike | Callable[[], TensorLike],
        var_list: Iterable[Variable] | Callable[[], Iterable[Variable]],
        grad_loss: TensorLike | None = None,
    ) -> Any:
        """Computes the gradients of a loss and applies them; returns the operation that does."""
        return self.apply_gradients(self.optimizer.compute_gradients(loss, var_list, grad_loss=grad_loss))

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], name: str | None = None) -> Any:
        """Updates each variable by its gradient and increments `iterations`; returns the operation that does."""
        return self.optimizer.apply_gradients(grads_and_vars, global_step=self.iterations, name=name)

    def variables(self) -> list[Any]:
        """Returns the variables of the optimizer of tf.train."""
        return self.optimizer.variables()

    @property
    def weights(self) -> list[Any]:
        """The number of steps and the variables of the optimizer of tf.train."""
        return [self.iterations, *self.variables()]

    def get_weights(self) -> list[Any]:
        """Returns the values of `weights` as NumPy arrays."""
        return batch_get_value(self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Sets the values of `weights`, in the order of `get_weights`."""
        batch_set_value(list(zip(self.weights, weights, strict=True)))

    def get_config(self) -> dict[str, Any]:
        """Fails: an optimizer of tf.train does not tell what it was made from."""
        raise NotImplementedError(f"{type(self.optimizer).__name__} of tf.train has no configuration")


@children_of.register(TFOptimizer)
def _children(optimizer: Any) -> Iterator[Child]:
    yield "optimizer", optimizer.optimizer
    yield "global_step", optimizer.iterations
