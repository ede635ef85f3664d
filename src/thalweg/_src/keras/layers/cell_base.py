"""The base of cells: their weights, and dropout masks, which all steps of a sequence share."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.ops.reshape import ones_like
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras import constraints, initializers, regularizers
from thalweg._src.keras.backend.control import in_train_phase
from thalweg._src.keras.backend.random import dropout as dropped
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.layers.core import weight_config

_WEIGHTS = ("kernel", "recurrent", "bias")
_OPTIONS: Any = ((initializers, "initializer"), (regularizers, "regularizer"), (constraints, "constraint"))


class DropoutMasks:
    """A cell with dropout of its input and of its state; the masks are kept until they are reset."""

    dropout: float
    recurrent_dropout: float

    def set_dropout(self, dropout: float, recurrent_dropout: float) -> None:
        """Sets the fractions that are dropped, between 0 and 1."""
        self.dropout = min(1.0, max(0.0, dropout))
        self.recurrent_dropout = min(1.0, max(0.0, recurrent_dropout))
        self.reset_dropout_mask()
        self.reset_recurrent_dropout_mask()

    def reset_dropout_mask(self) -> None:
        """Forgets the masks of the input, so that the next step makes new ones."""
        self._input_masks: tuple[Any, list[Tensor]] | None = None

    def reset_recurrent_dropout_mask(self) -> None:
        """Forgets the masks of the state, so that the next step makes new ones."""
        self._state_masks: tuple[Any, list[Tensor]] | None = None

    def get_dropout_mask_for_cell(self, inputs: Any, training: Any, count: int = 1) -> list[Tensor] | None:
        """Returns the masks of the input, None if nothing is dropped."""
        if not 0 < self.dropout < 1:
            return None
        graph = get_default_graph()
        if self._input_masks is None or self._input_masks[0] is not graph:
            self._input_masks = graph, _masks(inputs, self.dropout, training, count)
        return self._input_masks[1]

    def get_recurrent_dropout_mask_for_cell(self, inputs: Any, training: Any, count: int = 1) -> list[Tensor] | None:
        """Returns the masks of the state, None if nothing is dropped."""
        if not 0 < self.recurrent_dropout < 1:
            return None
        graph = get_default_graph()
        if self._state_masks is None or self._state_masks[0] is not graph:
            self._state_masks = graph, _masks(inputs, self.recurrent_dropout, training, count)
        return self._state_masks[1]


def _masks(like: Any, rate: float, training: Any, count: int) -> list[Tensor]:
    whole = ones_like(like)
    return [in_train_phase(lambda: dropped(whole, rate), whole, training) for _ in range(count)]


class WeightedCell(DropoutMasks, Layer):
    """A cell with a kernel for its input, one for its state, and a bias."""

    use_bias: bool
    kernel: Any
    recurrent_kernel: Any
    bias: Any
    kernel_initializer: Any
    recurrent_initializer: Any
    bias_initializer: Any

    def set_options(self, options: dict[str, Any]) -> None:
        """Sets the initializers, regularizers and constraints of the weights, and what is dropped."""
        self.use_bias = options["use_bias"]
        for module, what in _OPTIONS:
            for name in _WEIGHTS:
                setattr(self, f"{name}_{what}", module.get(options[f"{name}_{what}"]))
        self.set_dropout(options["dropout"], options["recurrent_dropout"])

    def add_weights(self, kernel: Any, recurrent: Any, bias: Any, bias_start: Any) -> None:
        """Creates the weights of given shapes."""
        if None in kernel:
            raise ValueError(f"{self.name}: the size of the features must be known, received a kernel of {kernel}")
        self.kernel = self._add("kernel", "kernel", kernel, self.kernel_initializer)
        self.recurrent_kernel = self._add("recurrent_kernel", "recurrent", recurrent, self.recurrent_initializer)
        self.bias = self._add("bias", "bias", bias, bias_start) if self.use_bias else None

    def _add(self, name: str, option: str, shape: Any, start: Any) -> Any:
        regularizer, constraint = (getattr(self, f"{option}_{what}") for what in ("regularizer", "constraint"))
        return self.add_weight(name, shape, initializer=start, regularizer=regularizer, constraint=constraint)

    def own_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, without those of all layers."""
        return {
            "use_bias": self.use_bias,
            **weight_config(self, *_WEIGHTS),
            "dropout": self.dropout,
            "recurrent_dropout": self.recurrent_dropout,
        }

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), **self.own_config()}
