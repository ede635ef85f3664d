"""Projective transforms of images: each output pixel is sampled at its transformed coordinates in the input."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.linalg import matrix_inverse
from thalweg._src.graph.ops.math import cos, sin
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.reshape import ones_like, reshape, shape as shape_of, zeros_like
from thalweg._src.graph.ops.shape_functions import require, same_dimension, with_rank
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_IMAGES = frozenset(
    (
        dtypes.uint8,
        dtypes.int32,
        dtypes.int64,
        dtypes.float16,
        dtypes.bfloat16,
        dtypes.float32,
        dtypes.float64,
    )
)


def _transformed(c: Inference) -> Sequence[Shape]:
    images, transforms, sizes = with_rank(c, 0, 4), with_rank(c, 1, 2), with_rank(c, 2, 1)
    assert images is not None and transforms is not None and sizes is not None
    expected = "eight numbers for each image, or for all of them"
    require(transforms[1] in (None, 8), f"transforms has shape {show(transforms)}", expected=expected)
    if transforms[0] != 1 and images[0] is not None:
        same_dimension(images[0], transforms[0], "sizes", expected=expected)
    require(sizes[0] in (None, 2), f"output_shape has {sizes[0]} elements", expected="a height and a width")
    value = c.partial(2)
    for number in () if value is None else value.ravel().tolist():
        require(number is None or number > 0, f"output_shape is {value}", expected="positive sizes")
    for name, allowed in (("interpolation", INTERPOLATIONS), ("fill_mode", FILL_MODES)):
        require(c.attrs[name] in allowed, f"{name} is {c.attrs[name]!r}", expected=f"one of {', '.join(allowed)}")
    height, width = c.shape_value(2) or (None, None)
    if len(c.shapes) > 3:
        with_rank(c, 3, 0)
    return [(images[0], height, width, images[3])]


INTERPOLATIONS = ("NEAREST", "BILINEAR")
FILL_MODES = ("REFLECT", "WRAP", "CONSTANT", "NEAREST")
project_v2, project_v3 = (
    op(
        name,
        f"images: dtype, transforms: float32, output_shape: int32{more} -> transformed_images: dtype",
        dtype=_IMAGES,
        interpolation=attr.string(),
        fill_mode="CONSTANT",
        host="output_shape",
        infer=_transformed,
        doc="Applies projective transforms to images.",
    )
    for name, more in (("ImageProjectiveTransformV2", ""), ("ImageProjectiveTransformV3", ", fill_value: float32"))
)


class _Batch:
    """Images as a batch with channels; missing batch and channel dimensions are added."""

    def __init__(self, images: TensorLike) -> None:
        self.converted = convert_to_tensor(images, name="images")
        shape = self.converted.dims
        if self.converted.dtype not in _IMAGES:
            raise TypeError(f"Invalid dtype {self.converted.dtype.name}: not one of {sorted(t.name for t in _IMAGES)}")
        if shape is None:
            raise TypeError("image_or_images rank must be statically known")
        if len(shape) not in (2, 3, 4):
            raise TypeError("Images should have rank between 2 and 4.")
        self.rank = len(shape)
        self.images: Tensor = self.converted
        if self.rank == 2:
            self.images = self.converted[None, :, :, None]
        elif self.rank == 3:
            self.images = self.converted[None]

    def result(self, images: Tensor) -> Tensor:
        """Returns images in the original rank."""
        if self.rank == 4:
            return images
        return images[0, :, :, 0] if self.rank == 2 else images[0]


@export("contrib.image.transform")
def transform(
    images: TensorLike,
    transforms: TensorLike,
    interpolation: str = "NEAREST",
    output_shape: ShapeLike | TensorLike = None,
    name: str | None = None,
) -> Tensor:
    """Applies projective transforms [a0, a1, a2, b0, b1, b2, c0, c1] to images.

    The output at (x, y) is the input at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) with k = c0 x + c1 y + 1, and
    0 outside. The gradient applies the inverse transforms to the gradient of the output, as TensorFlow does.

    Args:
        images: Images [batch, height, width, channels], or one, with or without channels.
        transforms: Projective transforms of 8 numbers: one, or one for each image.
        output_shape: Height and width of the result; by default those of the images.
    """
    with name_scope(name, "transform", [images, transforms]):
        batch = _Batch(images)
        sizes = shape_of(batch.images)[1:3] if output_shape is None else output_shape
        sizes = convert_to_tensor(sizes, dtypes.int32, name="output_shape")
        if not sizes.get_shape().is_compatible_with([2]):
            raise ValueError("output_shape must be a 1-D Tensor of 2 elements: new_height, new_width")
        require_text("interpolation", interpolation)
        transforms = _flat(transforms)
        return batch.result(project_v2(batch.images, transforms, sizes, interpolation=interpolation.upper()))


def _flat(transforms: TensorLike) -> Tensor:
    """Returns transforms as a matrix with eight columns."""
    transforms = convert_to_tensor(transforms, dtypes.float32, name="transforms")
    shape = transforms.dims
    if shape is None:
        raise TypeError("transforms rank must be statically known")
    if len(shape) not in (1, 2):
        raise TypeError("Transforms should have rank 1 or 2.")
    return transforms[None] if len(shape) == 1 else transforms


@export("contrib.image.rotate")
def rotate(images: TensorLike, angles: TensorLike, interpolation: str = "NEAREST", name: str | None = None) -> Tensor:
    """Rotates images about their center counterclockwise, by angles in radians.

    Args:
        images: Images [batch, height, width, channels], or one, with or without channels.
        angles: Angles in radians, counterclockwise: one, or one for each image.
    """
    with name_scope(name, "rotate", [images, angles]):
        batch = _Batch(images)
        height, width = (cast(shape_of(batch.images)[axis], dtypes.float32) for axis in (1, 2))
        return batch.result(
            transform(batch.images, angles_to_projective_transforms(angles, height, width), interpolation)
        )


@export("contrib.image.translate")
def translate(
    images: TensorLike, translations: TensorLike, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Translates images by [dx, dy]; uncovered pixels are 0.

    Args:
        images: Images [batch, height, width, channels], or one, with or without channels.
        translations: Vectors [dx, dy]: one, or one for each image.
    """
    with name_scope(name, "translate", [images, translations]):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


@export("contrib.image.angles_to_projective_transforms")
def angles_to_projective_transforms(
    angles: TensorLike, image_height: float | Tensor, image_width: float | Tensor, name: str | None = None
) -> Tensor:
    """Returns the transforms that rotate images of a size about their center.

    Args:
        angles: Angles in radians, counterclockwise.
        image_height: Height of the images.
        image_width: Width of the images.
    """
    with name_scope(name, "angles_to_projective_transforms", [angles]):
        angles = _vector(angles, 0, "angles")
        across, down = image_width - 1, image_height - 1
        x = (across - (cos(angles) * across - sin(angles) * down)) / 2.0
        y = (down - (sin(angles) * across + cos(angles) * down)) / 2.0
        zero = zeros_like(angles)
        return stack([cos(angles), -sin(angles), x, sin(angles), cos(angles), y, zero, zero], 1)


@export("contrib.image.translations_to_projective_transforms")
def translations_to_projective_transforms(translations: TensorLike, name: str | None = None) -> Tensor:
    """Returns the transforms that translate images by [dx, dy].

    Args:
        translations: Vectors [dx, dy].
    """
    with name_scope(name, "translations_to_projective_transforms", [translations]):
        moves = _vector(translations, 1, "translations")
        zero, one = zeros_like(moves[:, 0]), ones_like(moves[:, 0])
        return stack([one, zero, -moves[:, 0], zero, one, -moves[:, 1], zero, zero], 1)


def _vector(value: TensorLike, rank: int, what: str) -> Tensor:
    """Returns a single value as a list of one, and a list unchanged."""
    value = convert_to_tensor(value, dtypes.float32, name=what)
    shape = value.dims
    if shape is None:
        raise TypeError(f"{what} rank must be statically known")
    if len(shape) not in (rank, rank + 1):
        raise TypeError(f"{what} should have rank {rank} or {rank + 1}, not {len(shape)}.")
    return value[None] if len(shape) == rank else value


@export("contrib.image.flat_transforms_to_matrices")
def flat_transforms_to_matrices(transforms: TensorLike) -> Tensor:
    """Converts transforms of eight numbers to 3x3 matrices whose last element is 1.

    Args:
        transforms: Projective transforms [count, 8].
    """
    with name_scope(None, "flat_transforms_to_matrices", [transforms]):
        transforms = convert_to_tensor(transforms, name="transforms")
        shape = transforms.dims
        if shape is not None and len(shape) not in (1, 2):
            raise ValueError(f"Transforms should be 1D or 2D, got: {transforms}")
        transforms = reshape(transforms, [-1, 8])
        return reshape(concat([transforms, ones_like(transforms[:, :1])], 1), [-1, 3, 3])


@export("contrib.image.matrices_to_flat_transforms")
def matrices_to_flat_transforms(transform_matrices: TensorLike) -> Tensor:
    """Converts 3x3 matrices to transforms of eight numbers, divided by the last element."""
    with name_scope(None, "matrices_to_flat_transforms", [transform_matrices]):
        matrices = convert_to_tensor(transform_matrices, name="matrices")
        shape = matrices.dims
        if shape is not None and len(shape) not in (2, 3):
            raise ValueError(f"Matrices should be 2D or 3D, got: {matrices}")
        flat = reshape(matrices, [-1, 9])
        return (flat / flat[:, 8:9])[:, :8]


@export("contrib.image.compose_transforms")
def compose_transforms(*transforms: TensorLike) -> Tensor:
    """Composes transforms, applied in order."""
    if not transforms:
        raise ValueError("transforms cannot be empty")
    with name_scope("compose_transforms"):
        composed = flat_transforms_to_matrices(transforms[0])
        for following in transforms[1:]:
            composed = matmul(composed, flat_transforms_to_matrices(following))
        return matrices_to_flat_transforms(composed)


def inverted(transforms: Tensor) -> Tensor:
    """Returns the inverse transforms."""
    return matrices_to_flat_transforms(matrix_inverse(flat_transforms_to_matrices(transforms)))
