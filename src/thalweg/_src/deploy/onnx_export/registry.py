"""The registry of converters: op names to functions that write ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from thalweg._src.base.registry import Loader, Registry
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.graph.ir.step_graph import Node


class Converter(Protocol):
    """Writes the nodes of an operation: takes the values of its inputs, returns those of its outputs.

    One value stands for the first output; outputs without a value may be None.
    """

    def __call__(self, w: GraphWriter, node: Node, /, *inputs: Any) -> Any:
        """Writes the nodes."""


CONVERTERS: Registry[Converter] = Registry("ONNX converter", Loader("thalweg._src.deploy.onnx_export.converters"))


def converter(*ops: str) -> Callable[[Any], Any]:
    """Registers the converter of some ops."""

    def register(function: Any) -> Any:
        for name in ops:
            CONVERTERS.register(name, function, function.__module__)
        return function

    return register
