"""Datasets of eager execution: a `for` over elements, iterators, and functions that capture values and variables."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest

import thalweg as tf
import thalweg.contrib.eager as tfe
from tests.training.data.running import elements, plain
from thalweg._src.graph.ops import data as data_ops
from thalweg._src.runtime.resources.workers import workers

Dataset = tf.data.Dataset
pytestmark = pytest.mark.usefixtures("eager")


def values(dataset, most=1000):
    """Returns the elements of a dataset as lists."""
    found = []
    for element in dataset:
        found.append(plain(tf.contrib.framework.nest.map_structure(lambda tensor: tensor.numpy(), element)))
        if len(found) == most:
            break
    return found


def _generated():
    yield 1, "a"
    yield 2, "bc"


SAME = {
    "batches": lambda: Dataset.from_tensor_slices(np.arange(7.0)).batch(3),
    "structures": lambda: Dataset.from_tensor_slices({"x": [1, 2], "y": ([1.0, 2.0], ["a", "b"])}),
    "zipped": lambda: Dataset.zip((Dataset.range(3), Dataset.range(10, 13))),
    "mapped": lambda: Dataset.range(5).map(lambda x: (x, tf.cast(x, tf.float32) / 2), num_parallel_calls=2),
    "filtered": lambda: Dataset.range(9).filter(lambda x: tf.equal(x % 2, 0)),
    "flat": lambda: Dataset.range(4).flat_map(lambda n: Dataset.range(n).map(lambda x: x + n)),
    "interleaved": lambda: Dataset.range(3).interleave(lambda n: Dataset.from_tensors(n).repeat(3), cycle_length=2),
    "generated": lambda: Dataset.from_generator(_generated, (tf.int32, tf.string)),
    "shuffled": lambda: Dataset.range(20).shuffle(10, seed=3).repeat(2),
    "prefetched": lambda: Dataset.range(5).map(lambda x: x * x).prefetch(2),
    "padded": lambda: Dataset.range(1, 5).map(lambda n: tf.fill([n], n)).padded_batch(2, [None]),
    "cached": lambda: Dataset.range(4).map(lambda x: x + 1).cache().repeat(2),
    "scanned": lambda: Dataset.range(5).apply(tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, s + x))),
    "window": lambda: Dataset.range(6).window(3).flat_map(lambda window: window.batch(3)),
    "random": lambda: Dataset.range(3).map(lambda x: tf.random_uniform([2], seed=7)),
    "python": lambda: Dataset.range(3).map(lambda x: tf.py_func(lambda y: y * 3, [x], tf.int64)),
    "eager python": lambda: Dataset.range(3).map(lambda x: tf.py_function(lambda y: y * int(y), [x], tf.int64)),
}


@pytest.mark.parametrize("build", SAME.values(), ids=SAME)
def test_elements_are_those_of_a_session(build):
    assert values(build()) == elements(build)


def test_each_for_starts_at_the_first_element():
    dataset = Dataset.range(3)
    assert values(dataset, 2) == [0, 1]
    assert values(dataset) == values(dataset) == [0, 1, 2]


@pytest.mark.parametrize("make", [iter, tfe.Iterator, lambda dataset: dataset.make_one_shot_iterator()])
def test_an_iterator_is_used_once(make):
    iterator = make(Dataset.range(3))
    assert iter(iterator) is iterator and isinstance(iterator, tfe.Iterator)
    assert [next(iterator).numpy(), iterator.get_next().numpy(), iterator.next().numpy()] == [0, 1, 2]
    assert iterator.output_types is tf.int64 and iterator.output_shapes == tf.TensorShape([])
    with pytest.raises(StopIteration):
        next(iterator)
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()
    with pytest.raises(AttributeError, match="first element"):
        iterator.initializer


def test_sparse_elements_and_optionals():
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [1, 2], [2, 2])
    rows = [row.values.numpy().tolist() for row in Dataset.from_tensor_slices(sparse)]
    assert rows == [[1], [2]]
    iterator = iter(Dataset.range(1))
    first, second = [tf.data.experimental.get_next_as_optional(iterator) for _ in range(2)]
    assert first.has_value() and first.get_value().numpy() == 0 and not second.has_value()


def test_single_results():
    assert tf.data.experimental.get_single_element(Dataset.range(4).batch(4)).numpy().tolist() == [0, 1, 2, 3]
    assert Dataset.range(5).reduce(np.int64(1), lambda total, x: total + x).numpy() == 11
    assert tf.data.experimental.cardinality(Dataset.range(5).batch(2)).numpy() == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"more than one element(.|\n)*test_datasets.py"):
        tf.data.experimental.get_single_element(Dataset.range(2))
    options = tf.data.Options()
    options.experimental_deterministic = True
    assert values(Dataset.range(2).with_options(options)) == [0, 1]


def test_functions_capture_values():
    factor, table = tf.constant(2, tf.int64), tf.constant(np.arange(200))
    dataset = Dataset.range(3).map(lambda x: x * factor + table[x + 100])
    assert values(dataset) == [100, 103, 106]
    assert values(
        Dataset.range(2).flat_map(lambda n: Dataset.range(2).map(lambda x: x + n + tf.constant(1, tf.int64)))
    ) == [
        1,
        2,
        2,
        3,
    ]


def test_functions_call_functions_and_use_tables():
    square = tf.function(lambda x: x * x)
    assert values(Dataset.range(3).map(square)) == [0, 1, 4]
    assert values(Dataset.range(3).map(lambda x: square(x) + 1)) == [1, 2, 5]
    keys = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    table = tf.lookup.StaticHashTable(keys, -1)
    assert values(Dataset.from_tensor_slices(["b", "c"]).map(table.lookup)) == [2, -1]
    dataset = Dataset.range(4)
    assert tf.function(lambda: dataset.reduce(np.int64(0), lambda total, x: total + x))().numpy() == 6


def test_generators_yield_eager_tensors():
    dataset = Dataset.from_generator(lambda: ((tf.constant(i), [1.0] * i) for i in range(2)), (tf.int32, tf.float32))
    assert values(dataset) == [(0, []), (1, [1.0])]


def test_iterators_of_a_structure_and_by_name(recwarn):
    iterator = tf.data.Iterator.from_structure(tf.int64, [])
    with pytest.raises(tf.errors.FailedPreconditionError, match="not been initialized"):
        iterator.get_next()
    for start in (0, 100):
        iterator.make_initializer(Dataset.range(start, start + 40))
        assert [iterator.get_next().numpy() for _ in range(40)] == list(range(start, start + 40))
    with pytest.raises(tf.errors.OutOfRangeError, match=r"End of sequence(.|\n)*test_datasets.py"):
        iterator.get_next()
    named = iter(Dataset.range(2))
    other = tf.data.Iterator.from_string_handle(named.string_handle(), tf.int64, [])
    assert [other.get_next().numpy(), next(named).numpy()] == [0, 1]
    assert not recwarn.list


def test_datasets_are_written(tmp_path):
    file = str(tmp_path / "records")
    assert tf.data.experimental.TFRecordWriter(file).write(Dataset.from_tensor_slices(["a", "bc"])) is None
    assert values(tf.data.TFRecordDataset(file)) == [b"a", b"bc"]
    assert values(Dataset.list_files(file)) == [file.encode()]


def test_functions_read_and_write_variables():
    variable = tf.Variable(1.0, use_resource=True)
    read = Dataset.range(2).map(lambda x: variable + tf.cast(x, tf.float32))
    assert values(read) == [1.0, 2.0]
    variable.assign(5.0)
    assert values(read) == [5.0, 6.0]
    assert values(Dataset.range(3).map(lambda x: variable.assign_add(1.0))) == [6.0, 7.0, 8.0]
    assert variable.numpy() == 8.0


def test_a_graph_does_not_use_what_has_values():
    dataset, value = Dataset.range(2), tf.constant(1.0)
    with tf.Graph().as_default():
        with pytest.raises(RuntimeError, match="EagerTensor without building a function"):
            Dataset.range(2).map(lambda x: value)
        with pytest.raises(ValueError, match="belongs to the graph of its dataset"):
            dataset.make_one_shot_iterator()
        with pytest.raises(RuntimeError, match=r"only supported inside of tf[.]function or when eager"):
            iter(dataset)
        with pytest.raises(RuntimeError, match="can only be used when eager execution is enabled"):
            tfe.Iterator(dataset)
        symbolic = Dataset.range(2)
    with pytest.raises(RuntimeError, match="created in a graph"):
        iter(symbolic)
    with pytest.raises(RuntimeError, match="make_initializable_iterator is not supported when eager"):
        dataset.make_initializable_iterator()


def test_errors_name_the_line_of_the_user():
    dataset = Dataset.range(4).map(lambda x: tf.gather([1, 2], x))
    iterator = iter(dataset)
    assert [next(iterator).numpy(), next(iterator).numpy()] == [1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"GatherV2(.|\n)*test_datasets.py:\d+ in <lambda>"):
        next(iterator)

    def fail():
        yield 1
        raise KeyError("lost")

    with pytest.raises(tf.errors.UnknownError, match=r"KeyError(.|\n)*lost"):
        values(Dataset.from_generator(fail, tf.int32))


def test_an_iterator_is_freed_with_its_object():
    stopped = threading.Event()

    def count():
        try:
            n = 0
            while True:
                yield n
                n += 1
        finally:
            stopped.set()

    iterator = iter(Dataset.from_generator(count, tf.int32).prefetch(2))
    assert next(iterator).numpy() == 0
    resource = weakref.ref(iterator._iterator_resource.value)
    del iterator
    gc.collect()
    assert stopped.wait(30)
    until = time.monotonic() + 10
    while resource() is not None and time.monotonic() < until:  # a worker thread may still hold it
        time.sleep(0.01)
        gc.collect()
    assert resource() is None


def test_datasets_are_freed():
    before = set(data_ops._definitions)
    datasets = [Dataset.range(2).map(lambda x: x + 1) for _ in range(3)]
    assert values(datasets[0]) == [1, 2]
    made = set(data_ops._definitions) - before
    assert len(made) >= 3
    del datasets
    gc.collect()
    while workers._busy:  # with the last of its elements, until the time limit
        time.sleep(0.01)
    assert not made & set(data_ops._definitions)


def test_threads_share_an_iterator():
    iterator = iter(Dataset.range(200).map(lambda x: x + 1))
    found = []

    def take():
        for element in iterator:
            found.append(element.numpy())

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 201))


def test_positions_are_saved(tmp_path):
    first, second = (iter(Dataset.range(10).shuffle(5, seed=1)) for _ in range(2))
    taken = [next(first).numpy() for _ in range(3)]
    path = tf.train.Checkpoint(iterator=first).save(tmp_path / "model")
    rest = [element.numpy() for element in first]
    tf.train.Checkpoint(iterator=second).restore(path).assert_consumed()
    assert [element.numpy() for element in second] == rest and sorted(taken + rest) == list(range(10))
