"""while_loop: repeats a body while a condition holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, TensorShape
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow import structures
from thalweg._src.graph.control_flow.context import Loop, LoopVariable, effected
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.comparison import less, logical_and
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.identity import ensure_shape
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("while_loop")
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: object,
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: TensorLike | None = None,
    return_same_structure: bool = False,
    recompute: bool = False,
) -> Any:
    """Repeats `loop_vars = body(*loop_vars)` while `cond(*loop_vars)` is true, and returns the last loop_vars.

    The values of each iteration that the gradient needs are kept in memory. `swap_memory` moves them from an
    accelerator to the host, and from there to disk if they are too large; `recompute` keeps only the loop variables and
    computes the body again.

    Args:
        cond: Function of the loop variables that returns a boolean scalar.
        body: Function from the loop variables to their next values.
        loop_vars: The loop variables: a tensor, or a nest of tensors and TensorArrays.
        shape_invariants: Static shapes that hold in all iterations, where they differ from the initial ones.
        swap_memory: Whether values kept for the gradient may move to the host, and from there to disk.
        return_same_structure: Whether the result always has the structure of `loop_vars`.
        recompute: Whether the gradient recomputes the body instead of keeping its intermediate values.
    """
    if not loop_vars and not isinstance(loop_vars, Tensor):
        raise ValueError("No loop variables provided: a while loop requires at least one, but loop_vars is empty.")
    for function, which in ((cond, "cond"), (body, "body")):
        if not callable(function):
            raise TypeError(f"{which} of while_loop is not callable: {function!r}")
    if parallel_iterations < 1:
        raise TypeError(f"parallel_iterations of while_loop must be 1 or more, not {parallel_iterations}")
    # With tensors that have values, the loop is Python's own.
    if executing_eagerly():
        return _run(cond, body, loop_vars, maximum_iterations, return_same_structure)
    with name_scope(name, "while", nest.flatten(loop_vars)):
        # A limit becomes a loop variable that counts, so that the loop itself needs no special case; the counter is
        # removed from the results again.
        plan = _Plan(cond, body, loop_vars, shape_invariants)
        if maximum_iterations is not None:
            plan = plan.limited(maximum_iterations)
        graph = get_default_graph()
        loop = Loop(graph, graph.unique_name("while_context"), parallel_iterations, back_prop, swap_memory)
        loop.recompute = recompute
        results = plan.build(loop)
        if maximum_iterations is not None:
            results = results[1]
    # TensorFlow 1.15 returns a single loop variable without its list; `return_same_structure` asks for consistency.
    single = len(nest.flatten(results, expand_composites=True)) == 1
    return nest.children(results)[0] if single and not return_same_structure else results


def _run(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: object, maximum: Any, return_same_structure: bool
) -> Any:
    """Runs a loop at once, and returns its last values."""
    single = not nest.is_nested(loop_vars)
    values = nest.map_structure(_converted, [loop_vars] if single else loop_vars)
    variable_count = 1 if isinstance(values, dict) else len(values)
    limit = None if maximum is None else int(maximum)
    count = 0
    while (limit is None or count < limit) and bool(cond(values) if isinstance(values, dict) else cond(*values)):
        result = body(values) if isinstance(values, dict) else body(*values)
        if variable_count == 1 and not isinstance(values, dict) and not _is_sequence_of_one(result):
            result = [result]
        nest.assert_same_structure(list(values) if single else values, list(result) if single else result, False)
        values = nest.map_structure(_converted, result)
        count += 1
    if return_same_structure:
        return values
    return nest.children(values)[0] if len(nest.flatten(values, expand_composites=True)) == 1 else values


def _converted(value: object) -> Any:
    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


class _Plan:
    """The functions and the structure of a loop."""

    def __init__(
        self,
        cond: Callable[..., Any],
        body: Callable[..., Any],
        loop_vars: Any,
        invariants: object,
        counted: bool = False,
    ) -> None:
        self.counted = counted  # the first variable is the iteration counter, not one of the user's
        self.cond = cond
        self.body = body
        self.loop_vars = loop_vars if nest.is_nested(loop_vars) else [loop_vars]
        self.invariants = invariants
        count = 1 if isinstance(loop_vars, dict) else len(self.loop_vars)
        for function, which in ((cond, "cond"), (body, "body")):
            _require_parameters(function, which, count)
        if invariants is not None:
            structures.require_same(
                nest.map_structure(lambda _: None, loop_vars),
                nest.map_structure(lambda _: None, _as_leaves(invariants, loop_vars)),
                "shape_invariants must have the structure of loop_vars, {}, not {}",
                check_types=False,
            )

    def limited(self, maximum: TensorLike) -> _Plan:
        """Returns the plan of the same loop with an iteration counter that ends it."""
        limit = convert_to_tensor(maximum, dtypes.int32, name="maximum_iterations")
        if limit.dims not in (None, ()):
            raise ValueError(f"maximum_iterations of while_loop: expected a scalar, received shape {limit.shape}")
        cond, body, loop_vars = self.cond, self.body, self.loop_vars

        def counted(i: Tensor, values: Any) -> tuple[Any, Any]:
            result = body(*values)
            if not nest.is_nested(result) or (len(loop_vars) == 1 and not _is_sequence_of_one(result)):
                result = [result]
            if type(result) in (list, tuple) and type(loop_vars) in (list, tuple):
                result = type(loop_vars)(result)  # lists and tuples are interchangeable here too
            return i + 1, result

        counter = constant(0, dtypes.int32, name="iteration_counter")
        invariants = None if self.invariants is None else [TensorShape([]), self.invariants]
        return _Plan(
            lambda i, values: logical_and(less(i, limit), cond(*values)),
            counted,
            [counter, self.loop_vars],
            invariants,
            True,
        )

    def build(self, loop: Loop) -> Any:
        """Adds the loop to the graph and returns its results."""
        leaves = nest.flatten(self.loop_vars, expand_composites=True)
        if any(leaf is None for leaf in leaves):
            raise ValueError(f"None cannot be a loop variable, but loop_vars is {structures.show(self.loop_vars)}")
        # Every leaf is one loop variable. TensorArrays and sparse tensors are represented by tensors (flow,
        # components), and are put together again around each call of the user's functions.
        initial = structures.flatten(self.loop_vars, structures.value_of)
        for number, (tensor, shape) in enumerate(zip(initial, self._shapes(initial)), start=-self.counted):
            if not shapes.compatible(shape, tensor.dims) or not _satisfies(shape, tensor.dims):
                raise ValueError(
                    f"The shape invariant {shapes.show(shape)} of loop variable {number}, {tensor.label}, "
                    f"does not hold for its initial value, which has shape {shapes.show(tensor.dims)}"
                )
            loop.add_variable(tensor, shape)
        pack = self._packed(initial)
        with loop.graph.block() as block, loop.entered():
            # The condition reads the Merge, before the Switch; the body reads what has passed the Switch.
            # `set_condition` separates the two: it adds the Switches, and what is created afterwards belongs to the
            # body.
            pred = self.cond(*pack([variable.merge for variable in loop.variables]))
            loop.set_condition(_condition(pred))
            # A copy: differentiating or saving values may add variables to the loop later, of which this plan knows
            # nothing.
            variables = list(loop.variables)
            arrivals = pack([variable.arrival for variable in variables])
            returned = self._checked(self.body(*arrivals), loop)
            following = effected(loop.graph, self._flattened(returned, loop, variables))
        # Only now, since a back edge may depend on any operation of the body.
        for variable, tensor in zip(variables, following):
            loop.close(variable, tensor)
        loop.graph.close([block], [variable.exit for variable in variables])
        last = [structures.renewed(leaf, variable.exit) for leaf, variable in zip(leaves, variables)]
        return nest.pack_sequence_as(returned, last, expand_composites=True)

    def _shapes(self, initial: Sequence[Tensor]) -> list[Shape]:
        if self.invariants is None:
            return [tensor.dims for tensor in initial]
        leaves = nest.flatten(_as_leaves(self.invariants, self.loop_vars))
        return [shapes.as_shape(leaf.shape) for leaf in leaves]

    def _packed(self, initial: Sequence[Tensor]) -> Callable[[Sequence[Tensor]], Sequence[Any]]:
        def pack(tensors: Sequence[Tensor]) -> Sequence[Any]:
            packed = structures.pack_like(self.loop_vars, tensors)
            return packed if not isinstance(packed, dict) else [packed]

        return pack

    def _checked(self, returned: Any, loop: Loop) -> Any:
        """Returns the body's result, which must have the structure of the variables; a list may replace a tuple."""
        if not nest.is_nested(returned) or (len(self.loop_vars) == 1 and not _is_sequence_of_one(returned)):
            returned = [returned]
        # With a counter, the user's variables are the second element; without, a list and a tuple count as the same
        # structure.
        before, after = (self.loop_vars[1], returned[1]) if self.counted else (list(self.loop_vars), list(returned))
        structures.require_same(
            before,
            after,
            f"The body of the while loop {loop.title!r} must return {len(before)} loop variables of "
            f"the same structure: {{}}, not {{}}{_missing(before, after)}",
        )
        return returned

    def _flattened(self, returned: Any, loop: Loop, variables: Sequence[LoopVariable]) -> list[Tensor]:
        """Returns the body's result as tensors in the variables' order, each checked against its variable."""
        pivot = variables[0].arrival

        def convert(leaf: object) -> Tensor:
            if isinstance(leaf, Operation):
                return with_dependencies([leaf], pivot)  # type: ignore[no-any-return]
            return structures.value_of(leaf)

        leaves = nest.flatten(list(returned), expand_composites=True)
        before = nest.flatten(list(self.loop_vars), expand_composites=True)
        for number, triple in enumerate(zip(variables, before, leaves), start=-self.counted):
            _require_same_type(loop, number, *triple)
        # Types of leaves are compared before leaves become tensors: a TensorArray and its flow would both be tensors
        # afterwards.
        tensors = structures.flatten(list(returned), convert)
        for number, (variable, tensor) in enumerate(zip(variables, tensors), start=-self.counted):
            _require_invariant(loop, number, variable, tensor)
        return tensors


def _require_parameters(function: Callable[..., Any], which: str, count: int) -> None:
    """Raises TypeError unless a function can be called with `count` loop variables."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # some C functions have no signature
    try:
        signature.bind(*[None] * count)
    except TypeError:
        raise TypeError(
            f"{which} of while_loop is called with the {count} loop variables, but its parameters are {signature}"
        ) from None


def _missing(loop_vars: object, returned: Sequence[Any]) -> str:
    """Returns a note of the loop variables without a new value, if there are too few."""
    missing = [structures.show(variable) for variable in nest.children(loop_vars)[len(returned) :]]
    return f"; there is no new value of {', '.join(missing)}" if missing else ""


def _is_sequence_of_one(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 1


class _ShapeLeaf:
    """A shape as one leaf of a structure: a bare TensorShape could be taken for a sequence of dimensions."""

    __slots__ = ("shape",)

    def __init__(self, shape: object) -> None:
        self.shape = shape


def _as_leaves(invariants: object, loop_vars: Any) -> Any:
    """Wraps each shape of shape_invariants as a leaf, so that they nest as the loop variables do."""
    # A TensorShape is itself a sequence of dimensions, and nest would take it apart.
    if isinstance(invariants, TensorShape) or invariants is None:
        return _ShapeLeaf(invariants)
    if not nest.is_nested(loop_vars):
        return _ShapeLeaf(invariants)
    if isinstance(invariants, dict) and isinstance(loop_vars, dict) and invariants.keys() == loop_vars.keys():
        return {key: _as_leaves(value, loop_vars[key]) for key, value in invariants.items()}
    if not isinstance(invariants, list | tuple) or len(invariants) != len(loop_vars):
        raise ValueError(
            f"shape_invariants must have the structure of loop_vars, {structures.show(loop_vars)}, not {invariants!r}"
        )
    leaves = [_as_leaves(shape, variable) for shape, variable in zip(invariants, nest.children(loop_vars))]
    return type(invariants)(*leaves) if hasattr(invariants, "_fields") else type(invariants)(leaves)


def _condition(pred: object) -> Tensor:
    tensor = convert_to_tensor(pred)
    if tensor.dtype is not dtypes.bool or tensor.dims not in (None, ()):
        error_class = TypeError if tensor.dtype is not dtypes.bool else ValueError
        raise error_class(
            f"The condition of a while loop must be a scalar bool, but {tensor.label} is "
            f"{tensor.dtype.name}{shapes.show(tensor.dims)}"
        )
    return tensor if tensor.dims == () else ensure_shape(tensor, ())


def _satisfies(invariant: Shape, shape: Shape) -> bool:
    """Returns whether every shape that `shape` admits satisfies the invariant."""
    # An unknown size is more general than any number, never the reverse: each iteration must satisfy what is said of
    # all.
    if invariant is None:
        return True
    if shape is None or len(shape) != len(invariant):
        return False
    return all(required is None or required == size for required, size in zip(invariant, shape))


def _require_same_type(loop: Loop, number: int, variable: LoopVariable, was: object, leaf: object) -> None:
    """Raises unless the body returns a tensor for a tensor and a TensorArray for a TensorArray."""
    name = variable.enter.op.inputs[0].name
    if leaf is None:
        raise ValueError(
            f"The body of the while loop {loop.title!r} returns None for loop variable {number}, {name!r}."
        )
    if isinstance(was, TensorArray) != isinstance(leaf, TensorArray):
        before, after = ("TensorArray" if isinstance(value, TensorArray) else "tensor" for value in (was, leaf))
        raise TypeError(
            f"Loop variable {number}, {name!r}, enters the loop {loop.title!r} as a {before} and becomes a {after} "
            "after one iteration."
        )


def _require_invariant(loop: Loop, number: int, variable: LoopVariable, tensor: Tensor) -> None:
    name = variable.enter.op.inputs[0].name
    if tensor.dtype is not variable.merge.dtype:
        raise TypeError(
            f"Loop variable {number}, {name!r}, enters the loop {loop.title!r} as {variable.merge.dtype.name} and "
            f"becomes {tensor.dtype.name} after one iteration."
        )
    if not _satisfies(variable.merge.dims, tensor.dims):
        raise ValueError(
            f"Input tensor '{name}' enters the loop with shape {variable.merge.shape}, but has shape {tensor.shape} "
            "after one iteration. To allow the shape to vary across iterations, use the `shape_invariants` argument of "
            f"tf.while_loop, or set_shape on the value in the body; this is loop variable {number} of {loop.title!r}."
        )
