"""Workers that make batches before they are needed: threads and processes, their order, their ends, and `fit`."""

import os
import random
import threading

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.keras.utils.workers import QueueOptions

utils = tf.keras.utils
KINDS = pytest.mark.parametrize("use_multiprocessing", [False, True], ids=["threads", "processes"])


class Numbers(utils.Sequence):
    """Batches of equal numbers: that of the batch, and that of the pass."""

    def __init__(self, count=4):
        self.count = count
        self.passes = 0
        self.asked = []

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.asked.append(index)
        return np.full([2, 1], index), np.full([2, 1], self.passes)

    def on_epoch_end(self):
        self.passes += 1


def firsts(enqueuer, count):
    found = enqueuer.get()
    return [tuple(int(part[0, 0]) for part in next(found)) for _ in range(count)]


@KINDS
@pytest.mark.parametrize("workers", [1, 3])
def test_batches_of_a_sequence_keep_their_order(use_multiprocessing, workers):
    enqueuer = utils.OrderedEnqueuer(Numbers(), use_multiprocessing)
    assert not enqueuer.is_running()
    enqueuer.start(workers, max_queue_size=3)
    assert enqueuer.is_running()
    assert firsts(enqueuer, 9) == [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (2, 1), (3, 1), (0, 2)]
    enqueuer.stop()
    assert not enqueuer.is_running()


def test_each_pass_is_shuffled():
    enqueuer = utils.OrderedEnqueuer(Numbers(), shuffle=True)
    random.seed(4)
    enqueuer.start(2)
    found = [index for index, _ in firsts(enqueuer, 8)]
    enqueuer.stop()
    random.seed(4)
    for part in (found[:4], found[4:]):
        order = [0, 1, 2, 3]
        random.shuffle(order)
        assert part == order


def test_no_more_batches_are_made_than_the_queue_takes():
    source = Numbers(20)
    enqueuer = utils.OrderedEnqueuer(source)
    enqueuer.start(1, max_queue_size=3)
    batches = enqueuer.get()
    for _ in range(2):
        next(batches)
    enqueuer.stop()
    assert source.asked[:2] == [0, 1] and len(source.asked) <= 5


def test_several_batches_are_made_at_once():
    together = threading.Barrier(3)

    class Meeting(Numbers):
        def __getitem__(self, index):
            together.wait()  # ends when three workers are here
            return super().__getitem__(index)

    enqueuer = utils.OrderedEnqueuer(Meeting(3))
    enqueuer.start(3)
    assert [index for index, _ in firsts(enqueuer, 3)] == [0, 1, 2]
    enqueuer.stop()


def test_processes_are_others():
    class Processes(Numbers):
        def __getitem__(self, index):
            return os.getpid()

    enqueuer = utils.OrderedEnqueuer(Processes(), use_multiprocessing=True)
    enqueuer.start(2)
    batches = enqueuer.get()
    found = {next(batches) for _ in range(4)}
    enqueuer.stop()
    assert os.getpid() not in found


@KINDS
def test_an_error_of_a_batch_is_raised_and_ends_the_workers(use_multiprocessing):
    class Broken(Numbers):
        def __getitem__(self, index):
            if index == 1:
                raise KeyError("no such batch")
            return super().__getitem__(index)

    enqueuer = utils.OrderedEnqueuer(Broken(), use_multiprocessing)
    enqueuer.start(1, 2)
    batches = enqueuer.get()
    next(batches)
    with pytest.raises(KeyError, match="no such batch"):
        next(batches)
    assert not enqueuer.is_running()


@KINDS
def test_a_generator_is_read_to_its_end(use_multiprocessing):
    enqueuer = utils.GeneratorEnqueuer((number for number in range(7)), use_multiprocessing)
    enqueuer.start(1, 3)
    assert list(enqueuer.get()) == list(range(7))
    enqueuer.stop()


def test_threads_share_an_iterator_but_not_a_generator():
    class Counter:
        def __init__(self):
            self.lock, self.count = threading.Lock(), 0

        def __iter__(self):
            return self

        def __next__(self):
            with self.lock:
                self.count += 1
                if self.count > 9:
                    raise StopIteration
                return self.count

    enqueuer = utils.GeneratorEnqueuer(Counter())
    enqueuer.start(3, 4)
    assert enqueuer.workers == 3 and sorted(enqueuer.get()) == list(range(1, 10))
    enqueuer.stop()
    enqueuer = utils.GeneratorEnqueuer(number for number in range(9))
    enqueuer.start(3, 4)
    assert enqueuer.workers == 1 and list(enqueuer.get()) == list(range(9))
    enqueuer.stop()


def test_processes_of_a_generator_have_seeds():
    def numbers():
        while True:
            yield np.random.randint(1000)

    enqueuer = utils.GeneratorEnqueuer(numbers(), True, random_seed=5)
    enqueuer.start(1, 2)
    batches = enqueuer.get()
    found = [next(batches) for _ in range(3)]
    enqueuer.stop()
    expected = np.random.RandomState(5)
    assert found == [expected.randint(1000) for _ in range(3)]


def test_workers_and_room_are_needed():
    with pytest.raises(ValueError, match="expected workers and room in the queue, received 0 and 10"):
        utils.OrderedEnqueuer(Numbers()).start(0)
    assert QueueOptions(workers=0).start(Numbers()) is None


def test_a_subclass_must_define_what_it_yields():
    with pytest.raises(TypeError, match="abstract"):
        utils.SequenceEnqueuer([])


# -- training ---------------------------------------------------------------------------------------------------------


class Rows(utils.Sequence):
    """Batches of one row, which counts how often each is asked for, by whom, and the passes."""

    def __init__(self, count=4):
        self.count = count
        self.asked = []
        self.threads = set()
        self.passes = 0

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.asked.append(index)
        self.threads.add(threading.current_thread().name)
        return np.full([1, 1], float(index), np.float32), np.zeros([1, 1], np.float32)

    def on_epoch_end(self):
        self.passes += 1


class Seen(tf.keras.callbacks.Callback):
    """Records the loss of each batch: the square of its number, since the model returns its input."""

    def __init__(self):
        super().__init__()
        self.epochs = []

    def on_epoch_begin(self, epoch, logs=None):
        self.epochs.append([])

    def on_train_batch_end(self, batch, logs=None):
        self.epochs[-1].append(round(float(logs["loss"]) ** 0.5))


def identity():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", input_shape=(1,))])
    model.compile(tf.keras.optimizers.SGD(0.0), "mse")
    return model


@pytest.mark.parametrize(
    "options",
    [{}, {"workers": 3}, {"workers": 2, "use_multiprocessing": True}, {"workers": 0}],
    ids=["one thread", "three threads", "processes", "none"],
)
def test_a_sequence_trains_in_its_order(options):
    rows, seen = Rows(), Seen()
    identity().fit(rows, epochs=2, verbose=0, shuffle=False, callbacks=[seen], **options)
    assert seen.epochs == [[0, 1, 2, 3], [0, 1, 2, 3]]
    assert rows.passes == 2
    main = threading.current_thread().name
    if options.get("use_multiprocessing"):
        assert not rows.asked  # in this process
    else:
        assert sorted(rows.asked) == [0, 0, 1, 1, 2, 2, 3, 3]
        assert rows.threads == {main} if options.get("workers") == 0 else main not in rows.threads


def test_training_shuffles_the_batches_of_a_sequence():
    seen = Seen()
    random.seed(2)
    identity().fit_generator(Rows(), epochs=2, verbose=0, callbacks=[seen])
    random.seed(2)
    for epoch in seen.epochs:
        order = [0, 1, 2, 3]
        random.shuffle(order)
        assert epoch == order


def test_an_epoch_of_some_steps_goes_on_where_the_last_one_ended():
    rows, seen = Rows(5), Seen()
    identity().fit(rows, epochs=3, steps_per_epoch=2, verbose=0, shuffle=False, callbacks=[seen])
    assert seen.epochs == [[0, 1], [2, 3], [4, 0]] and rows.passes == 1


def test_a_validation_begins_with_the_first_batch():
    held = Rows()
    history = identity().fit(Rows(), epochs=2, verbose=0, validation_data=held, validation_steps=2).history
    np.testing.assert_allclose(history["val_loss"], [0.5, 0.5])
    assert held.threads and held.passes == 0


@pytest.mark.parametrize("options", [{}, {"workers": 0}, {"use_multiprocessing": True}], ids=str)
def test_generators_train_evaluate_and_predict(options):
    def rows():
        for number in range(100):
            yield np.full([1, 1], float(number), np.float32), np.zeros([1, 1], np.float32)

    model, seen = identity(), Seen()
    model.fit_generator(rows(), steps_per_epoch=3, epochs=2, verbose=0, callbacks=[seen], **options)
    assert seen.epochs == [[0, 1, 2], [3, 4, 5]]
    np.testing.assert_allclose(model.evaluate_generator(rows(), steps=3, **options), 5 / 3, rtol=1e-6)
    np.testing.assert_allclose(model.predict_generator(rows(), steps=3, **options), [[0], [1], [2]])


def test_a_queue_takes_as_many_batches_as_it_has_room_for():
    asked = []

    def rows():
        for number in range(100):
            asked.append(number)
            yield np.zeros([1, 1], np.float32), np.zeros([1, 1], np.float32)

    identity().fit(rows(), steps_per_epoch=2, verbose=0, max_queue_size=3)
    assert 2 <= len(asked) <= 5


def test_the_error_of_a_generator_ends_the_training():
    def rows():
        yield np.zeros([1, 1], np.float32), np.zeros([1, 1], np.float32)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        identity().fit(rows(), steps_per_epoch=3, verbose=0)


def test_a_subclass_sees_each_batch_though_its_first_one_decides_on_its_outputs():
    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")

        def call(self, inputs):
            return self.layer(inputs)

    for shuffle, options in ((False, {}), (False, {"workers": 0})):
        model, seen = Own(), Seen()
        model.compile(tf.keras.optimizers.SGD(0.0), "mse")
        model.fit(Rows(), epochs=2, verbose=0, shuffle=shuffle, callbacks=[seen], **options)
        assert seen.epochs == [[0, 1, 2, 3], [0, 1, 2, 3]]


def test_a_generator_may_compute_in_the_graph_of_the_program():
    value = tf.constant(3.0)

    def rows():
        while True:
            assert tf.get_default_graph() is value.graph
            yield np.zeros([1, 1], np.float32), np.zeros([1, 1], np.float32)

    identity().fit(rows(), steps_per_epoch=2, verbose=0)
