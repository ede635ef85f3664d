"""Grouping and resampling: elements reduced by key, and rejection sampling to a distribution of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import complete, static_value
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import fill
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.math import truediv
from thalweg._src.graph.ops.pad_tile import tile
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.ops.reduction import reduce_max, reduce_min, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, shape as shape_of
from thalweg._src.graph.ops.where import one_hot
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.data.experimental import sample_from_datasets, scan
from thalweg._src.training.data.function import Function
from thalweg._src.training.data.iteration import BoundDataset, Element, Unary
from thalweg._src.training.data.structure import Structure, TensorSpec, compatible, flatten, pack

Transformation = Callable[[Dataset], Dataset]
_KEY = TensorSpec((), dtypes.int64)


@export("data.experimental.Reducer", "contrib.data.Reducer")
class Reducer:
    """Functions that reduce the elements of a group to one: initial state, update, result."""

    init_func = ReadOnly[Callable[..., Any]]("The function from a key to the initial state.")
    reduce_func = ReadOnly[Callable[..., Any]]("The function from state and element to the next state.")
    finalize_func = ReadOnly[Callable[..., Any]]("The function from the last state to the result.")

    def __init__(
        self, init_func: Callable[..., Any], reduce_func: Callable[..., Any], finalize_func: Callable[..., Any]
    ) -> None:
        self._init_func = init_func
        self._reduce_func = reduce_func
        self._finalize_func = finalize_func


class GroupedByReducer(Unary):
    """The result of each group, in the order of keys, after all elements have arrived."""

    __slots__ = ("at", "groups")
    saved_attributes: ClassVar = ("at", "groups")

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.at = 0
        self.groups: list[Any] | None = None

    def __next__(self) -> Element:
        if self.groups is None:
            self.groups = self._collected()
        if self.at >= len(self.groups) or self.closed:
            raise self.end()
        self.at += 1
        return tuple(self.dataset.function(3)(*self.groups[self.at - 1]))

    def _collected(self) -> list[Any]:
        key_of, first, reduce = (self.dataset.function(i) for i in range(3))
        states: dict[int, Element] = {}
        for element in self.input:
            key = key_of(*element)
            number = int(key[0])
            state = states[number] if number in states else first(*key)
            states[number] = tuple(reduce(*state, *element))
        return [states[number] for number in sorted(states)]


@export("data.experimental.group_by_reducer", "contrib.data.group_by_reducer")
def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """Returns a transformation that reduces all elements of one key to one element."""
    what = "tf.data.experimental.group_by_reducer()"

    def apply(dataset: Dataset) -> Dataset:
        key = Function(key_func, dataset._structure, what)
        if not isinstance(key.structure, TensorSpec) or not _KEY.is_compatible_with(key.structure):
            raise ValueError(f"`key_func` must return a single tf.int64 tensor, it returns {key.structure}")
        first = Function(reducer.init_func, _KEY, what)
        reduce, state = _reducing(reducer.reduce_func, first.structure, dataset._structure, what)
        last = Function(reducer.finalize_func, state, what)
        functions = [key, first, reduce, last]
        return dataset._derived(GroupedByReducer, last.structure, functions=functions)

    return apply


def _reducing(function: Callable[..., Any], state: Structure, element: Structure, what: str) -> tuple[Function, Any]:
    """Traces a function of a state and an element; shapes of the state that it changes are widened."""
    while True:
        traced = Function(function, (state, element), what)
        leaves, new_leaves = flatten(state), flatten(traced.structure)
        if len(leaves) != len(new_leaves) or any(
            type(a) is not type(b) or a.dtype is not b.dtype for a, b in zip(leaves, new_leaves)
        ):
            raise TypeError(f"{what}: the initial state is {state}, the function returns {traced.structure}")
        wider = [mine.most_general(theirs) for mine, theirs in zip(leaves, new_leaves)]
        if wider == leaves:
            return traced, state
        state = pack(state, wider)


# -- classes ----------------------------------------------------------------------------------------------------------

_ESTIMATED = 32  # elements after which the distribution is estimated again
_SMOOTHING = 10  # pseudocount of each class


@export("data.experimental.rejection_resample", "contrib.data.rejection_resample")
def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: TensorLike,
    initial_dist: TensorLike | None = None,
    seed: int | None = None,
) -> Transformation:
    """Returns a transformation to pairs (class, element) whose classes are distributed as `target_dist`.

    Elements of overrepresented classes are dropped. The initial distribution of the classes is estimated from the
    elements unless `initial_dist` gives it.
    """

    def apply(dataset: Dataset) -> Dataset:
        target = convert_to_tensor(target_dist, name="target_dist")
        classed = dataset.map(lambda *element: (class_func(*element), element if len(element) > 1 else element[0]))
        spec = classed._structure[0]
        if not isinstance(spec, TensorSpec) or not compatible(spec.with_shape(()), spec) or not spec.dtype.is_integer:
            raise ValueError(f"`class_func` must return a scalar integer, it returns {spec}")
        classes = classed.map(lambda number, element: number)
        if initial_dist is None:
            return _mixed(classed, _estimated(classes, target), target, None, seed)
        initial = convert_to_tensor(initial_dist, name="initial_dist")
        untested_share = _untested_share(initial, target)
        return _mixed(classed, Dataset.from_tensors(initial).repeat(), target, untested_share, seed)

    return apply


def _mixed(
    classed: Dataset, distributions: Dataset, target: Tensor, untested_share: float | None, seed: int | None
) -> Dataset:
    """Mixes all elements and those that pass a test, in the shares that yield the target distribution."""

    def accept(distribution: Tensor, pair: Any) -> Any:
        chance = gather(_acceptance(distribution, target)[0], pair[0])
        return random_uniform([], seed=seed, dtype=chance.dtype) < chance, pair

    tested = Dataset.zip((distributions, classed)).map(accept)
    passed = tested.filter(lambda passes, pair: passes).map(lambda passes, pair: pair).prefetch(3)
    if untested_share == 1:
        return classed
    if untested_share == 0:
        return passed

    def shares(distribution: Tensor) -> Any:
        share = _acceptance(distribution, target)[1]
        return convert_to_tensor([share, 1.0 - share])

    return sample_from_datasets([classed, passed], weights=distributions.map(shares), seed=seed)


def _acceptance(initial: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the acceptance probability of each class, and the share of elements that needs no test."""
    ratio = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    least = reduce_min(ratio)
    return (ratio - least) / (reduce_max(ratio) - least), least


def _untested_share(initial: Tensor, target: Tensor) -> float | None:
    """Returns the share of elements that needs no test, if it is known statically."""
    distributions = [complete(static_value(tensor)) for tensor in (initial, target)]
    if distributions[0] is None or distributions[1] is None:
        return None
    share: float = (distributions[1] / (distributions[0] + np.finfo(distributions[0].dtype).tiny)).min()
    return share


def _estimated(classes: Dataset, target: Tensor) -> Dataset:
    """Returns the distribution of the classes so far, for each element."""
    count = shape_of(target)[0]

    def update(seen: Tensor, batch: Tensor) -> Any:
        seen = seen + reduce_sum(one_hot(batch, count, dtype=dtypes.int64), 0)
        distribution = cast(truediv(seen, reduce_sum(seen)), dtypes.float32)
        return seen, tile(expand_dims(distribution, 0), [_ESTIMATED, 1])

    seen = fill([count], np.int64(_SMOOTHING))
    return classes.batch(_ESTIMATED).apply(scan(seen, update)).unbatch()
