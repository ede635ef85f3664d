"""The state of a loop in converted code: the variables that its iterations pass on, as a list of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import shapes
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import nest
from thalweg._src.graph.autograph.conditionals import if_stmt
from thalweg._src.graph.autograph.lists import TensorList
from thalweg._src.graph.autograph.syntax import RETURN_VALUE
from thalweg._src.graph.autograph.values import (
    SCALARS,
    UNDEFINED,
    array_of,
    copied,
    error_text,
    is_return_value,
    leaves,
    packed,
    renewed,
    shown_name,
    shown_type,
    tensors_of,
)
from thalweg._src.graph.control_flow.structures import value_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.tensor import Tensor

State = tuple[Any, ...]


class LoopState:
    """The variables of a loop.

    names: the variables that the body modifies
    carried: those of them that an iteration or the code after the loop reads
    live: those that the code after the loop reads
    appended: those that the body appends to
    """

    def __init__(
        self,
        get_state: Callable[[], State],
        set_state: Callable[[State], None],
        names: tuple[str, ...],
        carried: tuple[str, ...],
        live: tuple[str, ...],
        appended: tuple[str, ...],
    ) -> None:
        self._get = get_state
        self._set = set_state
        self._names = names
        self._values: dict[str, Any] = {}
        self._returned: Any = None
        self.returns = False  # whether the body may set the return value, which has none before
        # A variable that each iteration sets before it reads it, and nothing reads after the loop, is no state of the
        # loop: it needs no value before, and no type that holds in all iterations.
        for name, value in zip(names, get_state()):
            if name not in carried:
                continue
            if value is not UNDEFINED:
                self._values[name] = self._initial(value, name in appended)
            elif is_return_value(name):
                self.returns = True
            elif name in live:
                raise ValueError(
                    error_text(
                        f"{shown_name(name)} must be defined before the loop: it is read after it, and a loop on "
                        "tensors may have no iterations.\n  hint: assign it before the loop."
                    )
                )

    @staticmethod
    def _initial(value: object, appended: bool) -> Any:
        if appended and isinstance(value, list):
            return TensorList(value)
        converted = []
        for leaf in leaves(value):
            components = tensors_of(leaf)
            converted.append(leaf if components is None else renewed(leaf, list(map(value_of, components))))
        return packed(value, converted)

    def tensors(self) -> list[Tensor]:
        """Returns the initial values."""
        return [t for value in self._values.values() for leaf in leaves(value) for t in tensors_of(leaf) or ()]

    def shapes(self, invariants: Any) -> list[Shape]:
        """Returns the shapes that hold in every iteration; invariants: pairs of a variable's value and a shape."""
        # The user names variables by their values, which identity finds again among those before the loop.
        by_leaf: dict[int, Shape] = {}
        before = dict(zip(self._names, self._get()))
        for value, shape in invariants or ():
            leaf_shapes = list(shape) if nest.is_nested(value) else [shape]
            matches = [name for name in self._values if before[name] is value]
            if not matches:
                raise ValueError(
                    error_text(f"shape_invariants: no variable of the loop has the value {value!r} before it.")
                )
            for name in matches:
                pairs = zip(leaves(self._values[name]), leaf_shapes)
                by_leaf |= {id(leaf): shapes.as_shape(dims) for leaf, dims in pairs}
        return [by_leaf.get(id(tensor), tensor.dims) for tensor in self.tensors()]

    def enter(self, tensors: Sequence[Tensor]) -> None:
        """Sets the variables to the values of an iteration, or of the end of the loop."""
        values = self._packed(tensors)
        self._set(tuple(values.get(name, UNDEFINED) for name in self._names))

    def _packed(self, tensors: Sequence[Tensor]) -> dict[str, Any]:
        # Tensors come in the order of `tensors`. The structures are copied, as the condition and the body may change a
        # list in place, and each of them starts from the state at the beginning of an iteration.
        remaining = iter(tensors)
        values = {}
        for name, value in self._values.items():
            new = []
            for leaf in leaves(value):
                components = tensors_of(leaf)
                new.append(leaf if components is None else renewed(leaf, [next(remaining) for _ in components]))
            values[name] = copied(packed(value, new))
        return values

    def leave(self, tensors: Sequence[Tensor], returned: object) -> None:
        """Sets the variables to their values after the loop."""
        values = self._packed(tensors)
        self._set(
            tuple(
                returned if is_return_value(name) and self.returns else values.get(name, UNDEFINED)
                for name in self._names
            )
        )

    def return_value(self) -> Any:
        """Returns the return value after an iteration, UNDEFINED if it has none."""
        return next((value for name, value in zip(self._names, self._get()) if is_return_value(name)), UNDEFINED)

    def learn_return_value(self) -> None:
        """Keeps a value of the type that the return value has after an iteration."""
        # The type of the return value is not known before the body has been traced once.
        value = self.return_value()
        if value is not UNDEFINED:
            self._returned = packed(value, [_unread(leaf) for leaf in leaves(value)])

    def add_return_value(self) -> None:
        """Makes the return value a variable of the loop, with a first value that is never read."""
        self.returns = False
        self._values[RETURN_VALUE] = self._initial(self._returned, False)

    def run_if(self, condition: object, block: Callable[[], None]) -> None:
        """Runs a block if a condition is true; otherwise the variables keep their values."""
        if_stmt(condition, block, lambda: None, self._get, self._set, self._names, tuple(self._values))

    def following(self, invariants: Sequence[Shape]) -> list[Tensor]:
        """Returns the values after an iteration, which must have the types of the initial ones."""
        after = dict(zip(self._names, self._get()))
        remaining = iter(invariants)
        return [
            tensor
            for name, before in self._values.items()
            for tensor in self._following(name, before, after[name], remaining)
        ]

    def _following(self, name: str, before: object, after: object, invariants: Iterator[Shape]) -> list[Tensor]:
        if after is UNDEFINED:
            raise ValueError(error_text(f"{shown_name(name)} is deleted in the body of a loop on tensors."))
        try:
            nest.assert_same_structure(before, after, expand_composites=True)
        except (TypeError, ValueError) as error:
            raise type(error)(
                error_text(
                    f"{shown_name(name)} does not have the same nested structure before and after one iteration: "
                    f"{error}"
                )
            ) from None
        tensors = []
        for old, new in zip(leaves(before), leaves(after)):
            # A leaf that is no tensor has to stay what it is: a loop of the graph traces its body once.
            if tensors_of(old) is None and (new is old or _equal(new, old)):
                continue
            # The types of the first iteration hold for all: a Merge has one type, and the back edge leads into it.
            self._require_same_kind(name, old, new)
            for start, end in zip(tensors_of(old) or (), tensors_of(new) or ()):
                tensor = _as_type_of(start, end)
                self._require_fit(name, start, tensor, next(invariants))
                tensors.append(tensor)
        return tensors

    @staticmethod
    def _require_same_kind(name: str, old: object, new: object) -> None:
        if tensors_of(old) is None or tensors_of(new) is None or array_of(old) is not array_of(new):
            raise TypeError(
                error_text(
                    f"{shown_name(name)} must keep its type in a loop on tensors: it is {shown_type(old)} before the "
                    f"loop, {shown_type(new)} after one iteration.\n  hint: initialize it with a value of its type."
                )
            )

    @staticmethod
    def _require_fit(name: str, start: Tensor, tensor: Tensor, invariant: Shape) -> None:
        if tensor.dtype is not start.dtype.base_dtype:
            raise TypeError(
                error_text(
                    f"{shown_name(name)} has dtype {start.dtype.name} before the loop, but dtype {tensor.dtype.name} "
                    "after one iteration.\n  hint: initialize it with that type, or use tf.cast."
                )
            )
        if shapes.most_general(invariant, tensor.dims) != invariant:
            raise ValueError(
                error_text(
                    f"{shown_name(name)} has shape {shapes.show(invariant)} before the loop, but shape "
                    f"{shapes.show(tensor.dims)} after one iteration.\n  hint: use "
                    f"tf.autograph.experimental.set_loop_options(shape_invariants=[({name}, shape)]) in the loop."
                )
            )


def _unread(leaf: object) -> Any:
    """Returns an array of the type of a tensor, in place of a value that is never read."""
    if not isinstance(leaf, Tensor):
        return leaf
    return np.zeros([0 if size is None else size for size in leaf.dims or ()], leaf.dtype.as_numpy_dtype)


def _equal(new: object, old: object) -> bool:
    try:
        return type(new) is type(old) and bool(new == old)
    except Exception:
        return False


def _as_type_of(start: Tensor, value: object) -> Tensor:
    """Returns a value as a tensor; a Python number takes the type of the variable if it can."""
    if isinstance(value, SCALARS):
        try:
            return convert_to_tensor(value, start.dtype.base_dtype)
        except (TypeError, ValueError):
            pass
    return value_of(value)
