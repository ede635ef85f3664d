"""tf.data.Iterator: takes the elements of datasets in the graph."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.errors import OpError, OutOfRangeError, require_members
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.data import (
    iterator_from_string_handle_op,
    iterator_get_next_op,
    iterator_op,
    iterator_state_op,
    iterator_to_string_handle_op,
    keep_definition,
    make_iterator_op,
    one_shot_iterator_op,
    restore_iterator_op,
)
from thalweg._src.graph.ops.optional import iterator_get_next_as_optional_op
from thalweg._src.graph.scopes import colocate_with
from thalweg._src.graph.source_line import user_stack, with_line
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.graph.walk import preorder
from thalweg._src.runtime.eager.mode import eager_graph, eager_mode
from thalweg._src.runtime.eager.tensor import EagerTensor, kind_of
from thalweg._src.runtime.pipeline import compile_step
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step
from thalweg._src.training.checkpoint.saver_builder import SaveableObject, SaveSpec
from thalweg._src.training.checkpoint.trackable import Child, Saved, children_of, saved_by
from thalweg._src.training.data.node import DatasetNode
from thalweg._src.training.data.optional import Optional
from thalweg._src.training.data.structure import (
    Structure,
    Structured,
    compatible,
    element_of,
    flatten,
    legacy,
    outputs,
    same_form,
    signature_of,
    structure_from,
)

_MANY = 32
_PLAIN = frozenset(("_Dataset", "Assert"))  # stateful, but created anew for each use, or without effect


@export("data.Iterator")
class Iterator(Structured):
    """A position in a dataset; each `get_next` adds tensors that take one element whenever they run."""

    def __init__(
        self,
        iterator_resource: Tensor,
        initializer: Operation | None,
        output_types: Structure,
        output_shapes: Structure,
        output_classes: Structure,
    ) -> None:
        self._set(iterator_resource, initializer, structure_from(output_types, output_shapes, output_classes))

    def _set(self, handle: Tensor, initializer: Operation | None, structure: Structure) -> None:
        self._iterator_resource = handle
        self._initializer = initializer
        self._structure = structure
        self._string_handle: Tensor | None = None
        self._get_next_call_count = 0

    @classmethod
    def _of(cls, handle: Tensor, initializer: Operation | None, structure: Structure) -> Iterator:
        iterator = cls.__new__(cls)
        iterator._set(handle, initializer, structure)
        return iterator

    @staticmethod
    def from_structure(
        output_types: Structure,
        output_shapes: Structure = None,
        shared_name: str | None = None,
        output_classes: Structure = None,
    ) -> Iterator:
        """Returns an iterator that can be initialized with any dataset of a structure."""
        structure = structure_from(output_types, output_shapes, output_classes)
        handle = iterator_op(shared_name=shared_name or "", container="", **outputs(structure))
        return Iterator._of(handle, None, structure)

    @staticmethod
    def from_string_handle(
        string_handle: TensorLike,
        output_types: Structure,
        output_shapes: Structure = None,
        output_classes: Structure = None,
    ) -> Iterator:
        """Returns the iterator named by a string, which may be fed."""
        structure = structure_from(output_types, output_shapes, output_classes)
        text = convert_to_tensor(string_handle, dtypes.string)
        return Iterator._of(iterator_from_string_handle_op(text, **outputs(structure)), None, structure)

    @property
    def initializer(self) -> Operation:
        """The operation that starts at the first element."""
        if self._initializer is None:
            raise ValueError(f"Iterator {self._iterator_resource.op.name!r} does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: DatasetNode, name: str | None = None) -> Operation:
        """Returns an operation that starts at the first element of a dataset."""
        structure = dataset._structure
        if not same_form(self._structure, structure):
            raise TypeError(f"expected a dataset of {self._structure}, received one of {structure}")
        for mine, theirs in zip(flatten(self._structure), flatten(structure)):
            if type(mine) is not type(theirs) or mine.dtype is not theirs.dtype:
                raise TypeError(f"expected a dataset with components {mine}, received {theirs}")
        if not compatible(self._structure, structure):
            raise TypeError(
                f"Expected output shapes compatible with {self.output_shapes}, but got dataset with output shapes "
                f"{legacy(structure, 1)}."
            )
        with colocate_with(self._iterator_resource):
            return make_iterator_op.operation(dataset._variant, self._iterator_resource, name=name)

    def get_next(self, name: str | None = None) -> Any:
        """Returns tensors for the next element; several of them in one step take different elements."""
        self._get_next_call_count += 1
        if self._get_next_call_count == _MANY and not self._iterator_resource.is_eager:
            warnings.warn(
                "Iterator.get_next() was called many times: it adds operations to the graph with each call; "
                "call it once and run what it returns",
                stacklevel=2,
            )
        with colocate_with(self._iterator_resource):
            tensors = iterator_get_next_op.many(self._iterator_resource, name=name, **outputs(self._structure))
        return element_of(self._structure, tensors)

    def get_next_as_optional(self) -> Optional:
        """Returns an optional with the next element, empty after the last one."""
        handle, structure = self._iterator_resource, self._structure
        with colocate_with(handle):
            return Optional(iterator_get_next_as_optional_op(handle, **outputs(structure)), structure)

    def string_handle(self, name: str | None = None) -> Tensor:
        """Returns a string tensor that names this iterator in its session."""
        if name is not None:
            return iterator_to_string_handle_op(self._iterator_resource, name=name)
        if self._string_handle is None:
            self._string_handle = iterator_to_string_handle_op(self._iterator_resource)
        return self._string_handle


@export("contrib.eager.Iterator")
class EagerIterator(Iterator):
    """A position in a dataset of eager execution: returns each element once, in a `for` or by `get_next`."""

    def __init__(self, dataset: DatasetNode) -> None:
        if not executing_eagerly():
            raise RuntimeError(
                "tf.contrib.eager.Iterator objects can only be used when eager execution is enabled, use "
                "tf.data.Dataset.make_initializable_iterator or tf.data.Dataset.make_one_shot_iterator for graph "
                "construction"
            )
        require_members("dataset", dataset, "a dataset", "_variant")
        if not dataset._variant.is_eager:
            raise RuntimeError(f"{dataset!r} was created in a graph: iterate over it in a session")
        structure = dataset._structure
        handle = iterator_op(shared_name="", container="", **outputs(structure))
        make_iterator_op.operation(dataset._variant, handle)
        self._set(handle, None, structure)
        self._types = [dtype for dtype, _ in signature_of(structure)]
        self._host = eager_graph().devices[0]
        weakref.finalize(handle, handle.value.destroy)  # type: ignore[attr-defined]

    @property
    def initializer(self) -> Operation:
        """Fails: the iterator starts at its first element."""
        raise AttributeError("an iterator of eager execution has no initializer: it starts at the first element")

    def __iter__(self) -> EagerIterator:
        return self

    def __next__(self) -> Any:
        """Returns the next element; ends a loop after the last one."""
        outcome = self._next_outcome()
        if isinstance(outcome, OutOfRangeError):
            raise StopIteration
        return self._element(outcome)

    next = __next__

    def get_next(self, name: str | None = None) -> Any:
        """Returns the next element; raises OutOfRangeError after the last one."""
        return self._element(self._next_outcome())

    def _next_outcome(self) -> Any:
        """Returns the values of the next element, or its error."""
        outcome = self._iterator_resource.value.take()  # type: ignore[attr-defined]
        if outcome is None:  # another thread takes an element
            try:
                with eager_mode():
                    output_attrs = outputs(self._structure)
                    outcome = [
                        tensor.value for tensor in iterator_get_next_op.many(self._iterator_resource, **output_attrs)
                    ]
            except OpError as error:
                return error
        return outcome

    def _element(self, outcome: Any) -> Any:
        if isinstance(outcome, OpError):
            kind: Any = type(outcome)
            text = f"{outcome.message} [Op:IteratorGetNext]" if outcome.op is None else outcome.message
            raise kind(outcome.node_def, outcome.op, with_line(text, user_stack())) from None
        types, host = self._types, self._host
        tensors = [
            EagerTensor(value, kind_of(types[i], getattr(value, "ndim", None), host)) for i, value in enumerate(outcome)
        ]
        return element_of(self._structure, tensors)


@export("data.experimental.get_next_as_optional", "contrib.data.get_next_as_optional")
def get_next_as_optional(iterator: Iterator) -> Optional:
    """Returns the next element of an iterator, or nothing after its last one."""
    require_members("iterator", iterator, "an iterator", "get_next_as_optional")
    return iterator.get_next_as_optional()


@export("data.make_initializable_iterator")
def make_initializable_iterator(dataset: DatasetNode, shared_name: str | None = None) -> Iterator:
    """Returns an iterator whose initializer evaluates the inputs of the dataset."""
    if executing_eagerly():
        raise RuntimeError(
            "dataset.make_initializable_iterator is not supported when eager execution is enabled: "
            "use `for element in dataset`, or iter(dataset)"
        )
    _require_here(dataset)
    handle = iterator_op(shared_name=shared_name or "", container="", **outputs(dataset._structure))
    with colocate_with(handle):
        initializer = make_iterator_op.operation(dataset._variant, handle)
    return Iterator._of(handle, initializer, dataset._structure)


@export("data.make_one_shot_iterator")
def make_one_shot_iterator(dataset: DatasetNode) -> Iterator:
    """Returns an iterator that needs no initializer and iterates over the dataset once."""
    if executing_eagerly():
        return EagerIterator(dataset)
    _require_here(dataset)
    _require_independent(dataset._variant)
    graph = get_default_graph()
    token = keep_definition(graph, _OneShot(dataset._variant))
    handle = one_shot_iterator_op(token=token, name="OneShotIterator", **outputs(dataset._structure))
    return Iterator._of(handle, None, dataset._structure)


def _require_here(dataset: DatasetNode) -> None:
    require_members("dataset", dataset, "a dataset", "_variant")
    if dataset._variant.is_eager or dataset._variant.graph is not get_default_graph():
        raise ValueError(
            "an iterator belongs to the graph of its dataset; that is not the default graph here: "
            "create both under the same `with graph.as_default():`"
        )


def _require_independent(variant: Tensor) -> None:
    """Raises unless the dataset can be created without a step: no placeholders, no state."""
    for operation in preorder([variant.op], lambda op: [*(tensor.op for tensor in op.inputs), *op.control_inputs]):
        fed = operation.type == "Placeholder"
        if fed or (operation.definition.stateful and operation.type not in _PLAIN):
            what = "a placeholder" if fed else "a stateful node"
            raise ValueError(
                f"Failed to create a one-shot iterator for a dataset: Cannot capture {what} "
                f"(name:{operation.name}, type:{operation.type}) by value. "
                "`Dataset.make_initializable_iterator()` evaluates it when its initializer runs."
            )


class _OneShot:
    """The definition of a one-shot iterator's dataset, which a step of its own creates."""

    def __init__(self, variant: Tensor) -> None:
        self._variant = variant

    def bind(self, device: Device, constants: frozenset[int] = frozenset()) -> Any:
        def make() -> Any:
            executable = compile_step([], [self._variant], [], ConfigProto(allow_soft_placement=True), [device])
            return executable.run(Step(), [])[0]

        return make


# -- checkpoints ------------------------------------------------------------------------------------------------------


class _IteratorSaveable(SaveableObject):
    """The position of an iterator in a checkpoint."""

    def __init__(self, handle: Tensor, name: str) -> None:
        super().__init__(handle, [SaveSpec(iterator_state_op(handle), "", name)], name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Sequence[ShapeLike] | None) -> Operation:
        with colocate_with(self.op):
            return restore_iterator_op.operation(self.op, restored_tensors[0])


@export("data.experimental.make_saveable_from_iterator", "contrib.data.make_saveable_from_iterator")
def make_saveable_from_iterator(iterator: Iterator) -> SaveableObject:
    """Returns a saveable of the position of an iterator, which may be restored before the iterator is initialized."""
    if not isinstance(iterator, Iterator):
        raise TypeError(f"iterator: expected a tf.data.Iterator, received {type(iterator).__name__}")
    handle = iterator._iterator_resource
    return _IteratorSaveable(handle, f"{handle.op.name}/position")


@children_of.register(Iterator)
def _no_children(iterator: Iterator) -> Iterable[Child]:
    return ()


@saved_by.register(Iterator)
def _saved(iterator: Iterator) -> Saved:
    return {"ITERATOR": lambda key: _IteratorSaveable(iterator._iterator_resource, key)}
