"""Kernels of bounding boxes: crop_and_resize, drawing, glimpses and random crops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import errors
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

# -- crops ------------------------------------------------------------------------------------------------------------


def _require_boxes(boxes: torch.Tensor, box_ind: torch.Tensor, batch: int) -> None:
    require(boxes.ndim == 2 and boxes.shape[1] == 4, f"boxes has shape {list(boxes.shape)}", expected="4 columns")
    require(box_ind.shape == boxes.shape[:1], f"box_ind has shape {list(box_ind.shape)}", expected="one per box")
    outside, endless = (box_ind < 0) | (box_ind >= batch), ~boxes.isfinite()
    if bool(outside.any() | endless.any()):
        require(
            bool(outside.any()), "boxes contains values that are not finite", expected="fractions of height and width"
        )
        text = f"box_ind contains indices outside [0, {batch}), the images of the batch"
        raise errors.OutOfRangeError(None, None, text)


class _Axis:
    """One axis of each crop: the pixels before and after each sample position, the fraction between, and if inside."""

    def __init__(self, first: torch.Tensor, last: torch.Tensor, old: int, new: int, nearest: bool) -> None:
        steps = torch.arange(new, dtype=torch.float32, device=first.device)
        if new > 1:
            coordinates = first[:, None] * (old - 1) + steps * ((last - first) * (old - 1) / (new - 1))[:, None]
        else:
            coordinates = (0.5 * (first + last) * (old - 1))[:, None]
        self.inside = (coordinates >= 0) & (coordinates <= old - 1)
        coordinates = torch.where(self.inside, coordinates, 0)
        low = torch.floor(coordinates + 0.5) if nearest else torch.floor(coordinates)
        self.share = torch.zeros_like(low) if nearest else coordinates - low
        self.low = low.long().clamp_(0, old - 1)
        self.high = self.low if nearest else torch.ceil(coordinates).long().clamp_(0, old - 1)


class _Grid:
    """The sampling grid of the crops: four neighbors with their weights for each output pixel."""

    def __init__(
        self, boxes: torch.Tensor, box_ind: torch.Tensor, old: tuple[int, int], new: tuple[int, int], method: str
    ) -> None:
        y1, x1, y2, x2 = boxes.unbind(1)
        nearest = method == "nearest"
        self.rows = _Axis(y1, y2, old[0], new[0], nearest)
        self.columns = _Axis(x1, x2, old[1], new[1], nearest)
        self.starts = box_ind.long()[:, None, None] * (old[0] * old[1])
        self.width = old[1]
        self.nearest = nearest
        self.inside = self.rows.inside[:, :, None] & self.columns.inside[:, None, :]

    def index(self, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """Returns the index in the flat list of all pixels."""
        return self.starts + rows[:, :, None] * self.width + columns[:, None, :]

    def corners(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Yields index and weight of each neighbor."""
        y, x = self.rows.share[:, :, None], self.columns.share[:, None, :]
        rows, columns = self.rows, self.columns
        if self.nearest:
            return [(self.index(rows.low, columns.low), torch.ones_like(y * x))]
        return [
            (self.index(rows.low, columns.low), (1 - y) * (1 - x)),
            (self.index(rows.low, columns.high), (1 - y) * x),
            (self.index(rows.high, columns.low), y * (1 - x)),
            (self.index(rows.high, columns.high), y * x),
        ]


def _pixels(image: torch.Tensor) -> torch.Tensor:
    """Returns an image batch as a flat list of float pixels."""
    require(image.ndim == 4, f"image has rank {image.ndim}", expected="batch, height, width, channels")
    require(0 not in image.shape[1:3], f"image has shape {list(image.shape)}", expected="images with pixels")
    return image.to(torch.float32).flatten(0, 2)


def _take(pixels: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return pixels.index_select(0, index.reshape(-1)).view(*index.shape, pixels.shape[1])


@kernel("CropAndResize")
def bind_crop_and_resize(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    method, outside = node.attrs["method"], node.attrs["extrapolation_value"]

    def crop(image: torch.Tensor, boxes: torch.Tensor, box_ind: torch.Tensor, crop_size: torch.Tensor) -> torch.Tensor:
        pixels = _pixels(image)
        _require_boxes(boxes, box_ind, image.shape[0])
        require(crop_size.shape == (2,), f"crop_size has shape {list(crop_size.shape)}", expected="height and width")
        height, width = crop_size.tolist()
        require(height > 0 and width > 0, f"crop_size is [{height}, {width}]", expected="positive sizes")
        grid = _Grid(boxes, box_ind, (image.shape[1], image.shape[2]), (height, width), method)
        if not pixels.numel():
            return pixels.new_full((len(boxes), height, width, image.shape[3]), outside)
        if grid.nearest:
            values = _take(pixels, grid.index(grid.rows.low, grid.columns.low))
        else:
            x, y = grid.columns.share[:, None, :, None], grid.rows.share[:, :, None, None]
            rows, columns = grid.rows, grid.columns
            top, bottom = (
                torch.lerp(_take(pixels, grid.index(r, columns.low)), _take(pixels, grid.index(r, columns.high)), x)
                for r in (rows.low, rows.high)
            )
            values = torch.lerp(top, bottom, y)
        return torch.where(grid.inside[..., None], values, outside)

    return crop


def _require_grads(grads: torch.Tensor, boxes: torch.Tensor, channels: int) -> None:
    fits = grads.ndim == 4 and grads.shape[0] == boxes.shape[0] and grads.shape[3] == channels
    require(fits, f"grads has shape {list(grads.shape)}", expected=f"{len(boxes)} crops of {channels} channels")


@kernel("CropAndResizeGradImage")
def bind_crop_and_resize_grad_image(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    method, dtype = node.attrs["method"], TORCH[node.dtypes[0]]

    def scatter(
        grads: torch.Tensor, boxes: torch.Tensor, box_ind: torch.Tensor, image_size: torch.Tensor
    ) -> torch.Tensor:
        require(image_size.shape == (4,), f"image_size has shape {list(image_size.shape)}", expected="4 sizes")
        batch, height, width, channels = image_size.tolist()
        require(batch >= 0 and min(height, width) > 0 and channels >= 0, f"image_size is {image_size.tolist()}")
        _require_boxes(boxes, box_ind, batch)
        _require_grads(grads, boxes, channels)
        wide = torch.float64 if dtype is torch.float64 else torch.float32
        result = torch.zeros((batch * height * width, channels), dtype=wide, device=grads.device)
        grid = _Grid(boxes, box_ind, (height, width), (grads.shape[1], grads.shape[2]), method)
        inner_grads = torch.where(grid.inside[..., None], grads, 0).to(wide)
        for index, weight in grid.corners():
            result.index_add_(0, index.reshape(-1), (inner_grads * weight[..., None]).flatten(0, 2))
        return result.view(batch, height, width, channels).to(dtype)

    return scatter


@plain_kernel("CropAndResizeGradBoxes")
def _crop_and_resize_grad_boxes(
    grads: torch.Tensor, image: torch.Tensor, boxes: torch.Tensor, box_ind: torch.Tensor
) -> torch.Tensor:
    pixels = _pixels(image)
    _require_grads(grads, boxes, image.shape[3])
    require(0 not in grads.shape[1:3], f"grads has shape {list(grads.shape)}", expected="crops with pixels")
    _require_boxes(boxes, box_ind, image.shape[0])
    if not grads.numel() or not pixels.numel():
        return boxes.new_zeros((len(boxes), 4))
    old, new = (image.shape[1], image.shape[2]), (grads.shape[1], grads.shape[2])
    grid = _Grid(boxes, box_ind, old, new, "bilinear")
    a, b, c, d = (_take(pixels, index) for index, _ in grid.corners())
    x, y = grid.columns.share[:, None, :, None], grid.rows.share[:, :, None, None]
    inner_grads = torch.where(grid.inside[..., None], grads, 0)
    by_y = (torch.lerp(c - a, d - b, x) * inner_grads).sum((2, 3))
    by_x = (torch.lerp(b - a, d - c, y) * inner_grads).sum((1, 3))
    (y1, y2), (x1, x2) = (_by_ends(by_y, old[0]), _by_ends(by_x, old[1]))
    return torch.stack((y1, x1, y2, x2), 1)


def _by_ends(grads: torch.Tensor, old: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the gradients by the first and the last position of an axis, given those by each position."""
    new = grads.shape[1]
    if new == 1:
        half = 0.5 * (old - 1) * grads[:, 0]
        return half, half
    share = torch.arange(new, dtype=torch.float32, device=grads.device) * ((old - 1) / (new - 1))
    return (grads * (old - 1 - share)).sum(1), (grads * share).sum(1)


# -- drawing ----------------------------------------------------------------------------------------------------------

_COLORS = [
    *([1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1]),
    *([0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]),
]


@plain_kernel("DrawBoundingBoxes", "DrawBoundingBoxesV2")
def _draw(images: torch.Tensor, boxes: torch.Tensor, colors: torch.Tensor | None = None) -> torch.Tensor:
    require(images.ndim == 4, f"images has rank {images.ndim}", expected="batch, height, width, channels")
    batch, height, width, depth = images.shape
    require(depth in (1, 3, 4), f"images has {depth} channels", expected="1, 3 or 4 channels")
    fits = boxes.ndim == 3 and boxes.shape[0] == batch and boxes.shape[2] == 4
    require(fits, f"boxes has shape {list(boxes.shape)}", expected="4 columns per image")
    table = torch.tensor(_COLORS) if colors is None or not len(colors) else colors
    require(table.ndim == 2 and table.shape[1] >= depth, f"colors has shape {list(table.shape)}")
    palette = table[:, :depth].to(images.device, images.dtype, copy=True)
    if depth == 1 and colors is None:
        palette.fill_(1)
    result = images.clone()
    sizes = np.array([height - 1, width - 1] * 2, np.float32)
    with np.errstate(all="ignore"):
        corners = np.nan_to_num(boxes.cpu().numpy() * sizes, nan=-(2.0**62)).clip(-(2.0**62), 2.0**62)
    for image, image_boxes in zip(result, corners.astype(np.int64).tolist()):
        for number, box in enumerate(image_boxes):
            _outline(image, box, palette[number % len(palette)])
    return result


def _outline(image: torch.Tensor, box: list[int], color: torch.Tensor) -> None:
    """Draws the edges of one box that lie in the image."""
    height, width, _ = image.shape
    top, left, bottom, right = box
    if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
        return
    rows, columns = slice(max(top, 0), min(bottom, height - 1) + 1), slice(max(left, 0), min(right, width - 1) + 1)
    if top >= 0:
        image[top, columns] = color
    if bottom < height:
        image[bottom, columns] = color
    if left >= 0:
        image[rows, left] = color
    if right < width:
        image[rows, right] = color


# -- glimpses ---------------------------------------------------------------------------------------------------------


@kernel("ExtractGlimpse", "ExtractGlimpseV2")
def bind_glimpse(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    centered, normalized, first = node.attrs["centered"], node.attrs["normalized"], node.type == "ExtractGlimpse"
    noise = "uniform" if node.attrs["uniform_noise"] else node.attrs["noise"]
    if first and not node.attrs["uniform_noise"] and noise == "uniform":
        noise = "gaussian"
    generator = torch.Generator(device.torch).manual_seed(0)

    def extract(images: torch.Tensor, size: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        require(images.ndim == 4, f"input has rank {images.ndim}", expected="batch, height, width, channels")
        fits = offsets.shape == (images.shape[0], 2)
        require(fits, f"offsets has shape {list(offsets.shape)}", expected="y and x per image")
        require(size.shape == (2,), f"size has shape {list(size.shape)}", expected="a height and a width")
        height, width = size.tolist()
        require(height >= 0 and width >= 0, f"size is [{height}, {width}]", expected="non-negative sizes")
        have = torch.tensor(images.shape[1:3], dtype=torch.float32, device=offsets.device)
        coordinates = offsets * have if normalized else offsets
        if centered:
            coordinates = (coordinates / 2 if first or normalized else coordinates) + have / 2
        if first or (centered and normalized):  # the second version has corners otherwise, not centers
            coordinates = coordinates - torch.tensor([height, width], device=coordinates.device) / 2
        starts = torch.nan_to_num(coordinates, nan=2.0**40).clamp(-(2.0**40), 2.0**40).trunc().long()
        rows = starts[:, :1] + torch.arange(height, device=coordinates.device)
        columns = starts[:, 1:] + torch.arange(width, device=coordinates.device)
        h, w = images.shape[1:3]
        inside = ((rows >= 0) & (rows < h))[:, :, None] & ((columns >= 0) & (columns < w))[:, None, :]
        shape = (images.shape[0], height, width, images.shape[3])
        background = _noise(noise, images, shape, generator)
        if 0 in images.shape:
            return background
        batch = torch.arange(images.shape[0], device=images.device)[:, None, None]
        pixels = images[batch, rows.clamp(0, h - 1)[:, :, None], columns.clamp(0, w - 1)[:, None, :]]
        return torch.where(inside[..., None], pixels, background)

    return extract


def _noise(kind: str, images: torch.Tensor, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Returns the background of the images: zeros, or noise with their range or their statistics."""
    if kind == "zero" or not images.numel():
        return images.new_zeros(shape)
    if kind == "uniform":
        low, high = images.amin((1, 2, 3), keepdim=True), images.amax((1, 2, 3), keepdim=True)
        return low + (high - low) * torch.rand(shape, generator=generator, device=images.device)
    mean = images.mean((1, 2), keepdim=True)
    deviation = images.std((1, 2), keepdim=True, unbiased=False)
    return mean + deviation * torch.randn(shape, generator=generator, device=images.device)


# -- random windows ---------------------------------------------------------------------------------------------------


@kernel("SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2")
def bind_sample(node: Node, device: Device) -> Callable[..., Any]:
    attrs = node.attrs
    aspects, areas = attrs["aspect_ratio_range"], attrs["area_range"]

    def make() -> np.random.Generator:
        seeds = [attrs["seed"] & (2**64 - 1), attrs["seed2"] & (2**64 - 1)]
        return np.random.default_rng(seeds if any(seeds) else None)

    rng: np.random.Generator = device.state(node.name, make)

    def sample(image_size: torch.Tensor, boxes: torch.Tensor, covered: torch.Tensor | None = None) -> Any:
        require(image_size.shape == (3,), f"image_size has shape {list(image_size.shape)}", expected="3 sizes")
        height, width, _ = image_size.tolist()
        require(height > 0 and width > 0, f"image_size is {image_size.tolist()}", expected="positive sizes")
        least = attrs["min_object_covered"] if covered is None else _scalar(covered)
        require(least >= 0, f"min_object_covered is {least}", expected="a fraction of at least 0")
        objects = _objects(boxes, height, width, attrs["use_image_if_no_bounding_boxes"])
        window = (0, 0, height, width)
        for _ in range(attrs["max_attempts"]):
            candidate = _random_window(rng, height, width, areas, rng.uniform(*aspects))
            if candidate is not None and _covers(candidate, objects, least):
                window = candidate
                break
        top, left, bottom, right = window
        begin = torch.tensor([top, left, 0]).to(image_size.dtype)
        size = torch.tensor([bottom - top, right - left, -1]).to(image_size.dtype)
        box = torch.tensor([top / height, left / width, bottom / height, right / width], dtype=torch.float32)
        return begin, size, box.view(1, 1, 4)

    return sample


def _scalar(value: torch.Tensor) -> float:
    require(value.ndim == 0, f"min_object_covered has shape {list(value.shape)}", expected="a scalar")
    return float(value)


def _objects(boxes: torch.Tensor, height: int, width: int, whole: bool) -> np.ndarray[Any, Any]:
    """Returns the boxes in integer pixels: top, left, bottom, right."""
    require(boxes.ndim == 3 and boxes.shape[2] == 4, f"bounding_boxes has shape {list(boxes.shape)}", "4 columns")
    flat = boxes.reshape(-1, 4).numpy()
    if not len(flat):
        hint = "use_image_if_no_bounding_boxes=True uses the whole image"
        require(whole, "there is no bounding box", expected="at least one box", hint=hint)
        return np.array([[0, 0, height, width]])
    inside = bool(((flat >= 0) & (flat <= 1)).all())
    require(inside, "bounding_boxes has corners outside the image", expected="fractions of [0, 1]")
    require(bool((flat[:, :2] <= flat[:, 2:]).all()), "bounding_boxes has corners in the wrong order")
    return (flat * np.array([height, width] * 2, np.float32)).astype(np.int64)


def _random_window(
    rng: np.random.Generator, height: int, width: int, areas: tuple[float, float], aspect: float
) -> tuple[int, int, int, int] | None:
    """Returns a window of random area and position with the given aspect ratio, or None if none fits."""
    low, high = (share * height * width for share in areas)
    least, most = round((low / aspect) ** 0.5), round((high / aspect) ** 0.5)
    if round(most * aspect) > width:
        most = int((width + 0.5 - 1e-7) / aspect)
        most -= round(most * aspect) > width
    most = min(most, height)
    tall = int(rng.integers(min(least, most), most, endpoint=True))
    if tall * round(tall * aspect) < low:
        tall += 1
    if tall * round(tall * aspect) > high:
        tall -= 1
    wide = round(tall * aspect)
    if not (low <= tall * wide <= high and 0 < tall <= height and 0 < wide <= width):
        return None
    top = int(rng.integers(height - tall)) if tall < height else 0
    left = int(rng.integers(width - wide)) if wide < width else 0
    return top, left, top + tall, left + wide


def _covers(window: tuple[int, ...], objects: np.ndarray[Any, Any], least: float) -> bool:
    top, left, bottom, right = window
    areas = (objects[:, 2] - objects[:, 0]) * (objects[:, 3] - objects[:, 1])
    heights = np.minimum(objects[:, 2], bottom) - np.maximum(objects[:, 0], top)
    widths = np.minimum(objects[:, 3], right) - np.maximum(objects[:, 1], left)
    shown = np.maximum(heights, 0) * np.maximum(widths, 0)
    return bool(((areas >= 1) & (shown >= least * areas)).any())
