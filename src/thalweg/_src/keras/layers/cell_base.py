"""The base of cells: their weights, and dropout masks, which all steps of a sequence share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.ops.reshape import ones_like
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.control import in_train_phase
from thalweg._src.keras.backend.random import dropout as dropped
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.layers.arguments import objects_of
from thalweg._src.keras.layers.core import weight_config
from thalweg._src.keras.serialization import Identifier

_WEIGHTS = ("kernel", "recurrent", "bias")
_WEIGHT_OPTIONS = [f"{weight}_{kind}" for kind in ("initializer", "regularizer", "constraint") for weight in _WEIGHTS]
# Parameters of recurrent layers that their cells do not have.
OF_LAYER = ("activity_regularizer", "return_sequences", "return_state", "go_backwards", "stateful", "unroll")


def recurrent_parameters(
    self: Any,
    units: int,
    activation: Identifier = "tanh",
    recurrent_activation: Identifier = "hard_sigmoid",
    use_bias: bool = True,
    kernel_initializer: Identifier = "glorot_uniform",
    recurrent_initializer: Identifier = "orthogonal",
    bias_initializer: Identifier = "zeros",
    unit_forget_bias: bool = True,
    kernel_regularizer: Identifier = None,
    recurrent_regularizer: Identifier = None,
    bias_regularizer: Identifier = None,
    activity_regularizer: Identifier = None,
    kernel_constraint: Identifier = None,
    recurrent_constraint: Identifier = None,
    bias_constraint: Identifier = None,
    dropout: float = 0.0,
    recurrent_dropout: float = 0.0,
    implementation: int = 1,
    return_sequences: bool = False,
    return_state: bool = False,
    go_backwards: bool = False,
    stateful: bool = False,
    unroll: bool = False,
    **kwargs: Any,
) -> None:
    """The parameters of `LSTM`: those of the other recurrent layers and of the cells are some of them."""


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

    def get_dropout_mask_for_cell(
        self, inputs: TensorLike, training: TensorLike | None, count: int = 1
    ) -> list[Tensor] | None:
        """Returns the masks of the input, None if nothing is dropped."""
        if not 0 < self.dropout < 1:
            return None
        graph = get_default_graph()
        if self._input_masks is None or self._input_masks[0] is not graph:
            self._input_masks = graph, _masks(inputs, self.dropout, training, count)
        return self._input_masks[1]

    def get_recurrent_dropout_mask_for_cell(
        self, inputs: TensorLike, training: TensorLike | None, count: int = 1
    ) -> list[Tensor] | None:
        """Returns the masks of the state, None if nothing is dropped."""
        if not 0 < self.recurrent_dropout < 1:
            return None
        graph = get_default_graph()
        if self._state_masks is None or self._state_masks[0] is not graph:
            self._state_masks = graph, _masks(inputs, self.recurrent_dropout, training, count)
        return self._state_masks[1]


def _masks(like: TensorLike, rate: float, training: TensorLike | None, count: int) -> list[Tensor]:
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

    def __init__(self, use_bias: bool, dropout: float, recurrent_dropout: float, **arguments: Any) -> None:
        options = {name: arguments.pop(name) for name in _WEIGHT_OPTIONS}
        super().__init__(**arguments)
        self.use_bias = use_bias
        for name, value in objects_of(options).items():
            setattr(self, name, value)
        self.set_dropout(dropout, recurrent_dropout)

    def add_weights(
        self, kernel: Sequence[int | None], recurrent: Sequence[int], bias: Sequence[int], bias_start: Identifier
    ) -> None:
        """Creates the weights of given shapes."""
        if None in kernel:
            raise ValueError(f"{self.name}: the size of the features must be known, received a kernel of {kernel}")
        self.kernel = self._add("kernel", "kernel", kernel, self.kernel_initializer)
        self.recurrent_kernel = self._add("recurrent_kernel", "recurrent", recurrent, self.recurrent_initializer)
        self.bias = self._add("bias", "bias", bias, bias_start) if self.use_bias else None

    def _add(self, name: str, option: str, shape: ShapeLike, start: Identifier) -> Any:
        regularizer, constraint = (getattr(self, f"{option}_{what}") for what in ("regularizer", "constraint"))
        return self.add_weight(name, shape, initializer=start, regularizer=regularizer, constraint=constraint)

    def cell_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, without those of all layers."""
        return {
            "use_bias": self.use_bias,
            **weight_config(self, *_WEIGHTS),
            "dropout": self.dropout,
            "recurrent_dropout": self.recurrent_dropout,
        }

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), **self.cell_config()}
