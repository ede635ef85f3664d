import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg._src.graph.ops.patches import extract_image_patches, extract_patches, extract_volume_patches
from thalweg._src.runtime.session.session import Session


def windows(x: torch.Tensor, sizes, strides, rates, padding: str) -> torch.Tensor:
    """Returns patches by slicing, one window at a time."""
    rank = x.ndim - 2
    pads = []
    for size, extent, stride, rate in zip(x.shape[1:-1], sizes, strides, rates):
        reach = (extent - 1) * rate + 1
        total = max((-(-size // stride) - 1) * stride + reach - size, 0) if padding == "SAME" else 0
        pads.append((total // 2, total - total // 2))
    x = torch.constant_pad_nd(x, [0, 0, *(p for pair in reversed(pads) for p in pair)])
    counts = [(n - (e - 1) * r - 1) // s + 1 for n, e, s, r in zip(x.shape[1:-1], sizes, strides, rates)]
    cells = []
    for place in np.ndindex(*counts):
        cut = tuple(slice(p * s, p * s + (e - 1) * r + 1, r) for p, s, e, r in zip(place, strides, sizes, rates))
        cells.append(x[(slice(None), *cut)].flatten(1))
    return torch.stack(cells, 1).reshape(x.shape[0], *counts, -1) if rank else x


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    ("sizes", "strides", "rates"), [((3, 2), (1, 2), (1, 1)), ((2, 2), (3, 3), (2, 1)), ((1, 3), (2, 1), (1, 3))]
)
def test_image_patches(sizes, strides, rates, padding: str) -> None:
    image = np.random.default_rng(0).normal(size=(2, 7, 9, 3))
    check_op(
        lambda x: extract_image_patches(x, [1, *sizes, 1], [1, *strides, 1], [1, *rates, 1], padding),
        lambda x: windows(x, sizes, strides, rates, padding),
        image,
    )


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_volume_patches(padding: str) -> None:
    sizes, strides = (2, 3, 1), (1, 2, 2)
    check_op(
        lambda x: extract_volume_patches(x, ksizes=[1, *sizes, 1], strides=[1, *strides, 1], padding=padding),
        lambda x: windows(x, sizes, strides, (1, 1, 1), padding),
        np.random.default_rng(0).normal(size=(2, 4, 5, 3, 2)),
    )


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int64", "bool", "complex64", "float16"])
def test_types(dtype: str) -> None:
    image = (np.arange(24).reshape(1, 4, 6, 1) % 5).astype(dtype)
    with Session() as session:
        value = session.run(extract_patches(image, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"))
    assert value.dtype == dtype
    np.testing.assert_array_equal(value[0, 0, 1], image[0, :2, 2:4].ravel())


def test_empty_inputs_and_errors() -> None:
    with Session() as session:
        empty = extract_image_patches(np.zeros((0, 4, 5, 2)), [1, 2, 2, 1], [1] * 4, [1] * 4, "VALID")
        assert session.run(empty).shape == empty.shape == (0, 3, 4, 8)
    with pytest.raises(ValueError, match="Negative dimension size"):
        extract_image_patches(np.zeros((1, 2, 2, 1)), [1, 3, 3, 1], [1] * 4, [1] * 4, "VALID")
    with pytest.raises(ValueError, match="batch and channel"):
        extract_image_patches(np.zeros((1, 2, 2, 1)), [2, 1, 1, 1], [1] * 4, [1] * 4, "VALID")
