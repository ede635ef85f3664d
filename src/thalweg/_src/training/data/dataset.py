"""tf.data.Dataset: a sequence of elements, described in the graph and produced when steps request them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, concatenate
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.infer import as_static_shape
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.data import single_element_op
from thalweg._src.graph.ops.files import matching_files
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import maximum
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.reshape import shape as shape_op
from thalweg._src.graph.ops.strings import reduce_join, string_join
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.seeds import DEFAULT_GRAPH_SEED, get_seed
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.runtime.eager.mode import host_scope
from thalweg._src.runtime.kernels.types import to_numpy
from thalweg._src.training.data import (
    batches,
    buffers,
    cardinality,  # noqa: F401  registers how many elements datasets have
    flow,
    python_loops,
)
from thalweg._src.training.data.file_cache import CachedInFile
from thalweg._src.training.data.function import Function
from thalweg._src.training.data.interleave import Interleaved, ParallelInterleaved
from thalweg._src.training.data.iteration import Iteration, Unordered
from thalweg._src.training.data.iterator import (
    EagerIterator,
    Iterator,
    make_initializable_iterator,
    make_one_shot_iterator,
)
from thalweg._src.training.data.node import DatasetNode, add_dataset, parameter, static, trace_state_function
from thalweg._src.training.data.options import Options
from thalweg._src.training.data.parallel_map import ParallelMapped
from thalweg._src.training.data.random_sources import Shuffled
from thalweg._src.training.data.structure import (
    DatasetSpec,
    Spec,
    Structure,
    Structured,
    TensorSpec,
    children,
    converted,
    element_of,
    flatten,
    flatten_up_to,
    is_nested,
    map_leaves,
    outputs,
    pack,
    rebuilt,
    same_form,
    structure_from,
    structure_of,
    tensors_of,
)

AUTOTUNE = buffers.AUTOTUNE
Transformation = Callable[["Dataset"], Any]


@export("data.Dataset")
class Dataset(DatasetNode):
    """A possibly infinite sequence of elements, each a nest of tensors of the same structure.

    Args:
        variant_tensor: The variant tensor.
        options: The options of the pipeline; by default those of its inputs.
    """

    def __init__(self, variant_tensor: Tensor, structure: Structure, options: Options | None = None) -> None:
        self._variant = variant_tensor
        self._structure = structure
        self._options = options or Options()

    def _as_spec(self) -> DatasetSpec:
        return DatasetSpec(self._structure)

    def _derived(
        self,
        iteration_type: type[Iteration],
        structure: Structure = None,
        values: Sequence[Tensor] = (),
        functions: Sequence[Function] = (),
        **options: Any,
    ) -> Dataset:
        """Returns a dataset derived from this one."""
        structure = self._structure if structure is None else structure
        variant = add_dataset(iteration_type, structure, [self], values, functions, **options)
        return Dataset(variant, structure, self._options)

    def _function(self, function: Callable[..., Any], what: str) -> Function:
        return Function(function, self._structure, f"Dataset.{what}()")

    # -- sources ------------------------------------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Structure) -> Dataset:
        """Returns a dataset of one element."""
        with name_scope(None, "from_tensors"), host_scope():
            element = converted(tensors)
            structure = structure_of(element)
            return Dataset(add_dataset(flow.Single, structure, values=tensors_of(element)), structure)

    @staticmethod
    def from_tensor_slices(tensors: Structure) -> Dataset:
        """Returns a dataset with one element per slice along the first dimension of the tensors."""
        with name_scope(None, "from_tensor_slices"), host_scope():
            element = converted(tensors)
            structure = map_leaves(unbatched, structure_of(element))
            counts = {spec_shape[0] for spec_shape in map(_shape_of, flatten(element)) if spec_shape}
            if len(counts - {None}) > 1:
                raise ValueError(f"the components have different first dimensions: {sorted(counts - {None})}")  # type: ignore[type-var]
            return Dataset(add_dataset(flow.Slices, structure, values=tensors_of(element)), structure)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: SparseTensor) -> Dataset:
        """Returns a dataset with one element (indices, values, dense_shape) per row of a sparse tensor."""
        if not isinstance(sparse_tensor, SparseTensor):
            raise TypeError(f"`sparse_tensor` must be a `tf.SparseTensor` object, was {sparse_tensor}")
        rows = Dataset.from_tensor_slices(sparse_tensor)
        return rows.map(lambda row: (row.indices, row.values, row.dense_shape))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Structure,
        output_shapes: Structure = None,
        args: Sequence[TensorLike] | None = None,
    ) -> Dataset:
        """Returns a dataset of the values yielded by the iterator that a call of `generator` returns."""
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        structure = structure_from(output_types, output_shapes)
        values = [convert_to_tensor(value) for value in (args or ())]

        def make(*arguments: Any) -> Any:
            return iter(generator(*map(to_numpy, arguments)))

        return Dataset(
            add_dataset(
                flow.Generated, structure, values=values, make=make, flatten=lambda v: flatten_up_to(structure, v)
            ),
            structure,
        )

    @staticmethod
    def range(*args: TensorLike) -> Dataset:
        """Returns a dataset of integers: `range(stop)`, `range(start, stop)` or `range(start, stop, step)`."""
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid arguments to RangeDataset: {args}")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        values = [parameter(value) for value in (start, stop, step)]
        structure = TensorSpec((), dtypes.int64)
        return Dataset(add_dataset(flow.Range, structure, values=values), structure)

    @staticmethod
    def list_files(file_pattern: TensorLike, shuffle: bool | None = None, seed: TensorLike | None = None) -> Dataset:
        """Returns a dataset of the names of the files that match a pattern, shuffled unless `shuffle` is False."""
        with name_scope(None, "list_files"):
            pattern = convert_to_tensor(file_pattern, dtypes.string, name="file_pattern")
            names = matching_files(pattern)
            count = shape_op(names, out_type=dtypes.int64)[0]
            text = string_join([constant("No files matched pattern: "), reduce_join(pattern, separator=", ")])
            check = Assert(count > constant(0, dtypes.int64), [text], summarize=1)
            with control_dependencies([check]):
                names = identity(names)
            dataset = Dataset.from_tensor_slices(names)
            if shuffle is False:
                return dataset
            return dataset.shuffle(maximum(count, constant(1, dtypes.int64)), seed=seed)

    @staticmethod
    def zip(datasets: Structure) -> Dataset:
        """Returns a dataset of tuples of elements of several datasets, in the structure in which these are given."""
        flat = flatten(datasets)
        for dataset in flat:
            if not isinstance(dataset, Dataset):
                hint = "; use a tuple instead of a list" if isinstance(dataset, list) else ""
                raise TypeError(
                    f"The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects, "
                    f"received {dataset!r}{hint}."
                )
        structure = pack(datasets, [dataset._structure for dataset in flat])
        return Dataset(add_dataset(flow.Zipped, structure, flat), structure, merged(flat))

    # -- element by element -------------------------------------------------------------------------------------------

    def map(self, map_func: Callable[..., Any], num_parallel_calls: TensorLike | None = None) -> Dataset:
        """Returns a dataset of a function of each element, with several calls in parallel if their number is given."""
        function = self._function(map_func, "map")
        if num_parallel_calls is None:
            return self._derived(flow.Mapped, function.structure, functions=[function])
        values = [parameter(num_parallel_calls)]
        return self._derived(ParallelMapped, function.structure, values, [function])

    def map_with_legacy_function(
        self, map_func: Callable[..., Any], num_parallel_calls: TensorLike | None = None
    ) -> Dataset:
        """Like `map`."""
        return self.map(map_func, num_parallel_calls)

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """Returns a dataset of the elements for which the predicate is true."""
        return self._derived(flow.Filtered, functions=[self._predicate(predicate, "filter")])

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> Dataset:
        """Like `filter`."""
        return self.filter(predicate)

    def _predicate(self, predicate: Callable[..., Any], what: str) -> Function:
        function = self._function(predicate, what)
        if not function.structure == TensorSpec((), dtypes.bool) and not (
            isinstance(function.structure, TensorSpec) and function.structure.is_compatible_with(_TRUTH)
        ):
            raise ValueError(
                f"`predicate` return type must be convertible to a scalar boolean tensor, but is {function.structure}"
            )
        return function

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        """Returns the elements of the datasets that a function creates from elements, one dataset after another."""
        return self._interleaved(map_func, "flat_map", Interleaved, 1, 1)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: TensorLike = AUTOTUNE,
        block_length: TensorLike = 1,
        num_parallel_calls: TensorLike | None = None,
    ) -> Dataset:
        """Returns the elements of the datasets that a function creates from elements, interleaved."""
        if num_parallel_calls is None:
            return self._interleaved(map_func, "interleave", Interleaved, cycle_length, block_length)
        sizes = (cycle_length, block_length, num_parallel_calls)
        return self._interleaved(map_func, "interleave", ParallelInterleaved, *sizes)

    def _interleaved(
        self,
        map_func: Callable[..., Any],
        what: str,
        iteration_type: type[Iteration],
        *sizes: TensorLike,
        **flags: TensorLike,
    ) -> Dataset:
        function = self._function(map_func, what)
        if not isinstance(function.structure, DatasetSpec):
            raise TypeError(f"`map_func` must return a `Dataset` object. Got {function.structure}")
        values = [parameter(size) for size in sizes]
        values += [parameter(flag, dtypes.bool) for flag in flags.values()]
        return self._derived(iteration_type, function.structure.element_spec, values, [function])

    def enumerate(self, start: TensorLike = 0) -> Dataset:
        """Returns a dataset of pairs of an index and an element."""
        return Dataset.zip((Dataset.range(start, dtypes.int64.max), self))

    def reduce(self, initial_state: Structure, reduce_func: Callable[..., Any]) -> Any:
        """Returns tensors for the final state of a function of the state and each element."""
        with name_scope(None, "reduce"):
            state = converted(initial_state)
            function, structure = trace_state_function(
                reduce_func, state, self._structure, "Dataset.reduce()", lambda result: result
            )
            variant = add_dataset(flow.Reduced, structure, [self], tensors_of(state), [function])
            return element_of(structure, single_element_op.many(variant, **outputs(structure)))

    def apply(self, transformation_func: Transformation) -> Dataset:
        """Returns the result of a function of this dataset."""
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError(
                f"`transformation_func` must return a Dataset. Got {dataset!r} of type {type(dataset).__name__}"
            )
        return dataset

    # -- which and how often ------------------------------------------------------------------------------------------

    def take(self, count: TensorLike) -> Dataset:
        """Returns a dataset of at most this many elements; -1 takes all."""
        return self._derived(flow.Taken, values=[parameter(count)])

    def skip(self, count: TensorLike) -> Dataset:
        """Returns a dataset without the first elements; -1 skips all."""
        return self._derived(flow.Skipped, values=[parameter(count)])

    def repeat(self, count: TensorLike | None = None) -> Dataset:
        """Returns a dataset that repeats these elements; None or -1 repeats them forever."""
        return self._derived(flow.Repeated, values=[parameter(-1 if count is None else count)])

    def shard(self, num_shards: TensorLike, index: TensorLike) -> Dataset:
        """Returns a dataset of every num_shards-th element, starting with the one at `index`."""
        values = [parameter(num_shards), parameter(index)]
        shard_count, place = map(static, values)
        if shard_count is not None and shard_count < 1:
            raise ValueError(f"num_shards must be >= 1, it is {shard_count}")
        if place is not None and (place < 0 or (shard_count is not None and place >= shard_count)):
            raise ValueError(f"index must be in [0, num_shards), it is {place} with num_shards={shard_count}")
        return self._derived(flow.Shard, values=values)

    def concatenate(self, dataset: Dataset) -> Dataset:
        """Returns a dataset of these elements, followed by those of another."""
        return Dataset(*joined(flow.Concatenated, [self, dataset]))

    def shuffle(
        self, buffer_size: TensorLike, seed: TensorLike | None = None, reshuffle_each_iteration: bool | None = None
    ) -> Dataset:
        """Returns a dataset of elements drawn at random from a buffer of the next ones."""
        again = True if reshuffle_each_iteration is None else reshuffle_each_iteration
        return self._derived(Shuffled, values=[parameter(buffer_size), *seeds(seed)], again=again)

    def cache(self, filename: TensorLike = "") -> Dataset:
        """Returns a dataset whose elements are cached during the first iteration, in memory or in a file."""
        name = convert_to_tensor(filename, dtypes.string, name="filename")
        iteration_type = buffers.Cached if static(name) == b"" else CachedInFile
        return self._derived(iteration_type, values=[name])

    def prefetch(self, buffer_size: TensorLike) -> Dataset:
        """Returns a dataset whose next elements are produced before they are requested."""
        return self._derived(buffers.Prefetched, values=[parameter(AUTOTUNE if buffer_size is None else buffer_size)])

    # -- batches ------------------------------------------------------------------------------------------------------

    def batch(self, batch_size: TensorLike, drop_remainder: TensorLike = False) -> Dataset:
        """Returns a dataset of stacked elements; the last batch may be smaller, or is dropped."""
        values = [parameter(batch_size), parameter(drop_remainder, dtypes.bool)]
        structure = map_leaves(lambda spec: batched(spec, *values), self._structure)
        return self._derived(batches.Batched, structure, values)

    def padded_batch(
        self,
        batch_size: TensorLike,
        padded_shapes: Structure = None,
        padding_values: Structure = None,
        drop_remainder: TensorLike = False,
    ) -> Dataset:
        """Returns a dataset of stacked elements, each padded at its ends to the largest shape."""
        leaves = self._leaves()
        if any(not isinstance(leaf, TensorSpec) for leaf in leaves):
            raise TypeError("Batching of padded sparse tensors is not currently supported")
        target_shapes = self.output_shapes if padded_shapes is None else padded_shapes
        sizes = [_sizes(shape) for shape in flatten_up_to(self._structure, target_shapes)]
        fills = [None] * len(leaves) if padding_values is None else _fills(self._structure, padding_values)
        values = [parameter(batch_size), parameter(drop_remainder, dtypes.bool)]
        specs = [_padded(leaf, size, values) for leaf, size in zip(leaves, sizes)]
        padding = [_padding(fill, leaf, i) for i, (fill, leaf) in enumerate(zip(fills, leaves))]
        structure = pack(self._structure, specs)
        return self._derived(batches.PaddedBatched, structure, [*values, *sizes, *padding])

    def unbatch(self) -> Dataset:
        """Returns a dataset of the slices of each element along its first dimension."""
        return self._derived(batches.Unbatched, map_leaves(unbatched, self._structure))

    def window(
        self,
        size: TensorLike,
        shift: TensorLike | None = None,
        stride: TensorLike = 1,
        drop_remainder: TensorLike = False,
    ) -> Dataset:
        """Returns a dataset of windows: datasets of consecutive elements, one dataset per component."""
        values = [parameter(value) for value in (size, size if shift is None else shift, stride)]
        for name, value in zip(("size", "shift", "stride"), values):
            static_size = static(value)
            if static_size is not None and static_size < 1:
                raise ValueError(f"{name} must be greater than zero, it is {static_size}")
        structure = map_leaves(DatasetSpec, self._structure)
        return self._derived(batches.Windowed, structure, [*values, parameter(drop_remainder, dtypes.bool)])

    # -- iterators and options ----------------------------------------------------------------------------------------

    def make_one_shot_iterator(self) -> Iterator:
        """Returns an iterator that needs no initializer and iterates over the dataset once."""
        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """Returns an iterator whose initializer evaluates the inputs of the dataset."""
        return make_initializable_iterator(self, shared_name)

    def __iter__(self) -> Any:
        if not executing_eagerly():
            raise RuntimeError(
                "__iter__() is only supported inside of tf.function or when eager execution is enabled: "
                "in a session, use make_one_shot_iterator().get_next()"
            )
        return EagerIterator(self)

    def options(self) -> Options:
        """Returns the options of this dataset."""
        return self._options

    def with_options(self, options: Options) -> Dataset:
        """Returns the same dataset with options, which hold for the whole pipeline that it is part of.

        With `experimental_deterministic = False`, parallel calls hand on elements as soon as they are ready, in any
        order; the other options are stored, and change nothing.
        """
        if not isinstance(options, Options):
            raise TypeError(f"options: expected tf.data.Options, received {type(options).__name__}")
        merged_options = self._options.merge(options)
        dataset = self._derived(Unordered) if options.is_unordered and not self._options.is_unordered else self
        return Dataset(dataset._variant, self._structure, merged_options)


DatasetSpec.make = Dataset
_TRUTH = TensorSpec((), dtypes.bool)


def seeds(seed: Any) -> list[Tensor]:
    """Returns the two seeds of a random dataset; zeros request a different order each time."""
    if isinstance(seed, Tensor):
        graph_seed = get_default_graph().seed
        return [parameter(DEFAULT_GRAPH_SEED if graph_seed is None else graph_seed), cast(seed, dtypes.int64)]
    first, second = get_seed(seed)
    return [parameter(first or 0), parameter(second or 0)]


def _shape_of(leaf: Tensor | SparseTensor) -> Shape:
    return leaf.dims


def unbatched(spec: Spec) -> Any:
    """Returns the specification of the slices of a leaf along its first dimension."""
    if isinstance(spec, DatasetSpec):
        raise TypeError("a dataset in an element has no slices")
    if spec.dims == ():
        raise ValueError("Unbatching a tensor is only supported for rank >= 1")
    return spec.with_shape(None if spec.dims is None else spec.dims[1:])


def batched(spec: Spec, batch_size: Tensor, drop_remainder: Tensor) -> Any:
    """Returns the specification of a batch of a leaf; its size is known if no batch can be smaller."""
    if isinstance(spec, DatasetSpec):
        raise TypeError("Batching of nested datasets is not supported: map them to tensors first")
    size = static(batch_size) if static(drop_remainder) else None
    return spec.with_shape(concatenate((size,), spec.dims))


def merged(datasets: Sequence[Dataset]) -> Options:
    """Returns the options of several datasets."""
    return functools.reduce(Options.merge, [dataset._options for dataset in datasets], Options())


def joined(
    iteration_type: type[Iteration], datasets: list[Any], first: Sequence[Dataset] = ()
) -> tuple[Tensor, Any, Options]:
    """Returns a dataset over several others, whose elements must have the same structure and types."""
    structure = datasets[0]._structure
    for other in datasets[1:]:
        if not isinstance(other, Dataset):
            raise TypeError(f"expected a Dataset, received {other!r}")
        mine, theirs = flatten(structure), flatten(other._structure)
        if not same_form(structure, other._structure) or any(
            type(a) is not type(b) or a.dtype is not b.dtype for a, b in zip(mine, theirs)
        ):
            raise TypeError(
                f"Two datasets to concatenate have different types {datasets[0].output_types} and {other.output_types}"
            )
        structure = pack(structure, [a.most_general(b) for a, b in zip(mine, theirs)])
    inputs = [*first, *datasets]
    return add_dataset(iteration_type, structure, inputs), structure, merged(inputs)


def _sizes(shape: object) -> Tensor:
    """Returns a shape to pad to as a vector, with -1 for sizes given by the largest element."""
    if isinstance(shape, Tensor):
        if shape.dims is not None and len(shape.dims) != 1:
            raise ValueError(f"a padded shape must be a vector of int64, it is {shape}")
        return parameter(shape)
    try:
        raw = shapes.as_shape(shape if not isinstance(shape, list | tuple) else [_open(size) for size in shape])
    except TypeError as error:
        raise TypeError(f"padded_shapes: {error}") from None
    if raw is None:
        raise ValueError("a padded shape needs a known rank")
    return constant([-1 if size is None else size for size in raw], dtypes.int64, shape=[len(raw)])


def _open(size: object) -> Any:
    return None if isinstance(size, int) and size == -1 else size


def _padded(leaf: Spec, sizes: Tensor, values: list[Tensor]) -> TensorSpec:
    shape = as_static_shape(sizes)
    if shape is not None and leaf.dims is not None:
        if len(shape) != len(leaf.dims):
            raise ValueError(
                f"The padded shape {shapes.show(shape)} is not compatible with the corresponding input component "
                f"shape {shapes.show(leaf.dims)}."
            )
        for target_size, size in zip(shape, leaf.dims):
            if target_size is not None and size is not None and target_size < size:
                raise ValueError(
                    f"The padded shape {shapes.show(shape)} is not compatible with the corresponding input component "
                    f"shape {shapes.show(leaf.dims)}."
                )
    size = static(values[0]) if static(values[1]) else None
    return TensorSpec(concatenate((size,), shape), leaf.dtype)


def _fills(structure: object, padding_values: object) -> list[Any]:
    """Returns a padding value for each leaf; a single one is used for all."""
    if is_nested(structure) and not is_nested(padding_values) and not isinstance(padding_values, list):
        return [padding_values] * len(flatten(structure))
    return _fills_up_to(structure, padding_values)


def _fills_up_to(structure: object, values: Any) -> list[Any]:
    if values is None:
        return [None] * len(flatten(structure))
    if not is_nested(structure):
        return [values]
    flatten_up_to(rebuilt(structure, [0] * len(children(structure))), values)
    pairs = zip(children(structure), children(values) if isinstance(values, Mapping) else values)
    return [leaf for one, other in pairs for leaf in _fills_up_to(one, other)]


def _padding(fill: TensorLike | None, leaf: Spec, index: int) -> Tensor:
    if fill is None:
        return constant("" if leaf.dtype is dtypes.string else leaf.dtype.as_numpy_dtype(0), leaf.dtype)
    try:
        value = convert_to_tensor(fill, name=f"padding_value_{index}")
        if not isinstance(fill, Tensor) and value.dtype is not leaf.dtype:
            value = convert_to_tensor(fill, leaf.dtype)
    except (TypeError, ValueError):
        value = convert_to_tensor(fill)
    if value.dims not in (None, ()):
        raise ValueError(f"a padding value must be a scalar, it is {value}")
    if value.dtype is not leaf.dtype:
        raise TypeError(f"a padding value is {value.dtype.name}, expected {leaf.dtype.name} as its component")
    return value


@export("data.get_output_types")
def get_output_types(dataset_or_iterator: Structured) -> Any:
    """Returns the types of the components of an element."""
    require_members("dataset_or_iterator", dataset_or_iterator, "a dataset or an iterator", "output_types")
    return dataset_or_iterator.output_types


@export("data.get_output_shapes")
def get_output_shapes(dataset_or_iterator: Structured) -> Any:
    """Returns the static shapes of the components of an element."""
    require_members("dataset_or_iterator", dataset_or_iterator, "a dataset or an iterator", "output_shapes")
    return dataset_or_iterator.output_shapes


@export("data.get_output_classes")
def get_output_classes(dataset_or_iterator: Structured) -> Any:
    """Returns the classes of the components of an element."""
    require_members("dataset_or_iterator", dataset_or_iterator, "a dataset or an iterator", "output_classes")
    return dataset_or_iterator.output_classes


python_loops.register(Dataset)
