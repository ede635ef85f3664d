"""Conditionals in converted code: `if` statements and conditional expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.graph import nest
from thalweg._src.graph.autograph import effects
from thalweg._src.graph.autograph.values import (
    SCALARS,
    UNDEFINED,
    array_of,
    copied,
    error_text,
    is_return_value,
    leaves,
    packed,
    predicate,
    renewed,
    shown_name,
    shown_type,
    symbolic,
    tensors_of,
)
from thalweg._src.graph.control_flow.context import Branch, bring
from thalweg._src.graph.control_flow.structures import value_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.control_flow import merge_op
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reshape import zeros
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor

Block = Callable[[], Any]
Names = tuple[str, ...]
State = tuple[Any, ...]


def if_stmt(
    condition: object,
    body: Block,
    orelse: Block,
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    names: Names,
    live: Names,
) -> None:
    """Runs one block of an `if` statement, or adds both to the graph if the condition is a tensor.

    names: the variables that the blocks modify
    live: those that are read afterwards
    """
    if not symbolic(condition):
        body() if condition else orelse()
        return
    # Both blocks are run while the graph is built, each from the same state: the variables are set back before each of
    # them. Lists and dictionaries are copied, so that `list.append` in one block is not seen in the other.
    entry = get_state()
    entries: list[State] = []

    def run(block: Block) -> State:
        entries.append(tuple(map(copied, entry)))  # so that a block sees no changes in place of the other one
        set_state(entries[-1])
        block()
        return get_state()

    def merge(merger: Merger, if_true: State, if_false: State) -> State:
        merged = []
        for number, name in enumerate(names):
            value: Any = UNDEFINED
            if name in live:
                value = merger.merged(name, if_true[number], if_false[number])
                # The variable still holds the list that the block was given: it was changed in place, not assigned.
                # Then the original changes, too, since other variables may refer to it.
                if all(end[number] is start[number] for end, start in zip((if_true, if_false), entries)):
                    value = _in_place(entry[number], value)
            merged.append(value)
        return tuple(merged)

    set_state(_conditional(condition, "if", lambda: run(body), lambda: run(orelse), merge))


def if_exp(condition: object, if_true: Block, if_false: Block) -> Any:
    """Returns the value of a conditional expression."""
    if not symbolic(condition):
        return if_true() if condition else if_false()
    return _conditional(
        condition, "if", if_true, if_false, lambda merger, one, other: merger.merged("the expression", one, other)
    )


def _conditional(
    condition: object, statement: str, if_true: Block, if_false: Block, merge: Callable[[Merger, Any, Any], Any]
) -> Any:
    """Traces both functions as branches of the graph and returns what `merge` makes from their results."""
    pred = predicate(condition, statement)
    with effects.ordered(), name_scope(None, "cond", [pred]) as scope:
        pred = identity(pred, name="pred_id")
        graph = get_default_graph()
        when_true, when_false = (Branch(graph, scope[:-1], pred, side) for side in (True, False))
        when_true.sibling, when_false.sibling = when_false, when_true
        # Effects inside of a branch, such as printing, make its signal wait. The Merge of both signals is then the one
        # effect of the conditional: it runs when the taken branch has done all it does, and a caller can wait for it.
        results, signals, orders = [], [], []
        for branch, function in ((when_true, if_true), (when_false, if_false)):
            with graph.block() as order, branch.entered(), effects.block_scope() as block:
                results.append(function())
                assert branch.pivot is not None
                inside = [*block.effects, *graph.accesses]
                signals.append((bool(inside), with_dependencies(inside, branch.pivot.outputs[0])))
            orders.append(order)
        merged = merge(Merger(when_true, when_false), *results)
        if any(has_effects for has_effects, _ in signals):
            ran = merge_op.many([signals[1][1], signals[0][1]], name="Merge")[0]
            effects.effect(ran.op)
            graph.close(orders, [ran])
    return merged


def _in_place(original: object, value: Any) -> Any:
    """Returns a list or dictionary that the blocks change in place, with its new elements."""
    if isinstance(original, list):
        original[:] = value
    elif isinstance(original, dict):
        original.clear()
        original.update(value)
    else:
        return value
    return original


class Merger:
    """Merges the values that a variable has after two branches."""

    def __init__(self, when_true: Branch, when_false: Branch) -> None:
        self._branches = (when_true, when_false)

    def merged(self, name: str, if_true: object, if_false: object) -> Any:
        """Returns the value of a variable after the branches."""
        # The same object on both sides (a variable that neither changed, or both set to one constant) needs no Merge.
        if if_true is if_false:
            return if_true
        if if_true is UNDEFINED or if_false is UNDEFINED:
            # A return value is read only if it was set, which its flag says, so that anything may stand for it in the
            # other branch. Every other variable is read afterwards, else it would not be live.
            if not is_return_value(name):
                lacking = "main" if if_true is UNDEFINED else "else"
                raise ValueError(
                    error_text(
                        f"{shown_name(name)} must also be initialized in the {lacking} branch: it has a value after "
                        "only one branch of a conditional on a tensor.\n"
                        "  hint: assign it before the `if`, or in both branches."
                    )
                )
            if_true, if_false = self._filled(if_true, if_false)
        try:
            nest.assert_same_structure(if_true, if_false, expand_composites=True)
        except (TypeError, ValueError) as error:
            raise type(error)(
                error_text(f"{shown_name(name)} must have the same nested structure in both branches: {error}")
            ) from None
        pairs = zip(leaves(if_true), leaves(if_false))
        return packed(if_true, [self._leaf(name, *pair) for pair in pairs])

    def _filled(self, if_true: object, if_false: object) -> tuple[Any, Any]:
        """Returns two values of which one was undefined; what takes its place is never read."""
        side = 0 if if_true is UNDEFINED else 1
        # In the branch, so that it is computed only if that side is taken.
        with self._branches[side].entered():
            other = if_false if side == 0 else if_true
            filled = packed(other, [placeholder(leaf) for leaf in leaves(other)])
        return (filled, if_false) if side == 0 else (if_true, filled)

    def _leaf(self, name: str, if_true: object, if_false: object) -> Any:
        if if_true is if_false or (_is_scalar(if_true) and type(if_true) is type(if_false) and if_true == if_false):
            return if_true
        # Leaves that are no tensors, such as functions, cannot be merged: which one holds is known only in the step.
        # Arrays must be one array, as a Merge of flows of two arrays would read the wrong one.
        one, other = tensors_of(if_true), tensors_of(if_false)
        if one is None or other is None or array_of(if_true) is not array_of(if_false):
            raise TypeError(
                error_text(
                    f"{shown_name(name)} must have the same type in both branches of a conditional on a tensor: it is "
                    f"{shown_type(if_true)} in the main branch, {shown_type(if_false)} in the other one.{_hint(name)}"
                )
            )
        return renewed(if_true, [self._tensor(name, *pair) for pair in zip(one, other)])

    def _tensor(self, name: str, if_true: object, if_false: object) -> Tensor:
        # `x = 0` in one branch and a float tensor in the other: the number becomes a tensor of the other's type.
        literal_types = _literal_type(if_true, if_false), _literal_type(if_false, if_true)
        tensors = []
        for branch, value, dtype in zip(self._branches, (if_true, if_false), literal_types):
            with branch.entered():
                tensor = value_of(value) if dtype is None else convert_to_tensor(value, dtype)
                tensors.append(bring(tensor, branch))
        one, other = tensors
        if one.dtype is not other.dtype:
            raise TypeError(
                error_text(
                    f"{shown_name(name)} must have the same dtype in both branches of a conditional on a tensor: it is "
                    f"{one.dtype.name} in the main branch, {other.dtype.name} in the other one.\n"
                    "  hint: convert one of them with tf.cast."
                )
            )
        return merge_op.many([other, one], name="Merge")[0]  # type: ignore[no-any-return]


def placeholder(leaf: object) -> Any:
    """Returns a value of the type of a leaf that stands for it where it is never read."""
    if isinstance(leaf, Tensor):
        return zeros([0 if size is None else size for size in leaf.dims or ()], leaf.dtype.base_dtype)
    return leaf


def _is_scalar(value: object) -> bool:
    return isinstance(value, SCALARS)


def _literal_type(value: object, other: object) -> DType | None:
    """Returns the type in which a Python number becomes a tensor, by the value of the other branch."""
    if not _is_scalar(value):
        return None
    if _is_scalar(other):
        is_mixed = {type(value), type(other)} == {int, float}
        return dtypes.float32 if is_mixed else None
    dtype: Any = getattr(other, "dtype", None)
    if dtype is None:
        return None
    dtype = dtypes.as_dtype(dtype).base_dtype
    numbers = {int: dtype.is_integer or dtype.is_floating or dtype.is_complex, float: dtype.is_floating}
    return dtype if numbers.get(type(value)) else None


def _hint(name: str) -> str:
    if is_return_value(name):
        return "\n  hint: a function that returns a value in one branch must return one in the other too."
    return ""
