"""Kernels of input pipelines: datasets are built from their inputs, iterators return elements to waiting steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import Shape, compatible, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.data import Definition, definition_of
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.elements import number
from thalweg._src.runtime.kernels.registry import Constant, kernel, plain_kernel
from thalweg._src.runtime.kernels.waiting import failure, require_same, shared
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.iterators import IteratorResource, single_element
from thalweg._src.runtime.resources.step import Step

Function = Callable[..., Any]


def _definition(node: Node) -> Definition:
    token = node.attrs["token"]
    definition = definition_of(token)
    if definition is None:
        raise invalid(
            f"the dataset {token!r} is unknown: it exists only in the process and graph that created it, "
            "and graphs imported with trusted=True"
        )
    return definition


@kernel("_Dataset", devices=("CPU",))
def bind_dataset(node: Node, device: Device) -> Function:
    constants = frozenset(i for i in range(len(node.inputs)) if node.constant(i) is not None)
    return _definition(node).bind(device, constants)


@kernel("IteratorV2", devices=("CPU",))
def bind_iterator(node: Node, device: Device) -> Constant:
    return Constant(_iterator(node, device))


def _iterator(node: Node, device: Device) -> IteratorResource:
    types, shapes = node.attrs["output_types"], node.attrs["output_shapes"]
    iterator: IteratorResource = shared(node, device, "iterator", lambda name: IteratorResource(name, types, shapes))
    require_same(iterator, {"types": types, "shapes": shapes}, {"types": iterator.types, "shapes": iterator.shapes})
    return iterator


@kernel("_OneShotIterator", devices=("CPU",))
def bind_one_shot_iterator(node: Node, device: Device) -> Constant:
    definition = _definition(node)
    name = node.attrs["shared_name"] or node.name
    types, shapes = node.attrs["output_types"], node.attrs["output_shapes"]

    def make() -> IteratorResource:
        iterator = IteratorResource(name, types, shapes)
        iterator.first = definition.bind(device)
        return iterator

    return Constant(device.resources.lookup_or_create(node.attrs["container"], "one-shot iterator", name, make))


def _require_iterator(handle: object) -> IteratorResource:
    if not isinstance(handle, IteratorResource):
        raise invalid(f"the handle is not an iterator: {handle!r}")
    return handle


@plain_kernel("MakeIterator", devices=("CPU",))
def _make_iterator(dataset: Any, handle: object) -> None:
    iterator = _require_iterator(handle)
    if not hasattr(dataset, "iterate"):
        raise invalid(f"the variant is not a dataset: {dataset!r}")
    iterator.make(dataset)


@plain_kernel("IteratorToStringHandle", devices=("CPU",))
def _to_string_handle(handle: object) -> Any:
    return np.array(_require_iterator(handle).handle.encode(), dtype=object)


@kernel("IteratorFromStringHandleV2", devices=("CPU",))
def bind_from_string_handle(node: Node, device: Device) -> Function:
    types, shapes = node.attrs["output_types"], node.attrs["output_shapes"]

    def find(handle: np.ndarray[Any, Any]) -> IteratorResource:
        require(handle.ndim == 0, f"string_handle has shape {show(handle.shape)}", expected="a scalar")
        text = handle.item()
        if not text.startswith(b"iterator/"):
            raise invalid(f"{text!r} is not the handle of an iterator")
        iterator = IteratorResource.by_handle.get(text.decode("utf-8", "surrogateescape"))
        if iterator is None:
            raise errors.NotFoundError(None, None, f"no iterator has the handle {text!r}: its session may be closed")
        if types:
            _require_outputs(iterator, types, shapes)
        return iterator

    return find


def _require_outputs(iterator: IteratorResource, types: Sequence[DType], shapes: Sequence[Shape]) -> None:
    if iterator.types != tuple(types):
        actual, asked = (", ".join(dtype.name for dtype in side) for side in (iterator.types, types))
        raise invalid(f"the iterator {iterator.name!r} has elements of ({actual}), but is used with ({asked})")
    for index, (own_shape, shape) in enumerate(zip(iterator.shapes, shapes)):
        if not compatible(own_shape, shape):
            raise invalid(
                f"component {index} of the iterator {iterator.name!r} has shape {show(own_shape)}, "
                f"but is used with {show(shape)}"
            )


@kernel("IteratorGetNext", "IteratorGetNextSync", devices=("CPU",))
def bind_get_next(node: Node, device: Device) -> Function:
    types, shapes, fail = node.attrs["output_types"], node.attrs["output_shapes"], failure(node, device)
    accepted: set[IteratorResource] = set()

    def get_next(step: Step, finish: Function, handle: Any) -> None:
        if handle not in accepted:
            _require_outputs(_require_iterator(handle), types, shapes)
            accepted.add(handle)
        handle.get_next(step, finish, fail)

    return get_next


@kernel("_IteratorState", devices=("CPU",))
def bind_iterator_state(node: Node, device: Device) -> Function:
    fail = failure(node, device)

    def get_state(step: Step, finish: Function, handle: object) -> None:
        _require_iterator(handle).get_state(step, lambda saved: finish(np.array(saved, dtype=object)), fail)

    return get_state


@kernel("_RestoreIterator", devices=("CPU",))
def bind_restore_iterator(node: Node, device: Device) -> Function:
    fail = failure(node, device)

    def set_state(step: Step, finish: Function, handle: object, state: np.ndarray[Any, Any]) -> None:
        if state.ndim:
            raise invalid(f"state has shape {show(state.shape)}, expected a scalar")
        _require_iterator(handle).set_state(state.item(), step, finish, fail)

    return set_state


@kernel("DatasetToSingleElement", devices=("CPU",))
def bind_single_element(node: Node, device: Device) -> Function:
    types, fail = tuple(node.attrs["output_types"]), failure(node, device)

    def take(step: Step, finish: Function, dataset: Any) -> None:
        if not hasattr(dataset, "iterate"):
            raise invalid(f"the variant is not a dataset: {dataset!r}")
        if tuple(dataset.types) != types:
            actual, asked = (", ".join(dtype.name for dtype in side) for side in (dataset.types, types))
            raise invalid(f"the dataset has elements of ({actual}), but ({asked}) is requested")
        single_element(dataset, step, finish, fail)

    return take


@plain_kernel("DatasetCardinality", devices=("CPU",))
def _cardinality(dataset: object) -> Any:
    if not hasattr(dataset, "cardinality"):
        raise invalid(f"the variant is not a dataset: {dataset!r}")
    return number(dataset.cardinality())
