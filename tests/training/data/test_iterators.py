"""Iterators: one-shot, initializable, reinitializable, feedable; their errors; structures of elements."""

import collections
import threading

import numpy as np
import pytest

import thalweg as tf
from tests.training.data.running import plain, take

Dataset = tf.data.Dataset
Pair = collections.namedtuple("Pair", ["left", "right"])


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_one_shot_iterator_ends(session):
    element = Dataset.range(2).make_one_shot_iterator().get_next()
    assert take(session, element) == [0, 1]
    for _ in range(3):
        with pytest.raises(tf.errors.OutOfRangeError, match=r"IteratorGetNext.*End of sequence"):
            session.run(element)


def test_one_shot_iterators_are_per_session(session):
    element = Dataset.range(2).make_one_shot_iterator().get_next()
    assert session.run(element) == 0
    with tf.Session() as other:
        assert take(other, element) == [0, 1]
    assert session.run(element) == 1


def test_initializer_evaluates_parameters(session):
    count, step = tf.placeholder(tf.int64, []), tf.placeholder(tf.int64, [])
    iterator = Dataset.range(count).map(lambda x: x * step).batch(step).make_initializable_iterator()
    element = iterator.get_next()
    with pytest.raises(tf.errors.FailedPreconditionError, match="not been initialized"):
        session.run(element)
    session.run(iterator.initializer, {count: 5, step: 2})
    assert take(session, element) == [[0, 2], [4, 6], [8]]
    session.run(iterator.initializer, {count: 2, step: 3})
    assert take(session, element) == [[0, 3]]


def test_fed_arrays_are_copied(session):
    data = np.arange(4.0)
    fed = tf.placeholder(tf.float64, [None])
    iterator = Dataset.from_tensor_slices(fed).make_initializable_iterator()
    session.run(iterator.initializer, {fed: data})
    data[:] = -1
    assert take(session, iterator.get_next()) == [0, 1, 2, 3]


def test_reinitializable(session):
    iterator = tf.data.Iterator.from_structure(tf.int64, [])
    element = iterator.get_next()
    training = iterator.make_initializer(Dataset.range(3))
    validation = iterator.make_initializer(Dataset.range(10, 12))
    for _ in range(2):
        session.run(training)
        assert take(session, element) == [0, 1, 2]
        session.run(validation)
        assert take(session, element) == [10, 11]
    with pytest.raises(ValueError, match="initializer"):
        _ = iterator.initializer


def test_feedable(session):
    handle = tf.placeholder(tf.string, [])
    element = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    one = Dataset.range(3).make_one_shot_iterator()
    other = Dataset.range(10, 13).make_initializable_iterator()
    session.run(other.initializer)
    first, second = session.run([one.string_handle(), other.string_handle()])
    found = [session.run(element, {handle: h}) for h in (first, second, first, second, second)]
    assert found == [0, 10, 1, 11, 12]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not the handle of an iterator"):
        session.run(element, {handle: b"nothing"})
    with pytest.raises(tf.errors.NotFoundError):
        session.run(element, {handle: b"iterator/gone"})


def test_feedable_of_other_types(session):
    handle = tf.placeholder(tf.string, [])
    element = tf.data.Iterator.from_string_handle(handle, tf.float32, []).get_next()
    text = session.run(Dataset.range(3).make_one_shot_iterator().string_handle())
    with pytest.raises(tf.errors.InvalidArgumentError, match="int64"):
        session.run(element, {handle: text})


def test_iterator_shared_by_name(session):
    iterators = [Dataset.range(3).make_initializable_iterator(shared_name="shared") for _ in range(2)]
    session.run(iterators[0].initializer)
    assert [session.run(iterator.get_next()) for iterator in iterators] == [0, 1]


def test_every_get_next_takes_an_element(session):
    iterator = Dataset.range(10).make_one_shot_iterator()
    first, second = iterator.get_next(), iterator.get_next()
    assert sorted(session.run([first, second])) == [0, 1]
    assert session.run([first, first]) == [2, 2]


def test_structures(session):
    dataset = Dataset.from_tensor_slices({"a": ([1, 2], Pair([3.0, 4.0], ["x", "y"]))})
    assert dataset.output_types == {"a": (tf.int32, Pair(tf.float32, tf.string))}
    assert dataset.output_shapes == {"a": (tf.TensorShape([]), Pair(tf.TensorShape([]), tf.TensorShape([])))}
    assert dataset.output_classes == {"a": (tf.Tensor, Pair(tf.Tensor, tf.Tensor))}
    iterator = dataset.make_one_shot_iterator()
    element = iterator.get_next()
    assert isinstance(element["a"][1], Pair) and element["a"][0].shape == []
    assert iterator.output_types == dataset.output_types
    assert take(session, element) == [{"a": (1, Pair(3.0, b"x"))}, {"a": (2, Pair(4.0, b"y"))}]


def test_sparse_elements(session):
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 3])
    dataset = Dataset.from_tensor_slices(sparse)
    assert dataset.output_classes is tf.SparseTensor
    assert dataset.output_shapes == tf.TensorShape([3])
    element = dataset.make_one_shot_iterator().get_next()
    assert isinstance(element, tf.SparseTensor)
    found = session.run([element])[0]
    assert plain((found.indices, found.values, found.dense_shape)) == ([[1]], [1.0], [3])
    dense = dataset.map(tf.sparse.to_dense).make_one_shot_iterator().get_next()
    assert take(session, dense) == [[0, 1, 0], [2, 0, 0]]


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda d: d.batch(2), [None, 3]),
        (lambda d: d.batch(2, drop_remainder=True), [2, 3]),
        (lambda d: d.batch(tf.placeholder(tf.int64, []), drop_remainder=True), [None, 3]),
        (lambda d: d.padded_batch(2, [5]), [None, 5]),
        (lambda d: d.padded_batch(2, [None], drop_remainder=True), [2, None]),
        (lambda d: d.batch(4, True).unbatch(), [3]),
        (lambda d: d.concatenate(Dataset.from_tensors(np.zeros(4))), [None]),
        (lambda d: d.map(lambda x: x[:2]), [2]),
        (lambda d: d.flat_map(lambda x: Dataset.from_tensor_slices(x)), []),
        (lambda d: d.repeat().shuffle(3).prefetch(1).take(1).cache(), [3]),
    ],
)
def test_static_shapes(session, make, shape):
    dataset = make(Dataset.from_tensors(np.zeros(3)))
    assert dataset.output_shapes.as_list() == shape
    assert dataset.make_initializable_iterator().get_next().shape.as_list() == shape


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Dataset.range(), ValueError, "range|Range"),
        (lambda: Dataset.from_tensor_slices(([1, 2], [1])), ValueError, "first dimensions"),
        (lambda: Dataset.range(3).map(lambda x: None), TypeError, "Unsupported return value"),
        (lambda: Dataset.range(3).map(lambda x: object()), TypeError, "Unsupported return value"),
        (lambda: Dataset.range(3).filter(lambda x: x), ValueError, "scalar boolean"),
        (lambda: Dataset.range(3).flat_map(lambda x: x), TypeError, "Dataset"),
        (lambda: Dataset.range(3).apply(lambda d: 3), TypeError, "must return a Dataset"),
        (lambda: Dataset.zip([Dataset.range(3)]), TypeError, "tuple instead of a list"),
        (lambda: Dataset.range(3).concatenate(Dataset.from_tensors("x")), TypeError, "different types"),
        (lambda: Dataset.range(3).padded_batch(2, [None]), ValueError, "padded shape"),
        (lambda: Dataset.range(3).window(0), ValueError, "size must be"),
        (lambda: Dataset.from_generator(3, tf.int32), TypeError, "callable"),
        (lambda: iter(Dataset.range(3)), RuntimeError, "session"),
        (lambda: Dataset.range(3).with_options(3), TypeError, "Options"),
        (lambda: Dataset.range(3).reduce(0.0, lambda s, x: x), TypeError, "state"),
        (
            lambda: Dataset.range(tf.placeholder(tf.int64, [])).make_one_shot_iterator(),
            ValueError,
            "placeholder.*make_initializable_iterator",
        ),
    ],
)
def test_invalid_iterators(session, make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda n: Dataset.range(3).batch(n), "batch_size"),
        (lambda n: Dataset.range(3).shuffle(n), "buffer_size"),
        (lambda n: Dataset.range(0, 3, n), "step"),
        (lambda n: Dataset.range(3).shard(n, n), "num_shards"),
        (lambda n: Dataset.range(3).window(n), "size"),
        (lambda n: Dataset.range(3).map(lambda x: x, num_parallel_calls=n), "num_parallel_calls"),
        (lambda n: Dataset.range(3).interleave(lambda x: Dataset.range(x), n), "cycle_length"),
        (lambda n: Dataset.range(3).prefetch(n - 2), "buffer_size"),
    ],
)
def test_invalid_parameters_fail_the_initializer(session, make, text):
    number = tf.placeholder(tf.int64, [])
    iterator = make(number).make_initializable_iterator()
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"MakeIterator.*{text}"):
        session.run(iterator.initializer, {number: 0})


def test_wrong_shape_of_a_parameter(session):
    number = tf.placeholder(tf.int64)
    iterator = Dataset.range(3).batch(number).make_initializable_iterator()
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected a scalar"):
        session.run(iterator.initializer, {number: [1, 2]})


def test_dataset_of_another_type_for_an_iterator(session):
    iterator = tf.data.Iterator.from_structure(tf.int64, [None])
    size = tf.placeholder(tf.int32, [None])
    unknown = Dataset.from_tensors(tf.zeros(size, tf.int64))
    initializer = iterator.make_initializer(unknown)
    session.run(initializer, {size: [3]})
    with pytest.raises(TypeError):
        iterator.make_initializer(Dataset.from_tensors(1.0))


def test_many_threads_share_an_iterator(session):
    element = Dataset.range(400).map(lambda x: x * 2).prefetch(3).make_one_shot_iterator().get_next()
    run, found = session.make_callable(element), []

    def consume():
        try:
            while True:
                found.append(int(run()))
        except tf.errors.OutOfRangeError:
            pass

    threads = [threading.Thread(target=consume) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(found) == list(range(0, 800, 2))


def test_graph_def_keeps_iterators(session):
    element = Dataset.range(3).map(lambda x: x + 1).make_one_shot_iterator().get_next()
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        imported = tf.import_graph_def(graph_def, return_elements=[element.name], trusted=True)[0]
        with tf.Session() as other:
            assert take(other, imported) == [1, 2, 3]


def test_options(session):
    options = tf.data.Options()
    options.experimental_deterministic = False
    dataset = Dataset.range(3).with_options(options)
    assert dataset.options().experimental_deterministic is False
    with pytest.raises(AttributeError):
        options.no_such_option = 1
