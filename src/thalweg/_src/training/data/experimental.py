"""Transformations of tf.data.experimental, for `Dataset.apply`, and functions of several datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_kind, require_members
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, concatenate
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import as_static_shape
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.data import cardinality_op, single_element_op
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.data import batches, flow, random_sources
from thalweg._src.training.data.dataset import AUTOTUNE, Dataset, joined, seeds
from thalweg._src.training.data.function import Function
from thalweg._src.training.data.interleave import ParallelInterleaved
from thalweg._src.training.data.node import add_dataset, parameter, trace_state_function
from thalweg._src.training.data.structure import (
    DatasetSpec,
    SparseTensorSpec,
    Structure,
    Structured,
    TensorSpec,
    converted,
    element_of,
    outputs,
    tensors_of,
)

Transformation = Callable[[Dataset], Dataset]

# -- element by element -----------------------------------------------------------------------------------------------


@export("data.experimental.scan", "contrib.data.scan")
def scan(initial_state: Structure, scan_func: Callable[..., Any]) -> Transformation:
    """Returns a transformation by a function from a state and an element to a new state and an element."""

    def apply(dataset: Dataset) -> Dataset:
        state = converted(initial_state)
        function, _ = trace_state_function(
            scan_func, state, dataset._structure, "tf.data.experimental.scan()", _first_of_two
        )
        structure = function.structure[1]
        return dataset._derived(flow.Scanned, structure, tensors_of(state), [function])

    return apply


def _first_of_two(result: object) -> Any:
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError("The scan function must return a pair comprising the new state and the output value.")
    return result[0]


@export("data.experimental.take_while")
def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Returns a transformation that ends at the first element for which the predicate is false."""

    def apply(dataset: Dataset) -> Dataset:
        function = dataset._predicate(predicate, "take_while")
        return dataset._derived(flow.TakenWhile, functions=[function])

    return apply


@export("data.experimental.unique", "contrib.data.unique")
def unique() -> Transformation:
    """Returns a transformation that drops repeated elements."""

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset._structure
        if not isinstance(spec, TensorSpec) or spec.dtype not in (dtypes.int32, dtypes.int64, dtypes.string):
            raise TypeError(f"unique: expected elements of one int32, int64 or string tensor, received {spec}")
        if spec.dims not in (None, ()):
            raise TypeError(f"unique: expected scalar elements, received {spec}")
        return dataset._derived(flow.Distinct)

    return apply


@export("data.experimental.ignore_errors", "contrib.data.ignore_errors")
def ignore_errors() -> Transformation:
    """Returns a transformation that drops elements that fail."""
    return lambda dataset: dataset._derived(flow.WithoutErrors)


@export("data.experimental.unbatch", "contrib.data.unbatch")
def unbatch() -> Transformation:
    """Returns a transformation that splits elements along their first dimension."""
    return lambda dataset: dataset.unbatch()


@export("data.experimental.enumerate_dataset", "contrib.data.enumerate_dataset")
def enumerate_dataset(start: TensorLike = 0) -> Transformation:
    """Returns a transformation that numbers elements."""
    return lambda dataset: dataset.enumerate(start)


@export("data.experimental.parallel_interleave", "contrib.data.parallel_interleave")
def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: TensorLike,
    block_length: TensorLike = 1,
    sloppy: bool = False,
    buffer_output_elements: TensorLike | None = None,
    prefetch_input_elements: TensorLike | None = None,
) -> Transformation:
    """Returns a transformation that interleaves several datasets, produced by several threads.

    Args:
        map_func: Function from an element to a dataset.
        cycle_length: Number of datasets that take turns.
        block_length: Number of consecutive elements taken from each input.
        sloppy: Whether a dataset whose next element is not ready is passed over.
        buffer_output_elements: Number of elements produced ahead of each dataset; two blocks by default.
        prefetch_input_elements: Accepted; elements of the input are pulled when their datasets begin.
    """

    def apply(dataset: Dataset) -> Dataset:
        buffered = 2 * parameter(block_length) if buffer_output_elements is None else buffer_output_elements
        sizes = (cycle_length, block_length, cycle_length, buffered)
        return dataset._interleaved(map_func, "interleave", ParallelInterleaved, *sizes, sloppy=sloppy)

    return apply


# -- batches ----------------------------------------------------------------------------------------------------------


@export(
    "data.experimental.map_and_batch",
    "data.experimental.map_and_batch_with_legacy_function",
    "contrib.data.map_and_batch",
)
def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: int | Tensor,
    num_parallel_batches: int | None = None,
    drop_remainder: TensorLike = False,
    num_parallel_calls: TensorLike | None = None,
) -> Transformation:
    """Returns a transformation that maps elements, several in parallel, and batches them.

    Args:
        map_func: Function from an element to a result.
        num_parallel_batches: Number of batches made at once; give this or `num_parallel_calls`.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError("The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive.")

    def apply(dataset: Dataset) -> Dataset:
        calls = num_parallel_calls
        if calls is None and num_parallel_batches is not None:
            calls = batch_size * num_parallel_batches
        return dataset.map(map_func, calls).batch(batch_size, drop_remainder)

    return apply


map_and_batch_with_legacy_function = map_and_batch


@export("data.experimental.dense_to_sparse_batch", "contrib.data.dense_to_sparse_batch")
def dense_to_sparse_batch(batch_size: TensorLike, row_shape: Tensor | Iterable[int]) -> Transformation:
    """Returns a transformation that batches elements of different sizes as sparse tensors."""

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset._structure
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"`dense_to_sparse_batch` requires elements of one tensor, received {spec}")
        sizes = row_shape if isinstance(row_shape, Tensor) else constant(list(row_shape), dtypes.int64)
        structure = SparseTensorSpec(concatenate((None,), as_static_shape(sizes)), spec.dtype)
        return dataset._derived(batches.SparseBatched, structure, [parameter(batch_size), parameter(sizes)])

    return apply


@export("data.experimental.group_by_window", "contrib.data.group_by_window")
def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: TensorLike | None = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """Returns a transformation that groups elements by key and passes each full group to a function.

    Args:
        reduce_func: Function from a key and the dataset of a window to a dataset.
        window_size_func: Function from a key to the number of elements of its window.
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func, but not both.")
    size_of = window_size_func or (lambda key: convert_to_tensor(window_size, dtypes.int64))

    def apply(dataset: Dataset) -> Dataset:
        key_spec = TensorSpec((), dtypes.int64)
        key = Function(key_func, dataset._structure, "tf.data.experimental.group_by_window()")
        if not key_spec.is_compatible_with(key.structure):
            raise ValueError(f"`key_func` must return a single tf.int64 scalar tensor, it returns {key.structure}")
        window = DatasetSpec(dataset._structure)
        reduce = Function(reduce_func, (key_spec, window), "tf.data.experimental.group_by_window()")
        if not isinstance(reduce.structure, DatasetSpec):
            raise TypeError(f"`reduce_func` must return a `Dataset` object, it returns {reduce.structure}")
        size = Function(
            lambda key: cast(size_of(key), dtypes.int64), key_spec, "tf.data.experimental.group_by_window()"
        )
        structure = reduce.structure.element_spec
        return dataset._derived(batches.GroupedByWindow, structure, functions=[key, reduce, size])

    return apply


# -- order ------------------------------------------------------------------------------------------------------------


@export("data.experimental.shuffle_and_repeat", "contrib.data.shuffle_and_repeat")
def shuffle_and_repeat(
    buffer_size: TensorLike, count: TensorLike | None = None, seed: TensorLike | None = None
) -> Transformation:
    """Returns a transformation that shuffles and repeats elements, in a different order each time."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


@export("data.experimental.prefetch_to_device", "contrib.data.prefetch_to_device")
def prefetch_to_device(device: str | DeviceSpec, buffer_size: TensorLike | None = None) -> Transformation:
    """Returns a transformation that prefetches elements; they are copied to the device by the step that takes them."""
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


@export("data.experimental.copy_to_device", "contrib.data.copy_to_device")
def copy_to_device(target_device: str | DeviceSpec, source_device: str = "/cpu:0") -> Transformation:
    """Returns a transformation without effect: elements are copied to a device by the step that takes them."""
    return lambda dataset: dataset


# -- several datasets -------------------------------------------------------------------------------------------------


@export("data.experimental.choose_from_datasets", "contrib.data.choose_from_datasets")
def choose_from_datasets(datasets: list[Dataset], choice_dataset: Dataset) -> Dataset:
    """Returns elements of several datasets, chosen by the indices that another dataset yields."""
    require_kind("choice_dataset", choice_dataset, Dataset, "a dataset")
    if not isinstance(choice_dataset._structure, TensorSpec) or not choice_dataset._structure.is_compatible_with(
        TensorSpec((), dtypes.int64)
    ):
        raise TypeError(
            f"`choice_dataset` must be a dataset of scalar `tf.int64` tensors, it has {choice_dataset._structure}"
        )
    return Dataset(*joined(flow.Chosen, list(datasets), [choice_dataset]))


@export("data.experimental.sample_from_datasets", "contrib.data.sample_from_datasets")
def sample_from_datasets(
    datasets: list[Dataset], weights: TensorLike | Dataset | None = None, seed: TensorLike | None = None
) -> Dataset:
    """Returns elements of several datasets, sampled at random with weights."""
    datasets = list(datasets)
    if not datasets:
        raise ValueError("datasets: expected at least one dataset, received none")
    if len(datasets) == 1 and weights is None:
        return datasets[0]
    if isinstance(weights, Dataset):
        weighted = weights
    else:
        if weights is None:
            weights = [1.0 / len(datasets)] * len(datasets)
        tensor = convert_to_tensor(weights, name="weights")
        if tensor.dtype not in (dtypes.float32, dtypes.float64):
            raise TypeError(
                f"`weights` must be convertible to float32 or float64 elements, they are {tensor.dtype.name}"
            )
        if tensor.dims is not None and tensor.dims != (len(datasets),) and None not in tensor.dims:
            raise ValueError(f"`weights` must have a number for each of the {len(datasets)} datasets")
        weighted = Dataset.from_tensors(tensor).repeat()
    number = TensorSpec((), dtypes.int64)
    choice = weighted._derived(random_sources.Draws, number, seeds(seed))
    return choose_from_datasets(datasets, choice)


@export("data.experimental.Counter", "contrib.data.Counter")
def Counter(start: TensorLike = 0, step: TensorLike = 1, dtype: DTypeLike = dtypes.int64) -> Dataset:
    """Returns a dataset that counts forever.

    Args:
        step: The increment.
        dtype: Element type.
    """
    dtype = dtypes.as_dtype(dtype)
    first = convert_to_tensor(start, dtype, name="start")
    by = convert_to_tensor(step, dtype, name="step")
    return Dataset.from_tensors(0).repeat().apply(scan(first, lambda state, _: (state + by, state)))


@export("data.experimental.RandomDataset", "contrib.data.RandomDataset")
class RandomDataset(Dataset):
    """Random integers in [0, 2^32), forever."""

    def __init__(self, seed: TensorLike | None = None) -> None:
        structure = TensorSpec((), dtypes.int64)
        super().__init__(add_dataset(random_sources.Numbers, structure, values=seeds(seed)), structure)


@export("data.experimental.get_single_element", "contrib.data.get_single_element")
def get_single_element(dataset: Dataset) -> Any:
    """Returns tensors for the only element of a dataset."""
    if not isinstance(dataset, Dataset):
        raise TypeError(f"`dataset` must be a `tf.data.Dataset` object, it is {dataset!r}")
    structure = dataset._structure
    return element_of(structure, single_element_op.many(dataset._variant, **outputs(structure)))


@export("data.experimental.to_variant")
def to_variant(dataset: Dataset) -> Tensor:
    """Returns the variant tensor of a dataset."""
    require_kind("dataset", dataset, Dataset, "a dataset")
    return dataset._variant


@export("data.experimental.from_variant")
def from_variant(variant: Tensor, structure: Structure) -> Dataset:
    """Returns the dataset of a variant tensor, given the structure of its elements."""
    return Dataset(variant, structure)


@export("data.experimental.get_structure")
def get_structure(dataset_or_iterator: Structured) -> Any:
    """Returns the structure of an element: a nest of specifications."""
    require_members("dataset_or_iterator", dataset_or_iterator, "a dataset or an iterator", "element_spec")
    return dataset_or_iterator.element_spec


@export("data.experimental.TensorStructure")
def TensorStructure(dtype: DTypeLike, shape: ShapeLike) -> TensorSpec:
    """Returns the specification of a tensor.

    Args:
        dtype: Element type.
        shape: Static shape, as far as it is known.
    """
    return TensorSpec(shape, dtype)


@export("data.experimental.SparseTensorStructure")
def SparseTensorStructure(dtype: DTypeLike, shape: ShapeLike) -> SparseTensorSpec:
    """Returns the specification of a sparse tensor.

    Args:
        dtype: Element type.
        shape: Static shape, as far as it is known.
    """
    return SparseTensorSpec(shape, dtype)


@export("data.experimental.cardinality")
def cardinality(dataset: Dataset) -> Tensor:
    """Returns a tensor of the number of elements: -1 for an infinite dataset, -2 if it is unknown."""
    require_kind("dataset", dataset, Dataset, "a dataset")
    return cardinality_op(dataset._variant)
