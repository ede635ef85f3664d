"""Loops in converted code: `while` and `for` statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from thalweg._src.graph.autograph import effects
from thalweg._src.graph.autograph.conditionals import if_stmt, placeholder
from thalweg._src.graph.autograph.iterables import is_graph_iterable, opened
from thalweg._src.graph.autograph.logic import and_
from thalweg._src.graph.autograph.loop_state import LoopState
from thalweg._src.graph.autograph.values import UNDEFINED, leaves, packed, predicate, symbolic
from thalweg._src.graph.control_flow.context import Loop, bring, effected
from thalweg._src.graph.control_flow.structures import value_of
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater, less, logical_and
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.reshape import constant_value
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

Names = tuple[str, ...]
GetState = Callable[[], tuple[Any, ...]]
SetState = Callable[[tuple[Any, ...]], None]
Options = dict[str, Any]


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: GetState,
    set_state: SetState,
    names: Names,
    carried: Names,
    live: Names,
    appended: Names,
    options: Callable[[], Options] | None,
) -> None:
    """Runs a `while` statement; it is a loop of the graph from the iteration in which the condition is a tensor."""
    while True:
        # Python runs the loop as long as it can. A condition that becomes a tensor in some iteration makes the rest a
        # loop of the graph, which starts from the variables as they are by then.
        condition = test()
        if symbolic(condition):
            break
        if not condition:
            return
        body()
    state = LoopState(get_state, set_state, names, carried, live, appended)
    _GraphLoop(state, options).run(lambda _: test(), lambda _: body())


def for_stmt(
    iterated: object,
    test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: GetState,
    set_state: SetState,
    names: Names,
    carried: Names,
    live: Names,
    appended: Names,
    options: Callable[[], Options] | None,
) -> None:
    """Runs a `for` statement: a loop of the graph over a tensor, a loop of Python over a Python iterable.

    test: returns whether no jump has ended the loop; None if there are no jumps
    """
    # Datasets iterate by functions of their own.
    special = next((loop for kind, loop in LOOPS.items() if isinstance(iterated, kind)), None)
    if special is None and not is_graph_iterable(iterated):
        _python_for(iterated, test, body, get_state, set_state, names, tuple({*carried, *live}))
        return
    state = LoopState(get_state, set_state, names, carried, live, appended)
    if special is not None:
        special(iterated, test, body, state)
        return
    # The tensor of the numbers is never computed: its bounds are those of the loop.
    if isinstance(iterated, Tensor) and iterated.op.type == "Range":
        start, limit, step = iterated.op.inputs
        _GraphLoop(state, options, Index(start, step)).run(lambda i: _before(i, limit, step, test), body)
    else:
        length, read = opened(iterated)
        assert length is not None
        index = Index(constant(0), constant(1))
        _GraphLoop(state, options, index).run(lambda i: _before(i, length, index.step, test), lambda i: body(read(i)))


# How a `for` statement iterates over other objects, such as datasets: by their type.
LOOPS: dict[type, Callable[[Any, Any, Any, LoopState], None]] = {}


def _python_for(
    iterated: Any,
    test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: GetState,
    set_state: SetState,
    names: Names,
    live: Names,
) -> None:
    # A Python iterable is unrolled even if a jump depends on a tensor: each iteration after the first is then a
    # conditional.
    proceeds: Any = True
    for item in iterated:
        if symbolic(proceeds):  # an earlier iteration may have ended the loop, which the graph finds out
            if_stmt(proceeds, lambda: body(item), lambda: None, get_state, set_state, names, live)  # noqa: B023
        else:
            body(item)
        if test is not None:
            proceeds = test()
            if not symbolic(proceeds) and not proceeds:
                return


def _before(index: Tensor, limit: Tensor, step: Tensor, test: Callable[[], Any] | None) -> Any:
    """Returns whether a loop over a range continues."""
    static_step = constant_value(step)
    # The sign of the step decides which comparison ends the loop.
    if static_step is not None:
        proceeds = less(index, limit) if static_step > 0 else greater(index, limit)
    else:
        proceeds = where(greater(step, 0), less(index, limit), greater(index, limit))
    return proceeds if test is None else and_(lambda: proceeds, test)


def loop_options(
    parallel_iterations: int | None = None,
    swap_memory: bool | None = None,
    maximum_iterations: TensorLike | None = None,
    shape_invariants: object = None,
) -> Options:
    """Returns the options of a loop, those of `set_loop_options`."""
    return {
        "parallel_iterations": 10 if parallel_iterations is None else parallel_iterations,
        "swap_memory": bool(swap_memory),
        "maximum_iterations": maximum_iterations,
        "shape_invariants": shape_invariants,
    }


class Index(NamedTuple):
    """A counter of iterations: its first value, and what is added to it after each."""

    first: Tensor
    step: Tensor


class _GraphLoop:
    """A loop of the graph."""

    def __init__(self, state: LoopState, options: Callable[[], Options] | None, index: Index | None = None) -> None:
        self._state = state
        self._options = loop_options() if options is None else options()
        # A loop of the graph has at least one variable, and a limit needs a counter.
        if index is None and (self._options["maximum_iterations"] is not None or not state.tensors()):
            index = Index(constant(0), constant(1))
        self._index = index

    def run(self, test: Callable[[Any], Any], body: Callable[[Any], None]) -> None:
        """Adds the loop to the graph and sets the variables to their values after it.

        Both functions are called with the index of the iteration, if the loop has one.
        """
        state, options, index = self._state, self._options, self._index
        # The body is the user's code, called once. Before it runs, the variables are set to the tensors of an
        # iteration; after it, their values are those for the next one. Between the two Python sees ordinary variables.
        initial, invariants = state.tensors(), state.shapes(options["shape_invariants"])
        graph = get_default_graph()
        with effects.ordered(), name_scope(None, "while", initial):
            name = graph.unique_name("while_context")
            loop = Loop(graph, name, options["parallel_iterations"], True, options["swap_memory"])
            if index is not None:
                loop.add_variable(index.first, ())
            for tensor, dims in zip(initial, invariants):
                loop.add_variable(tensor, dims)
            with graph.block() as order, loop.entered():
                loop.set_condition(self._condition([variable.merge for variable in loop.variables], test))
                variables = list(loop.variables)
                now = self._enter([variable.arrival for variable in variables])
                with effects.block_scope() as scope:
                    body(now)
                following = state.following(invariants)
                if index is not None:
                    following.insert(0, now + index.step)
                # An iteration is over when its effects are: through the first variable the next iteration, and the
                # Exit, wait for them.
                following[0] = scope.after(following[0])
                following = effected(graph, following)
                returned = state.return_value() if state.returns else UNDEFINED
            for variable, tensor in zip(variables, following):
                loop.close(variable, tensor)
            graph.close([order], [variable.exit for variable in variables])
            # A value that the last iteration returns has none before the first. It becomes a variable when its type is
            # known, after the body was traced, with a first value that is never read.
            returned = _returned(loop, returned)
            if scope.effects:
                effects.effect(variables[0].exit.op)
        state.leave([variable.exit for variable in variables[index is not None :]], returned)

    def _enter(self, tensors: list[Tensor]) -> Any:
        """Sets the variables to the values of an iteration and returns its index."""
        self._state.enter(tensors[self._index is not None :])
        return None if self._index is None else tensors[0]

    def _condition(self, tensors: list[Tensor], test: Callable[[Any], Any]) -> Tensor:
        now = self._enter(tensors)
        with effects.block_scope() as scope:
            condition = predicate(test(now), "while")
            maximum = self._options["maximum_iterations"]
            if maximum is not None:
                assert self._index is not None
                count = (now - self._index.first) // self._index.step
                condition = logical_and(less(count, cast(maximum, count.dtype)), condition)
            return scope.after(condition)


def _returned(loop: Loop, value: object) -> Any:
    """Returns the return value after a loop, which its last iteration sets."""
    if value is UNDEFINED:
        return value

    def final(leaf: object) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        with loop.entered():
            tensor = bring(value_of(leaf), loop)
        with loop.left():
            start = placeholder(tensor)
        variable = loop.add_variable(start, tensor.dims)
        loop.open(variable)
        loop.close(variable, tensor)
        return variable.exit

    return packed(value, [final(leaf) for leaf in leaves(value)])
