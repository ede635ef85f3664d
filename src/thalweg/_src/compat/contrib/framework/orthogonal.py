"""An orthogonal initializer of convolution kernels."""

from __future__ import annotations

from typing import Any, ClassVar

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.ops.pad_tile import pad
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.variables.initializers import Initializer, Orthogonal, _floating, _sizes


@export("contrib.framework.convolutional_delta_orthogonal")
class ConvolutionDeltaOrthogonal(Initializer):
    """Initializes a kernel that is an orthogonal matrix in the middle and zero elsewhere, so that norms are kept.

    Args:
        gain: Factor of the matrix.
        seed: Seed of the random matrix.
        dtype: The element type.
    """

    _arguments: ClassVar = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        self.gain = gain
        self.seed = seed
        self.dtype = _floating(dtype)

    def _value(self, shape: Any, dtype: DType, partition_info: object) -> Tensor:
        *kernel, inputs, outputs = _sizes(shape)
        if len(kernel) not in (1, 2, 3):
            raise ValueError(f"expected the shape of a kernel with 1 to 3 spatial dimensions, received {shape}")
        if inputs > outputs:
            raise ValueError(f"expected at least as many output as input channels, received {inputs} and {outputs}")
        square = Orthogonal(self.gain, self.seed)([outputs, outputs], dtype)[:inputs]
        center = reshape(square, [*[1] * len(kernel), inputs, outputs])
        around = [[(size - 1) // 2, size // 2] for size in kernel]
        return pad(center, [*around, [0, 0], [0, 0]])
