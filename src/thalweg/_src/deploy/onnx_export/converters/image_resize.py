"""Converters of image resizing."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.graph.ir.step_graph import Node


def _resize(w: GraphWriter, node: Node, images: str, size: str, mode: str, **attrs: Any) -> str:
    if node.attrs["align_corners"]:
        coordinates = "align_corners"
    else:
        coordinates = "half_pixel" if node.attrs["half_pixel_centers"] else "asymmetric"
    x = w.channels_first(images, 4)
    static = node.shapes[0]
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, **attrs}
    if mode == "cubic":  # runtimes that move transposes have it for images with channels first alone
        flat = w.reshape(x, w.join([-1, 1], w.dims(x, 2)))
        resized = w.add("Resize", flat, None, None, w.join(w.dims(flat, 0, 2), w.index(size)), **attributes)
        return w.channels_last(w.reshape(resized, w.join(w.dims(x, 0, 2), w.index(size))), 4)
    if static is not None and None not in static:
        sizes: Any = [static[0], static[3], static[1], static[2]]
    else:
        sizes = w.join(w.dims(x, 0, 2), w.index(size))
    return w.channels_last(w.add("Resize", x, None, None, sizes, **attributes), 4)


@converter("ResizeBilinear")
def bilinear(w: GraphWriter, node: Node, images: str, size: str) -> str:
    return _resize(w, node, w.cast(images, dtypes.float32, node.input_dtype(0)), size, "linear")


@converter("ResizeBicubic")
def bicubic(w: GraphWriter, node: Node, images: str, size: str) -> str:
    """Interpolates with the kernel of Keys, at half pixels with his coefficient and renormalized at the edges."""
    centered = bool(node.attrs["half_pixel_centers"])
    attrs = {"cubic_coeff_a": -0.5 if centered else -0.75, "exclude_outside": int(centered)}
    return _resize(w, node, w.cast(images, dtypes.float32, node.input_dtype(0)), size, "cubic", **attrs)


@converter("ResizeNearestNeighbor")
def nearest(w: GraphWriter, node: Node, images: str, size: str) -> str:
    exact = node.attrs["align_corners"] or node.attrs["half_pixel_centers"]
    return _resize(w, node, images, size, "nearest", nearest_mode="round_prefer_ceil" if exact else "floor")
