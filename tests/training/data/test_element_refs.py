"""References to elements before a batch: the same batches, positions and errors, and memory that is reused."""

import contextlib
import os
import random
import threading
import time

import numpy as np
import pytest

import thalweg as tf
from tests.training.data.running import elements, take
from tests.training.data.test_models import positions
from thalweg._src.base.formats import record_blocks
from thalweg._src.base.formats.records import framed
from thalweg._src.runtime.resources import iterators
from thalweg._src.runtime.resources.iterators import IteratorResource
from thalweg._src.training.data import random_sources
from thalweg._src.training.data.element_refs import RecordRefs
from thalweg._src.training.data.function import Function
from thalweg._src.training.data.vectorize import decoded

Dataset = tf.data.Dataset
EVEN = [bytes([i, 1, 2, i]) * 2 for i in range(40)]
MIXED = [bytes([i, 1, 2, i]) * (2 if i % 7 else 1) for i in range(40)]
EMPTY = [b""] * 9


def _file(tmp_path, records, name="records"):
    path = tmp_path / name
    path.write_bytes(b"".join(map(framed, records)))
    return str(path)


def _decode(record):
    return tf.decode_raw(record, tf.int16)


def _orders(dataset):
    """Yields datasets whose elements come in another order, or not all of them."""
    yield dataset
    yield dataset.shuffle(7, seed=3)
    yield dataset.repeat(3).shuffle(100, seed=3)
    yield dataset.shuffle(11, seed=3).repeat(2)
    yield dataset.shuffle(5, seed=1).skip(3).shuffle(4, seed=2).take(20)
    yield dataset.shard(3, 1).repeat(2)


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("records", [EVEN, EMPTY])
@pytest.mark.parametrize("block", [1 << 20, 50])
def test_batched_decoding_equals_decoding_each_record(tmp_path, monkeypatch, order, records, block):
    monkeypatch.setattr(record_blocks, "BLOCK", block)
    path = _file(tmp_path, records)

    def build(hold):
        dataset = hold(tf.data.TFRecordDataset(path)).map(_decode)
        return list(_orders(dataset))[order].map(lambda x: x * 2).batch(6)

    assert elements(lambda: build(lambda d: d)) == elements(lambda: build(lambda d: d.cache()))
    positions(lambda: build(lambda d: d), [0, 1, 3, 6])


def test_records_of_several_lengths(tmp_path):
    paths = [_file(tmp_path, EVEN, "a"), _file(tmp_path, MIXED, "b"), _file(tmp_path, MIXED[:1] * 30, "c")]

    def build(hold):
        dataset = hold(tf.data.TFRecordDataset(paths)).map(lambda s: tf.decode_raw(s, tf.uint8))
        return dataset.shuffle(9, seed=5).batch(1)

    assert elements(lambda: build(lambda d: d)) == elements(lambda: build(lambda d: d.cache()))
    positions(lambda: build(lambda d: d), [0, 30, 60, 100])


def test_fixed_length_records(tmp_path):
    path = tmp_path / "pieces"
    path.write_bytes(b"head" + b"".join(EVEN) + b"foot!")

    def build(hold):
        dataset = hold(tf.data.FixedLengthRecordDataset(str(path), 8, 4, 5)).map(_decode)
        return dataset.shuffle(9, seed=5).batch(7)

    assert elements(lambda: build(lambda d: d)) == elements(lambda: build(lambda d: d.cache()))


def test_records_that_are_not_a_whole_number_of_values(tmp_path):
    path = _file(tmp_path, [b"abc"] * 5)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"DecodeRaw has length 3"):
        elements(lambda: tf.data.TFRecordDataset(path).map(_decode).batch(2))


@pytest.mark.parametrize("order", range(6))
def test_references_to_slices_of_tensors(order):
    values = {"a": np.arange(60).reshape(20, 3), "b": np.array([b"%d" % i for i in range(20)], object)}

    def build(hold):
        return list(_orders(hold(Dataset.from_tensor_slices(values))))[order].batch(6)

    assert elements(lambda: build(lambda d: d)) == elements(lambda: build(lambda d: d.cache()))
    positions(lambda: build(lambda d: d), [0, 1, 3, 6])


DECODED = {
    "alone": lambda s: tf.decode_raw(s, tf.float32),
    "scaled": lambda s: tf.cast(tf.reshape(tf.decode_raw(s, tf.uint8), [2, 4]), tf.float32) / 255.0,
}
NOT_DECODED = {
    "kept too": lambda s: (s, tf.decode_raw(s, tf.uint8)),
    "twice": lambda s: (tf.decode_raw(s, tf.int8), tf.decode_raw(s, tf.uint8)),
    "other order of bytes": lambda s: tf.decode_raw(s, tf.int32, little_endian=False),
    "truth values": lambda s: tf.decode_raw(s, tf.bool),
    "length": lambda s: tf.strings.length(s),
    "no rule": lambda s: tf.reduce_sum(tf.decode_raw(s, tf.int32)),
}


@pytest.mark.parametrize("name", [*DECODED, *NOT_DECODED])
def test_functions_that_only_decode(name, tmp_path):
    with tf.Graph().as_default():
        structure = tf.data.TFRecordDataset("x")._structure
        found = decoded(Function({**DECODED, **NOT_DECODED}[name], structure, "test"))
    assert (found is not None) == (name in DECODED)


def test_rows_are_reused():
    texts = RecordRefs(tf.uint8)
    rng = random.Random(1)
    rows = np.arange(40, dtype=np.uint8).reshape(10, 4)
    held = []
    for _ in range(300):
        held += texts.put(rows)
        rng.shuffle(held)
        while len(held) > 20:
            chosen, held = held[:5], held[5:]
            numbers = texts.numbers(chosen)[0]
            assert [bytes(row.tolist()) for row in numbers] == [texts.saved(place) for place in chosen]
            texts.release(chosen)
    assert len(texts._rows) < 60
    other = texts.put(np.zeros((2, 3), np.uint8))
    assert other == [b"\0\0\0"] * 2 and texts.numbers([*held[:1], *other]) is None


def test_unfinished_epochs_release_their_rows(tmp_path, monkeypatch):
    """Rows in the shuffle buffer of an unfinished epoch must be released."""
    made = []
    make = RecordRefs.__init__

    def remember(self, dtype):
        make(self, dtype)
        made.append(self)

    monkeypatch.setattr(RecordRefs, "__init__", remember)
    path = _file(tmp_path, EVEN)
    dataset = lambda: tf.data.TFRecordDataset(path).map(_decode)  # noqa: E731
    assert len(elements(lambda: dataset().shuffle(30).take(2).repeat(50).batch(5))) == 20
    assert len(elements(lambda: dataset().shuffle(30).repeat(50).batch(5))) == 400
    cut, whole = made
    assert cut._rows is None and len(whole._rows) < 400


# -- elements produced on the step's thread ---------------------------------------------------------------------------


@pytest.fixture
def made_here(monkeypatch):
    """The results of attempts to make an element in the thread of a step."""
    found = []
    make = IteratorResource._produce_inline

    def watched(self, *args):
        found.append(make(self, *args))
        return found[-1]

    monkeypatch.setattr(IteratorResource, "_produce_inline", watched)
    return found


def test_available_elements_need_no_worker(made_here, monkeypatch):
    monkeypatch.setattr(iterators, "_MAX_INLINE_SECONDS", 1000)  # on a busy machine any element may seem to take long
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = Dataset.range(100).map(lambda x: x + 1).shuffle(10, seed=1).repeat(2).batch(2)
        element = dataset.make_one_shot_iterator().get_next()
        assert len(take(session, element)) == 100
    assert not made_here[0]  # its duration is not known yet
    assert sum(made_here) > 50


def test_blocking_elements_are_produced_by_a_worker(made_here):
    def slow(x):
        time.sleep(0.001)
        return x

    with tf.Graph().as_default(), tf.Session() as session:
        dataset = Dataset.range(5).map(lambda x: tf.py_func(slow, [x], tf.int64))
        assert take(session, dataset.make_one_shot_iterator().get_next()) == [0, 1, 2, 3, 4]
        numbers = Dataset.from_generator(lambda: iter(range(3)), tf.int64, [])
        assert take(session, numbers.make_one_shot_iterator().get_next()) == [0, 1, 2]
        odd = Dataset.range(9).filter(lambda x: x % 2 > 0).make_one_shot_iterator().get_next()
        assert take(session, odd) == [1, 3, 5, 7]
    assert not any(made_here)


def test_pipes_are_read_by_a_worker(tmp_path, made_here):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write():
        with open(path, "wb") as file:
            for record in EVEN:
                file.write(framed(record))

    writer = threading.Thread(target=write)
    with tf.Graph().as_default(), tf.Session() as session:
        element = tf.data.TFRecordDataset(str(path)).make_one_shot_iterator().get_next()
        writer.start()
        assert take(session, element) == EVEN
    writer.join()
    assert not any(made_here)


def test_concurrent_steps_share_an_iterator():
    with tf.Graph().as_default(), tf.Session() as session:
        element = Dataset.range(2000).make_one_shot_iterator().get_next()
        found, lock = [], threading.Lock()

        def run():
            mine = take(session, element, 2000)
            with lock:
                found.extend(mine)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == list(range(2000))


def test_an_error_on_the_steps_thread_is_raised_once(tmp_path, made_here):
    path = tmp_path / "damaged"
    path.write_bytes(b"".join(map(framed, EVEN)) + b"\1" * 30)
    with tf.Graph().as_default(), tf.Session() as session:
        element = tf.data.TFRecordDataset([str(path), _file(tmp_path, EVEN)]).make_one_shot_iterator().get_next()
        assert take(session, element, 40) == EVEN
        with pytest.raises(tf.errors.DataLossError, match=r"IteratorGetNext(?s:.)*damaged: corrupted record at 960"):
            session.run(element)
        assert take(session, element) == EVEN
    assert any(made_here)


def test_long_records_are_not_stored_as_rows(tmp_path):
    records = [bytes([i]) * 40_000 for i in range(9)]
    path = _file(tmp_path, records)
    found = elements(lambda: tf.data.TFRecordDataset(path).map(lambda s: tf.decode_raw(s, tf.uint8)).batch(4))
    assert [bytes(row) for batch in found for row in batch] == records
    texts = RecordRefs(tf.uint8)
    assert texts.put(np.zeros((2, 40_000), np.uint8)) == [bytes(40_000)] * 2


def test_an_interrupted_program_continues_with_complete_records(tmp_path, monkeypatch):
    """The interrupted batch is lost, but each of the following records appears once per epoch."""
    path = _file(tmp_path, [bytes([i]) * 8 for i in range(200)])
    calls = [0]

    def interrupted(*args):
        calls[0] += 1
        for number, each in enumerate(zip(*args)):
            if calls[0] in (4, 9) and number == 7:
                raise KeyboardInterrupt
            yield each

    monkeypatch.setattr(random_sources, "zip", interrupted, raising=False)
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.TFRecordDataset(path).map(lambda s: tf.decode_raw(s, tf.uint8)).shuffle(50, seed=1)
        element = dataset.batch(10).make_one_shot_iterator().get_next()
        found, lost = [], 0
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while True:
                try:
                    found += session.run(element).tolist()
                except KeyboardInterrupt:
                    lost += 1
    assert lost == 2 and len(found) == 200 - 2 * 7
    assert all(len(set(row)) == 1 for row in found) and len({row[0] for row in found}) == len(found)
