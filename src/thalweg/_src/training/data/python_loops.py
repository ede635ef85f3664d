"""Python's loops over datasets in converted functions: `for` statements, and enumerate, zip, map and filter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.graph.autograph import effects
from thalweg._src.graph.autograph.builtin_functions import OVERLOADS
from thalweg._src.graph.autograph.convert import convert
from thalweg._src.graph.autograph.loop_state import LoopState
from thalweg._src.graph.autograph.loops import LOOPS
from thalweg._src.graph.autograph.values import predicate
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.data import flow
from thalweg._src.training.data.function import Function
from thalweg._src.training.data.node import trace_state_function
from thalweg._src.training.data.structure import structure_of, tensors_of

Body = Callable[[Any], None]
_WHAT = "a `for` statement over a dataset"


def register(dataset_class: Any) -> None:
    """Makes converted functions iterate over the datasets of a class."""
    LOOPS[dataset_class] = _loop
    OVERLOADS[enumerate, dataset_class] = lambda dataset, start=0: dataset.enumerate(start)
    OVERLOADS[zip, dataset_class] = lambda *datasets: dataset_class.zip(datasets)
    OVERLOADS[map, dataset_class] = lambda function, *datasets: _joined(dataset_class, datasets).map(convert(function))
    OVERLOADS[filter, dataset_class] = lambda function, dataset: dataset.filter(convert(function))


def _joined(dataset_class: Any, datasets: Sequence[Any]) -> Any:
    return datasets[0] if len(datasets) == 1 else dataset_class.zip(datasets)


def _loop(dataset: Any, test: Callable[[], Any] | None, body: Body, state: LoopState) -> None:
    """Runs a `for` statement over a dataset as its reduction."""
    if state.returns:
        _find_return_value(dataset, body, state)
    initial = (constant(0), *state.tensors())

    def step(current: tuple[Tensor, ...], element: Any) -> tuple[Tensor, ...]:
        state.enter(current[1:])
        with effects.block_scope() as scope:
            body(element)
        return (scope.after(current[0]), *state.following([None] * len(initial)))

    if test is None:
        final = dataset.reduce(initial, step)
    else:
        final = _until(dataset, initial, test, body, state).reduce(initial, lambda _, current: current)
    state.leave(final[1:], None)


def _until(dataset: Any, initial: Any, test: Callable[[], Any], body: Body, state: LoopState) -> Any:
    """Returns the dataset of the states after each element, up to the one with which the loop ends."""

    def step(current: tuple[Tensor, ...], element: Any) -> Any:
        state.enter(current[1:])
        proceeds = predicate(test(), "for")
        with effects.block_scope() as scope:
            state.run_if(proceeds, lambda: body(element))
        after = (scope.after(current[0]), *state.following([None] * len(initial)))
        return after, (after, proceeds)

    function, _ = trace_state_function(step, initial, dataset._structure, _WHAT, lambda result: result[0])
    states = dataset._derived(flow.Scanned, function.structure[1], tensors_of(initial), [function])
    running = states._derived(
        flow.TakenWhile, functions=[states._predicate(lambda _, proceeds: proceeds, "take_while")]
    )
    return running.map(lambda current, _: current)


def _find_return_value(dataset: Any, body: Body, state: LoopState) -> None:
    """Traces the body once to learn the type of the return value, which must be part of the state from the start."""
    initial = (constant(0), *state.tensors())

    def step(current: tuple[Tensor, ...], element: Any) -> Tensor:
        state.enter(current[1:])
        body(element)
        state.learn_return_value()
        return current[0]

    Function(step, (structure_of(initial), dataset._structure), _WHAT)
    state.add_return_value()
