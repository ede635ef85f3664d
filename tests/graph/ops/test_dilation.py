import numpy as np
import pytest
import torch

from tests.checks import check_op
from tests.graph.ops.test_patches import windows
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.dilation import dilation2d, erosion2d
from thalweg._src.runtime.session.session import Session

CASES = [((3, 2), (1, 2), (1, 1)), ((2, 2), (3, 3), (2, 1)), ((3, 3), (1, 1), (2, 2))]


def dilated(x: torch.Tensor, filter: torch.Tensor, strides, rates, padding: str) -> torch.Tensor:
    """Takes the largest of each patch and filter; what is beyond the border is small enough not to count."""
    lifted = windows(x - 1e6, filter.shape[:2], strides, rates, padding)
    cells = lifted.unflatten(-1, (-1, x.shape[-1]))
    cells = torch.where(cells == 0, -1e9, cells + 1e6)
    return (cells + filter.flatten(0, 1)).amax(-2)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("sizes", "strides", "rates"), CASES)
def test_dilation(sizes, strides, rates, padding: str) -> None:
    rng = np.random.default_rng(0)
    image, filter = rng.normal(size=(2, 7, 9, 3)), rng.normal(size=(*sizes, 3))
    check_op(
        lambda x, w: dilation2d(x, w, [1, *strides, 1], [1, *rates, 1], padding),
        lambda x, w: dilated(x, w, strides, rates, padding),
        image,
        filter,
        rtol=1e-6,
    )


def test_erosion() -> None:
    rng = np.random.default_rng(0)
    image, filter = rng.normal(size=(1, 5, 6, 2)), rng.normal(size=(2, 3, 2))
    check_op(
        lambda x, w: erosion2d(x, w, [1, 1, 1, 1], [1, 1, 1, 1], "VALID"),
        lambda x, w: -dilated(-x, w.flip(0, 1), (1, 1), (1, 1), "VALID"),
        image,
        filter,
    )


@pytest.mark.parametrize("dtype", ["int32", "uint8", "uint16", "float16"])
def test_types(dtype: str) -> None:
    image = np.arange(12).reshape(1, 3, 4, 1).astype(dtype)
    filter = np.array([[[1]], [[2]]], dtype)
    with Session() as session:
        value = session.run(dilation2d(image, filter, [1] * 4, [1] * 4, "VALID"))
    assert value.dtype == dtype
    np.testing.assert_array_equal(value[0, :, :, 0], image[0, 1:, :, 0] + 2)


def test_a_window_outside_the_image() -> None:
    """Holes so wide that no cell meets a pixel leave the least number."""
    with Session() as session:
        value = session.run(
            dilation2d(
                np.ones((1, 1, 1, 1), np.float32), np.zeros((2, 1, 1), np.float32), [1] * 4, [1, 3, 1, 1], "SAME"
            )
        )
    assert value.item() == np.finfo(np.float32).min


def test_infinite_gradients_go_only_to_the_maximum() -> None:
    image = constant(np.array([1.0, 3, 2]).reshape(1, 1, 3, 1))
    filter = constant(np.zeros((1, 3, 1)))
    result = dilation2d(image, filter, [1] * 4, [1] * 4, "VALID")
    with Session() as session:
        by_image, by_filter = session.run(gradients(result, [image, filter], np.full((1, 1, 1, 1), np.inf)))
    assert by_image.ravel().tolist() == by_filter.ravel().tolist() == [0, np.inf, 0]


def test_depths_must_agree() -> None:
    with pytest.raises(ValueError, match="depths differ: 3 and 2"):
        dilation2d(np.zeros((1, 4, 4, 3)), np.zeros((2, 2, 2)), [1] * 4, [1] * 4, "SAME")
