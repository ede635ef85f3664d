"""Records from named pipes: each is handed on as soon as it is written."""

import os
import zlib

import pytest

import thalweg as tf
from tests.training.data.running import plain, take
from thalweg._src.base.formats.records import framed

Dataset = tf.data.Dataset
GZIP_BITS = 31

READERS = {
    "records": (lambda path: tf.data.TFRecordDataset(path), framed),
    "lines": (lambda path: tf.data.TextLineDataset(path), lambda record: record + b"\n"),
    "pieces": (lambda path: tf.data.FixedLengthRecordDataset(path, 2), lambda record: record),
    "csv": (
        lambda path: tf.data.experimental.CsvDataset(path, [tf.string]).map(lambda text: text),
        lambda record: record + b"\n",
    ),
}
PIPELINES = {
    "reader": (lambda d: d, 1),
    "parallel map": (lambda d: d.map(lambda s: s + "", num_parallel_calls=4), 1),
    "prefetch": (lambda d: d.prefetch(3), 1),
    "batch": (lambda d: d.batch(2), 2),
    "map, batch": (lambda d: d.map(tf.strings.length).batch(2), 2),
    "shuffle, batch": (lambda d: d.shuffle(1).batch(2), 2),
    "interleave": (lambda d: Dataset.range(1).interleave(lambda _: d, 2, num_parallel_calls=2), 1),
}


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.fixture
def pipe(tmp_path):
    """A named pipe and a file descriptor to write to it."""
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    descriptors = [os.open(path, os.O_RDWR)]
    yield path, descriptors
    for descriptor in descriptors:
        os.close(descriptor)


def lock_step(session, dataset, needed, write, end):
    """Takes all results, and writes the records of each one only after the result before it was taken."""
    element = dataset.make_one_shot_iterator().get_next()
    records = [b"%02d" % i for i in range(6)]
    for start in range(0, len(records), needed):
        for record in records[start : start + needed]:
            write(record)
        result = plain(session.run(element))
        expected = records[start] if needed == 1 else records[start : start + needed]
        assert result in (expected, [2, 2])
    end()
    assert take(session, element) == []


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", PIPELINES)
def test_records_of_a_pipe_are_handed_on_as_they_come(session, pipe, reader, name):
    path, descriptors = pipe
    read, encode = READERS[reader]
    build, needed = PIPELINES[name]
    lock_step(
        session,
        build(read(path)),
        needed,
        lambda record: os.write(descriptors[0], encode(record)),
        lambda: os.close(descriptors.pop()),
    )


def test_records_of_a_compressed_pipe_are_handed_on_when_they_are_flushed(session, pipe):
    path, descriptors = pipe
    compressor = zlib.compressobj(wbits=GZIP_BITS)

    def write(record):
        os.write(descriptors[0], compressor.compress(framed(record)) + compressor.flush(zlib.Z_SYNC_FLUSH))

    def end():
        os.write(descriptors[0], compressor.flush())
        os.close(descriptors.pop())

    lock_step(session, tf.data.TFRecordDataset(path, "GZIP").prefetch(1), 1, write, end)


def test_a_pipe_after_a_file_is_waited_for_by_a_worker(session, pipe, tmp_path):
    path, descriptors = pipe
    file = tmp_path / "lines"
    file.write_bytes(b"a\nb\n")
    element = tf.data.TextLineDataset([str(file), path]).make_one_shot_iterator().get_next()
    assert take(session, element, 2) == [b"a", b"b"]
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(element, options=tf.RunOptions(timeout_in_ms=100))
    os.write(descriptors[0], b"c\n")
    assert session.run(element) == b"c"


def test_a_record_that_is_written_in_parts(session, pipe):
    path, descriptors = pipe
    data = framed(b"x" * 1000)
    element = tf.data.TFRecordDataset(path).make_one_shot_iterator().get_next()
    os.write(descriptors[0], framed(b"first") + data[:500])
    assert session.run(element) == b"first"
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(element, options=tf.RunOptions(timeout_in_ms=50))
    os.write(descriptors[0], data[500:])
    assert session.run(element) == b"x" * 1000
