"""Conditionals: `cond`, `case` and `switch_case`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow import structures
from thalweg._src.graph.control_flow.context import Branch, bring, effected
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, less
from thalweg._src.graph.ops.concat import stack
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.control_flow import merge_op
from thalweg._src.graph.ops.identity import ensure_shape, identity
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

Function = Callable[[], Any]


@export("cond")
def cond(
    pred: TensorLike,
    true_fn: Function | None = None,
    false_fn: Function | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Function | None = None,
    fn2: Function | None = None,
) -> Any:
    """Returns the result of `true_fn` or `false_fn`, selected by `pred` when the step runs.

    Operations created inside a branch run only if it is selected; those created before run in any case.

    Args:
        pred: A boolean scalar.
        strict: Whether a result of one element stays in a list.
        fn1: Deprecated name of `true_fn`.
        fn2: Deprecated name of `false_fn`.
    """
    true_fn, false_fn = _function("true_fn", true_fn, "fn1", fn1), _function("false_fn", false_fn, "fn2", fn2)
    if executing_eagerly() and not _is_symbolic(pred):
        return _call(true_fn if pred else false_fn, strict)
    if isinstance(pred, bool):
        raise TypeError("pred is a Python bool, known while the graph is built: use a Python `if`, or pass a tensor.")
    with name_scope(name, "cond", [pred]) as scope:
        pred = identity(_predicate(pred), name="pred_id")
        graph = get_default_graph()
        # Each branch knows the other one, since a gradient that flows into one side has to give the other side zeros.
        when_true, when_false = (Branch(graph, scope[:-1], pred, side) for side in (True, False))
        when_true.sibling, when_false.sibling = when_false, when_true
        # Both functions are called once, while the graph is built; what they add belongs to their branch. The block
        # orders the effects of one branch among themselves, and `close` makes later effects wait for the conditional as
        # a whole.
        with graph.block() as true_block:
            if_true, true_tensors = _build(when_true, true_fn, "true_fn", strict)
        with graph.block() as false_block:
            if_false, false_tensors = _build(when_false, false_fn, "false_fn", strict)
        _require_same(if_true, true_tensors, if_false, false_tensors)
        # False before true, as in TensorFlow's graphs: passes and importers recognize a conditional by this order.
        merged = [merge_op.many([f, t], name="Merge")[0] for f, t in zip(false_tensors, true_tensors)]
        graph.close([true_block, false_block], merged)
        return structures.pack_like(if_true, merged)


def _call(function: Function, strict: bool) -> Any:
    """Returns the result of a branch that is taken at once."""
    result = function()
    if not strict and isinstance(result, list | tuple) and len(result) == 1 and not hasattr(result, "_fields"):
        return result[0]
    return result


def _is_symbolic(value: object) -> bool:
    return isinstance(value, Tensor) and not value.is_eager


def _function(name: str, function: Function | None, old_name: str, old: Function | None) -> Function:
    if function is not None and old is not None:
        raise TypeError(f"cond received both {name} and {old_name}, which are names of the same argument.")
    function = old if function is None else function
    if not callable(function):
        raise TypeError(f"{name} must be callable: cond received {function!r}")
    return function


def _predicate(pred: TensorLike) -> Tensor:
    tensor = convert_to_tensor(pred, name="pred")
    if tensor.dtype is not dtypes.bool:
        raise TypeError(f"pred of cond must be a bool, but {tensor.label} is {tensor.dtype.name}")
    if tensor.dims not in (None, ()):
        raise ValueError(f"pred of cond must be a scalar, but {tensor.label} has shape {tensor.shape}")
    return tensor if tensor.dims == () else ensure_shape(tensor, ())


def _build(branch: Branch, function: Function, which: str, strict: bool) -> tuple[Any, list[Tensor]]:
    """Calls a function inside its branch; returns its structure and the tensors that leave the branch."""
    with branch.entered():
        result = function()
        if result is None:
            raise ValueError(f"{which} of cond returns None: it must return a tensor, an operation or a structure.")
        if not strict and isinstance(result, list | tuple) and len(result) == 1 and not hasattr(result, "_fields"):
            result = result[0]
        # An operation, or None, becomes a tensor that is there once the operation has run in this branch: a Merge takes
        # tensors.
        assert branch.pivot is not None
        pivot = branch.pivot.outputs[0]

        def convert(leaf: object) -> Tensor:
            if leaf is None or isinstance(leaf, Operation):
                return with_dependencies([leaf] if leaf is not None else [], pivot)  # type: ignore[no-any-return]
            return bring(structures.value_of(leaf), branch)

        # A result that was created outside enters through a Switch, so that it is dead, too, if the other side is
        # taken: of the two inputs of a Merge exactly one may be alive.
        tensors = [bring(tensor, branch) for tensor in structures.flatten(result, convert)]
        return result, effected(branch.graph, tensors)


def _require_same(
    if_true: object, true_tensors: Sequence[Tensor], if_false: object, false_tensors: Sequence[Tensor]
) -> None:
    both = f"{_describe(if_true)} and {_describe(if_false)}"
    # The structures are compared before the types, as types can be compared only pair by pair.
    message = "Outputs of true_fn and false_fn must have the same structure: the two structures don't have the same "
    message += f"nested structure: {both}: {{}} and {{}}"
    structures.require_same(if_true, if_false, message)
    for true_tensor, false_tensor in zip(true_tensors, false_tensors):
        if true_tensor.dtype is not false_tensor.dtype:
            raise ValueError(
                "Outputs of true_fn and false_fn must have the same type: "
                f"{true_tensor.dtype.name}, {false_tensor.dtype.name} "
                f"(of {true_tensor.name!r} and {false_tensor.name!r})"
            )


def _describe(structure: object) -> str:
    if isinstance(structure, list | tuple):
        return f"{type(structure).__name__} of {len(structure)}"
    return f"dict of {sorted(structure)}" if isinstance(structure, Mapping) else "one value"


@export("case")
def case(
    pred_fn_pairs: Any,
    default: Function | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Returns the result of the function of the first true predicate, or of `default` if there is none.

    Args:
        pred_fn_pairs: Pairs (boolean scalar, function), a list or a dictionary, tested in order.
        default: Function to call if no predicate is true.
        exclusive: Whether more than one true predicate is an error.
        strict: Whether a result of one element stays in a list.
    """
    pairs = _checked_pairs(pred_fn_pairs)
    with name_scope(name, "case", [pred for pred, _ in pairs]):
        if default is None:
            default, pairs = _last_without_default(pairs)
        preds = [pred for pred, _ in pairs]
        guard = _at_most_one(preds) if exclusive and len(preds) > 1 else None
        result = default
        # Nested from the last pair outwards, so that the first true predicate decides and later ones are not even
        # looked at.
        for pred, function in reversed(pairs):
            result = functools.partial(cond, pred, function, result, strict=strict)
        if guard is None:
            return result()
        # The assertion has to fail before a function has effects.
        with get_default_graph().control_dependencies([guard]):
            return result()


def _checked_pairs(pairs: Any) -> list[tuple[Tensor, Function]]:
    if isinstance(pairs, Mapping):
        pairs = list(pairs.items())
    if not isinstance(pairs, list | tuple):
        raise TypeError(f"pred_fn_pairs of case: expected a list, a tuple or a dict, received {pairs!r}")
    if not pairs:
        raise ValueError("case requires at least one pair of a predicate and a function")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"case takes pairs of a predicate and a function, not {pair!r}")
        pred, function = pair
        if not isinstance(pred, Tensor) or pred.dtype is not dtypes.bool:
            raise TypeError(f"a predicate of case must be a bool tensor, not {pred!r}")
        if not callable(function):
            raise TypeError(f"the function of predicate {pred.label} of case is not callable: {function!r}")
    return list(pairs)


def _last_without_default(pairs: Sequence[Any]) -> tuple[Function, list[Any]]:
    """Makes the last function the default, guarded by an assertion that its predicate is true."""
    preds = [pred for pred, _ in pairs]
    last_pred, last = pairs[-1]

    def checked() -> Any:
        message = "case has no default and none of its predicates is true: " + ", ".join(p.name for p in preds)
        with get_default_graph().control_dependencies([Assert(last_pred, [message, *preds])]):
            return _after_controls(last)

    return checked, list(pairs[:-1])


def _after_controls(function: Function) -> Any:
    """Calls a function so that its results wait for the control dependencies in effect."""
    # A tensor from outside would otherwise leave without waiting for the assertion.
    result = function()
    return nest.map_structure(lambda t: identity(t) if isinstance(t, Tensor) else t, result)


def _at_most_one(preds: Sequence[Tensor]) -> Operation:
    together = stack(list(preds))
    count = reduce_sum(cast(together, dtypes.int32))
    names = ", ".join(pred.name for pred in preds)
    message = f"Input error: exclusive=True: more than 1 conditions ({names}) evaluated as True:"
    return Assert(less(count, 2), [message, together])


@export("switch_case")
def switch_case(
    branch_index: TensorLike, branch_fns: Any, default: Function | None = None, name: str = "switch_case"
) -> Any:
    """Returns the result of the function with the given index; of `default`, or the last one, if no function has it.

    Args:
        branch_index: Number of the branch, an int32 scalar.
        branch_fns: The functions: a list, pairs (number, function), or a dictionary by number.
        default: Function to call if no branch has the index.
    """
    functions = _by_index(branch_fns)
    if not isinstance(branch_index, Tensor) or branch_index.dtype is not dtypes.int32:
        received = branch_index.dtype.name if isinstance(branch_index, Tensor) else repr(branch_index)
        raise TypeError(f"branch_index of switch_case must be an int32 tensor, not {received}")
    if default is not None and not callable(default):
        raise TypeError(f"default of switch_case is not callable: {default!r}")
    with name_scope(name, "switch_case", [branch_index]):
        return _search(branch_index, list(enumerate(functions)), default or functions[-1])


def _by_index(branch_fns: Any) -> list[Function]:
    """Returns the functions in the order of their indices."""
    if isinstance(branch_fns, Mapping):
        branch_fns = list(branch_fns.items())
    if not isinstance(branch_fns, list | tuple):
        raise TypeError(f"branch_fns of switch_case must be a dict, a list or a tuple, not {branch_fns!r}")
    if not branch_fns:
        raise ValueError("switch_case has no functions to choose from")
    if callable(branch_fns[0]):
        branch_fns = list(enumerate(branch_fns))
    for pair in branch_fns:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], int) or not callable(pair[1]):
            raise TypeError(f"switch_case takes functions, or pairs of an int and a function, not {pair!r}")
    indices = sorted(index for index, _ in branch_fns)
    if indices != list(range(len(indices))):
        raise ValueError(f"the functions of switch_case must have the indices 0 to {len(indices) - 1}, not {indices}")
    by_index = dict(branch_fns)
    return [by_index[index] for index in indices]


def _search(index: Tensor, functions: Sequence[tuple[int, Function]], default: Function) -> Any:
    """Selects a function by binary search, with a logarithmic number of tests per step."""
    if len(functions) == 1:
        key, function = functions[0]
        return cond(equal(index, key), function, default)
    # The indices are known to be 0 to n-1, in order, so that a test against the middle one halves them; whatever is
    # left of a wrong index ends in one last comparison, and in `default`.
    middle = len(functions) // 2
    low, high = functions[:middle], functions[middle:]
    return cond(
        less(index, constant(high[0][0])),
        lambda: _search(index, low, default),
        lambda: _search(index, high, default),
    )
