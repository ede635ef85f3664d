"""Dropout of whole channels: SpatialDropout1D, SpatialDropout2D, SpatialDropout3D."""

from __future__ import annotations

from typing import Any, ClassVar

from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.layers.arguments import channels_of
from thalweg._src.keras.layers.core import Dropout
from thalweg._src.training.nn import dropout
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.layers.windows import around
from thalweg._src.training.nn.smart_cond import smart_cond


class _SpatialDropout(Dropout):
    """The base class of dropout layers that set a channel to zero at all places or at none."""

    _rank: ClassVar[int]

    def __init__(self, rate: float, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.data_format = channels_of(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs: TensorLike, training: TensorLike | None = None) -> Tensor:  # type: ignore[override]
        """Applies dropout if `training`, which may be a tensor."""
        x = convert_to_tensor(inputs)
        noise_shape = around([1] * self._rank, self.data_format, None, None)
        return smart_cond(  # type: ignore[no-any-return]
            False if training is None else training,
            lambda: dropout.dropout(x, noise_shape=noise_shape, seed=self.seed, rate=self.rate),
            lambda: identity(x),
        )


@export("keras.layers.SpatialDropout1D")
class SpatialDropout1D(_SpatialDropout):
    """Dropout of whole channels of sequences."""

    _rank = 1

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(rate, "channels_last", **kwargs)


class _WithFormat(_SpatialDropout):
    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "data_format": self.data_format}


@export("keras.layers.SpatialDropout2D")
class SpatialDropout2D(_WithFormat):
    """Dropout of whole channels of images."""

    _rank = 2

    def __init__(self, rate: float, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, data_format, **kwargs)


@export("keras.layers.SpatialDropout3D")
class SpatialDropout3D(_WithFormat):
    """Dropout of whole channels of volumes."""

    _rank = 3

    def __init__(self, rate: float, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, data_format, **kwargs)
