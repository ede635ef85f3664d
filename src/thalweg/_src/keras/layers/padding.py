"""Layers that repeat, add or remove elements at the spatial axes: upsampling, zero padding and cropping."""

from __future__ import annotations

from typing import Any, ClassVar

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.image_resize import resize_bilinear, resize_nearest_neighbor
from thalweg._src.graph.ops.pad_tile import pad, tile
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape as shape_of, transpose
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.layers.arguments import Margins, Window, channels_of
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.layers.windows import around, sizes_of, split_sizes


class _Spatial(Layer):
    """The base class of layers that change the sizes of the spatial axes.

    _setting: the attribute that says how
    """

    _rank: ClassVar[int]
    _setting: ClassVar[str]
    data_format: str

    def __init__(self, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = channels_of(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _resized(self, size: int, axis: int) -> int:
        """Returns the size of a spatial axis afterwards."""
        raise NotImplementedError("a subclass says how sizes change")

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the shape of the outputs."""
        sizes = as_shape(input_shape) or ()
        spatial, channels = split_sizes(sizes, self.data_format)
        places = [None if size is None else self._resized(size, axis) for axis, size in enumerate(spatial)]
        return TensorShape(around(places, self.data_format, sizes[0], channels))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        config = {**super().get_config(), self._setting: getattr(self, self._setting)}
        return config if self._rank == 1 else {**config, "data_format": self.data_format}


# -- upsampling -------------------------------------------------------------------------------------------------------


class _UpSampling(_Spatial):
    """The base class of upsampling layers."""

    _setting = "size"

    def __init__(self, size: Window, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.size: Any = sizes_of(size, self._rank, "size")

    def _resized(self, size: int, axis: int) -> int:
        return size * int(self.size[axis])

    def call(self, inputs: TensorLike) -> Tensor:
        """Repeats the elements."""
        x = convert_to_tensor(inputs)
        first = 2 if self.data_format == "channels_first" else 1
        for axis, count in enumerate(self.size):
            x = _repeated(x, count, first + axis)
        return x


def _repeated(x: Tensor, count: int, axis: int) -> Tensor:
    """Repeats each element along an axis of a tensor of known rank."""
    static, dynamic = as_shape(x.shape) or (), shape_of(x)
    sizes: list[Any] = [dynamic[i] if size is None else size for i, size in enumerate(static)]
    copies = tile(expand_dims(x, axis + 1), [count if i == axis + 1 else 1 for i in range(len(static) + 1)])
    outputs = reshape(copies, [size * count if i == axis else size for i, size in enumerate(sizes)])
    if not outputs.is_eager:
        outputs.set_shape([size and size * count if i == axis else size for i, size in enumerate(static)])
    return outputs


@export("keras.layers.UpSampling1D")
class UpSampling1D(_UpSampling):
    """Repeats each step of sequences.

    Args:
        size: Factor of each spatial dimension.
    """

    _rank = 1

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__((int(size),), "channels_last", **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "size": self.size[0]}


@export("keras.layers.UpSampling2D")
class UpSampling2D(_UpSampling):
    """Enlarges images by whole factors.

    Args:
        size: Factor of each spatial dimension.
        interpolation: "nearest" or "bilinear".
    """

    _rank = 2

    def __init__(
        self, size: Window = (2, 2), data_format: str | None = None, interpolation: str = "nearest", **kwargs: Any
    ) -> None:
        super().__init__(size, data_format, **kwargs)
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError('`interpolation` argument should be one of `"nearest"` or `"bilinear"`.')
        self.interpolation = interpolation

    def call(self, inputs: TensorLike) -> Tensor:
        """Resizes the images."""
        x = convert_to_tensor(inputs)
        is_first = self.data_format == "channels_first"
        x = transpose(x, [0, 2, 3, 1]) if is_first else x
        static, dynamic = as_shape(x.shape) or (), shape_of(x)
        sizes = [(dynamic[i] if static[i] is None else static[i]) * factor for i, factor in zip((1, 2), self.size)]
        if self.interpolation == "nearest":
            outputs = resize_nearest_neighbor(x, sizes)
        else:
            outputs = resize_bilinear(x, sizes, half_pixel_centers=True)
        return transpose(outputs, [0, 3, 1, 2]) if is_first else outputs

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "interpolation": self.interpolation}


@export("keras.layers.UpSampling3D")
class UpSampling3D(_UpSampling):
    """Repeats the elements of volumes.

    Args:
        size: Factor of each spatial dimension.
    """

    _rank = 3

    def __init__(self, size: Window = (2, 2, 2), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(size, data_format, **kwargs)


# -- padding and cropping ---------------------------------------------------------------------------------------------


def _pairs(value: Margins, rank: int, name: str) -> tuple[tuple[int, ...], ...]:
    """Returns two integers for each spatial axis, before and after it; one integer stands for both."""
    if isinstance(value, int):
        return ((value, value),) * rank
    if not hasattr(value, "__len__") or len(value) != rank:
        raise ValueError(f"`{name}` should have {rank} elements, integers or pairs of them. Found: {value}")
    return tuple(sizes_of(pair, 2, name) for pair in value)


class _ZeroPadding(_Spatial):
    """The base class of layers that add zeros around the spatial axes."""

    _setting = "padding"

    def __init__(self, padding: Margins, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding: Any = _pairs(padding, self._rank, "padding")

    def _resized(self, size: int, axis: int) -> int:
        return size + int(sum(self.padding[axis]))

    def call(self, inputs: TensorLike) -> Tensor:
        """Adds the zeros."""
        return pad(inputs, around([list(pair) for pair in self.padding], self.data_format, [0, 0], [0, 0]))


@export("keras.layers.ZeroPadding1D")
class ZeroPadding1D(_ZeroPadding):
    """Adds zeros before and after sequences.

    Args:
        padding: Number of zeros before and after each spatial dimension: one, one for each, or pairs.
    """

    _rank = 1

    def __init__(self, padding: Margins = 1, **kwargs: Any) -> None:
        super().__init__((sizes_of(padding, 2, "padding"),), "channels_last", **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "padding": self.padding[0]}


@export("keras.layers.ZeroPadding2D")
class ZeroPadding2D(_ZeroPadding):
    """Adds rows and columns of zeros around images.

    Args:
        padding: Number of zeros before and after each spatial dimension: one, one for each, or pairs.
    """

    _rank = 2

    def __init__(self, padding: Margins = (1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


@export("keras.layers.ZeroPadding3D")
class ZeroPadding3D(_ZeroPadding):
    """Adds zeros around volumes.

    Args:
        padding: Number of zeros before and after each spatial dimension: one, one for each, or pairs.
    """

    _rank = 3

    def __init__(self, padding: Margins = (1, 1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


class _Cropping(_Spatial):
    """The base class of layers that remove elements at the ends of the spatial axes."""

    _setting = "cropping"

    def __init__(self, cropping: Margins, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping: Any = _pairs(cropping, self._rank, "cropping")

    def _resized(self, size: int, axis: int) -> int:
        return max(size - int(sum(self.cropping[axis])), 0)

    def call(self, inputs: TensorLike) -> Tensor:
        """Removes the elements."""
        spatial = [slice(before, -after if after else None) for before, after in self.cropping]
        whole = slice(None)
        cropped: Tensor = convert_to_tensor(inputs)[tuple(around(spatial, self.data_format, whole, whole))]
        return cropped


@export("keras.layers.Cropping1D")
class Cropping1D(_Cropping):
    """Removes steps at both ends of sequences.

    Args:
        cropping: Number of elements to remove before and after each spatial dimension: one, one for each, or pairs.
    """

    _rank = 1

    def __init__(self, cropping: Margins = (1, 1), **kwargs: Any) -> None:
        super().__init__((sizes_of(cropping, 2, "cropping"),), "channels_last", **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "cropping": self.cropping[0]}


@export("keras.layers.Cropping2D")
class Cropping2D(_Cropping):
    """Removes rows and columns at the borders of images.

    Args:
        cropping: Number of elements to remove before and after each spatial dimension: one, one for each, or pairs.
    """

    _rank = 2

    def __init__(self, cropping: Margins = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(cropping, data_format, **kwargs)


@export("keras.layers.Cropping3D")
class Cropping3D(_Cropping):
    """Removes elements at the borders of volumes.

    Args:
        cropping: Number of elements to remove before and after each spatial dimension: one, one for each, or pairs.
    """

    _rank = 3

    def __init__(
        self, cropping: Margins = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cropping, data_format, **kwargs)
