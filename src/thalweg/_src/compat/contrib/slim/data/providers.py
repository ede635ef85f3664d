"""Datasets and data providers of slim: parallel readers and prefetch queues."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes as types
from thalweg._src.base.errors import require_kind, require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats import gfile
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.input.producers import add_fraction_summary, string_input_producer
from thalweg._src.training.input.queue_runner import QueueRunner, add_queue_runner, start_queue_runners
from thalweg._src.training.input.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue


@export("contrib.slim.dataset.Dataset")
class Dataset:
    """The description of a dataset: files, reader, decoder and number of samples.

    Args:
        reader: The reader class.
        decoder: What decodes a record.
        items_to_descriptions: Descriptions by item.
        **kwargs: Further attributes.
    """

    def __init__(
        self,
        data_sources: Sequence[str],
        reader: Any,
        decoder: Any,
        num_samples: int | None,
        items_to_descriptions: Mapping[str, str],
        **kwargs: Any,
    ) -> None:
        self.data_sources = data_sources
        self.reader = reader
        self.decoder = decoder
        self.num_samples = num_samples
        self.items_to_descriptions = items_to_descriptions
        self.__dict__.update(kwargs)


# -- reading ----------------------------------------------------------------------------------------------------------


@export("contrib.slim.parallel_reader.get_data_files")
def get_data_files(data_sources: str | list[str] | tuple[str, ...]) -> list[str]:
    """Returns the files that match names and patterns."""
    if isinstance(data_sources, list | tuple):
        return [path for source in data_sources for path in get_data_files(source)]
    paths = gfile.glob(data_sources) if "*" in data_sources or "?" in data_sources else [data_sources]
    if not paths:
        raise ValueError(f"No data files found in {data_sources}")
    return paths


@export("contrib.slim.parallel_reader.ParallelReader")
class ParallelReader:
    """Several readers that enqueue their records in one common queue."""

    common_queue = ReadOnly[Any]("The queue of all readers.")

    def __init__(
        self,
        reader_class: Any,
        common_queue: QueueBase,
        num_readers: int = 4,
        reader_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        require_kind("common_queue", common_queue, QueueBase, "a queue")
        if len(common_queue.dtypes) != 2:
            raise TypeError("common_queue must have two components, for keys and values")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        """The number of readers."""
        return len(self._readers)

    def read(self, queue: QueueBase, name: str | None = None) -> Any:
        """Returns the key and value of the next record of the files in a queue."""
        enqueues = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        add_queue_runner(QueueRunner(self._common_queue, enqueues))
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: QueueBase, num_records: TensorLike, name: str | None = None) -> Any:
        """Returns the keys and values of at most `num_records` records."""
        enqueues = [self._common_queue.enqueue_many(r.read_up_to(queue, num_records)) for r in self._readers]
        add_queue_runner(QueueRunner(self._common_queue, enqueues))
        return self._common_queue.dequeue_up_to(num_records, name=name)


@export("contrib.slim.parallel_reader.parallel_read")
def parallel_read(
    data_sources: Any,
    reader_class: object,
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Mapping[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Sequence[Any] | None = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """Returns the key and value of a record, read by several readers in parallel.

    Args:
        capacity: Capacity of the queue of records.
    """
    files = get_data_files(data_sources)
    with name_scope(scope, "parallel_read"):
        names = string_input_producer(files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames")
        kinds = list(dtypes or [types.string, types.string])
        if shuffle:
            common: Any = RandomShuffleQueue(capacity, min_after_dequeue, kinds, seed=seed, name="common_queue")
        else:
            common = FIFOQueue(capacity, kinds, name="common_queue")
        add_fraction_summary(f"fraction_of_{capacity}_full", common.size(), capacity)
        return ParallelReader(reader_class, common, num_readers, reader_kwargs).read(names)


@export("contrib.slim.parallel_reader.single_pass_read")
def single_pass_read(
    data_sources: Any, reader_class: Any, reader_kwargs: Mapping[str, Any] | None = None, scope: str | None = None
) -> Any:
    """Returns the key and value of a record, reading the files once and in order."""
    files = get_data_files(data_sources)
    with name_scope(scope, "single_pass_read"):
        names = string_input_producer(files, num_epochs=1, shuffle=False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(names)


# -- providing --------------------------------------------------------------------------------------------------------


@export("contrib.slim.data_provider.DataProvider")
class DataProvider:
    """The base class of data providers: returns tensors by item name."""

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int | None) -> None:
        self._items_to_tensors = items_to_tensors
        self._num_samples = num_samples

    def get(self, items: Sequence[str]) -> list[Any]:
        """Returns the tensors of items, in their order."""
        unknown = [item for item in items if item not in self._items_to_tensors]
        if unknown:
            raise ValueError(f"Items {unknown} are not provided; there is {sorted(self._items_to_tensors)}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """Returns the names of the items."""
        return list(self._items_to_tensors)

    def num_samples(self) -> int | None:
        """Returns the number of samples."""
        return self._num_samples


@export("contrib.slim.dataset_data_provider.DatasetDataProvider")
class DatasetDataProvider(DataProvider):
    """A data provider that reads a dataset by queues.

    Args:
        dataset: The `Dataset` of slim.
        common_queue_capacity: Capacity of the queue of records.
        common_queue_min: Number of records that stay in the queue.
        record_key: Name of the item with the record's key.
    """

    def __init__(
        self,
        dataset: Dataset,
        num_readers: int = 1,
        reader_kwargs: Mapping[str, Any] | None = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        require_members("dataset", dataset, "a slim Dataset", "data_sources", "reader", "decoder")
        key, data = parallel_read(
            dataset.data_sources,
            dataset.reader,
            num_epochs,
            num_readers,
            reader_kwargs,
            shuffle,
            None,
            common_queue_capacity,
            common_queue_min,
            seed,
            scope,
        )
        items = dataset.decoder.list_items()
        if record_key in items:
            raise ValueError(f"record_key is {record_key!r}, which is also an item of the dataset: {list(items)}")
        tensors = dict(zip(items, dataset.decoder.decode(data, items)))
        super().__init__({**tensors, record_key: key}, dataset.num_samples)


@export("contrib.slim.prefetch_queue.prefetch_queue")
def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns a queue that threads fill with the values of tensors, given as a list or dictionary.

    Args:
        tensors: The tensors: a list or a dictionary.
        name: A name for the operations that are added to the graph.
    """
    names = sorted(tensors) if isinstance(tensors, dict) else None
    listed = list(tensors) if names is None else [tensors[key] for key in names]
    with name_scope(name, "prefetch_queue", listed):
        listed = [convert_to_tensor(tensor, name="tensors") for tensor in listed]
        kind: Any = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = kind(
            capacity=capacity,
            dtypes=[tensor.dtype for tensor in listed],
            shapes=[tensor.get_shape() for tensor in listed],
            names=names,
            shared_name=shared_name,
        )
        add_queue_runner(QueueRunner(queue, [queue.enqueue(tensors)] * num_threads))
        add_fraction_summary(f"fraction_of_{capacity}_full", queue.size(), capacity)
        return queue


@export("contrib.slim.queues.QueueRunners")
@contextlib.contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Context manager that runs the queue runners of a graph.

    Args:
        session: The session that runs the queues.
    """
    coordinator = Coordinator()
    threads = start_queue_runners(sess=session, coord=coordinator, daemon=True)
    try:
        yield
    finally:
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=120)
