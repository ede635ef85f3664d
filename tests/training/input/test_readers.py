"""Readers and files of records."""

import gzip
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import thalweg as tf
from tests.training.input.waiting import Waiting, error_of
from thalweg._src.base.formats.record_files import records_of

COMPRESSIONS = ("", "ZLIB", "GZIP")


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


def names(session, *paths, close=True):
    queue = tf.FIFOQueue(99, tf.string, shapes=[[]])
    session.run(queue.enqueue_many([[str(path) for path in paths]]))
    if close:
        session.run(queue.close())
    return queue


def read_all(session, reader, queue):
    read, found = reader.read(queue), []
    try:
        while True:
            found.append(session.run(read))
    except tf.errors.OutOfRangeError:
        return found


def test_lines(session, tmp_path):
    texts = {"a": "h\none\r\ntwo\n", "empty": "", "b": "h\n\nthree"}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    paths = [tmp_path / name for name in texts]
    reader = tf.TextLineReader(skip_header_lines=1)
    found = read_all(session, reader, names(session, *paths))
    assert [value for _, value in found] == [b"one", b"two", b"", b"three"]
    assert found[0][0] == f"{paths[0]}:2".encode()
    assert session.run([reader.num_records_produced(), reader.num_work_units_completed()]) == [4, 3]


def test_whole_files_and_names(session, tmp_path):
    (tmp_path / "a").write_bytes(b"\x00all")
    assert read_all(session, tf.WholeFileReader(), names(session, tmp_path / "a")) == [
        (str(tmp_path / "a").encode(), b"\x00all")
    ]
    reader = tf.IdentityReader()
    assert read_all(session, reader, names(session, "x", "y")) == [(b"x", b"x"), (b"y", b"y")]
    assert session.run(reader.num_work_units_completed()) == 2


@pytest.mark.parametrize(
    ("data", "settings_", "expected"),
    [
        (b"HHaabbccF", {"header_bytes": 2, "footer_bytes": 1}, [b"aa", b"bb", b"cc"]),
        (b"aabbc", {}, [b"aa", b"bb"]),
        (b"abcd", {"hop_bytes": 1}, [b"ab", b"bc", b"cd"]),
        (b"ab--cd--", {"hop_bytes": 4}, [b"ab", b"cd"]),
        (b"", {}, []),
    ],
)
def test_records_of_equal_length(session, tmp_path, data, settings_, expected):
    (tmp_path / "a").write_bytes(data)
    (tmp_path / "z").write_bytes(zlib.compress(data))
    reader = tf.FixedLengthRecordReader(2, **settings_)
    assert [v for _, v in read_all(session, reader, names(session, tmp_path / "a"))] == expected
    reader = tf.FixedLengthRecordReader(2, **settings_, encoding="ZLIB")
    assert [v for _, v in read_all(session, reader, names(session, tmp_path / "z"))] == expected


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_record_files(session, tmp_path, compression):
    path = str(tmp_path / "records")
    records = [b"", b"a", b"b" * 100_000, bytes(range(256)) * 3]
    with tf.python_io.TFRecordWriter(path, tf.python_io.TFRecordOptions(compression)) as writer:
        for record in records:
            writer.write(record)
            writer.flush()
    assert list(tf.python_io.tf_record_iterator(path, compression)) == records
    reader = tf.TFRecordReader(options=tf.python_io.TFRecordOptions(compression))
    found = read_all(session, reader, names(session, path, path))
    assert [value for _, value in found] == records * 2 and found[0][0] == f"{path}:0".encode()


def test_options():
    kinds = tf.python_io.TFRecordCompressionType
    options = tf.python_io.TFRecordOptions
    assert [
        options.get_compression_type_string(k) for k in (None, kinds.NONE, kinds.ZLIB, "GZIP", options("ZLIB"))
    ] == [
        "",
        "",
        "ZLIB",
        "GZIP",
        "ZLIB",
    ]
    with pytest.raises(ValueError, match="SNAPPY"):
        options("SNAPPY")


def test_writing_non_bytes_is_rejected(tmp_path):
    writer = tf.python_io.TFRecordWriter(str(tmp_path / "x"))
    with pytest.raises(TypeError):
        writer.write("text")
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError):
        writer.write(b"late")
    with pytest.raises(tf.errors.NotFoundError):
        tf.python_io.TFRecordWriter(str(tmp_path / "no" / "folder"))
    with pytest.raises(tf.errors.NotFoundError):
        list(tf.python_io.tf_record_iterator(str(tmp_path / "no")))


@settings(max_examples=300, deadline=None)
@given(data=st.data(), compression=st.sampled_from(COMPRESSIONS))
def test_damaged_files_yield_valid_records_then_an_error(tmp_path_factory, data, compression):
    """Whatever byte is changed or missing, no record comes out that was not written."""
    path = tmp_path_factory.mktemp("damaged") / "records"
    records = [b"first", b"second" * 20, b"third"]
    with tf.python_io.TFRecordWriter(str(path), compression) as writer:
        for record in records:
            writer.write(record)
    whole = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] ^= data.draw(st.integers(1, 255))
    else:
        del whole[data.draw(st.integers(0, len(whole))) :]
    path.write_bytes(whole)
    found = []
    try:
        for record in tf.python_io.tf_record_iterator(str(path), compression):
            found.append(record)
    except tf.errors.DataLossError as error:
        assert "records" in str(error)
    assert found == records[: len(found)]


def test_a_wrong_length_allocates_no_memory(tmp_path):
    from thalweg._src.base.formats.crc32c import masked_crc32c

    header = (2**60).to_bytes(8, "little")
    lie = header + masked_crc32c(header).to_bytes(4, "little") + b"few"
    for compression, data in (("", lie), ("ZLIB", zlib.compress(lie)), ("GZIP", gzip.compress(lie))):
        (tmp_path / "lie").write_bytes(data)
        with pytest.raises(tf.errors.DataLossError, match="truncated"):
            list(records_of(str(tmp_path / "lie"), compression))


def test_read_up_to_stops_at_the_end_of_a_file(session, tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("1\n2\n3\n")
    reader = tf.TextLineReader()
    read = reader.read_up_to(names(session, tmp_path / "a", tmp_path / "b"), 2)
    assert [session.run(read)[1].tolist() for _ in range(4)] == [[b"1", b"2"], [b"3"], [b"1", b"2"], [b"3"]]
    assert error_of(session, read) is tf.errors.OutOfRangeError


def test_a_missing_file_is_an_error_and_the_next_one_is_read(session, tmp_path):
    (tmp_path / "b").write_text("line\n")
    reader = tf.TextLineReader()
    read = reader.read(names(session, tmp_path / "a", tmp_path / "b"))
    with pytest.raises(tf.errors.NotFoundError, match=r"(?s)ReaderReadV2.*No such file.*defined at"):
        session.run(read)
    assert session.run(read)[1] == b"line"


def test_readers_wait_for_file_names_in_order(session, tmp_path):
    (tmp_path / "a").write_text("1\n2\n")
    queue = tf.FIFOQueue(9, tf.string, shapes=[[]])
    read = tf.TextLineReader().read(queue)
    waiting = [Waiting(session, read) for _ in range(4)]
    assert all(each.is_waiting(0.02) for each in waiting)
    assert error_of(session, read, milliseconds=50) is tf.errors.DeadlineExceededError
    put = queue.enqueue([str(tmp_path / "a")])
    session.run(put)
    session.run(put)
    assert sorted(each.result()[1] for each in waiting) == [b"1", b"1", b"2", b"2"]


def test_the_first_waiting_read_can_be_cancelled(session, tmp_path):
    (tmp_path / "a").write_text("1\n")
    queue = tf.FIFOQueue(9, tf.string, shapes=[[]])
    read = tf.TextLineReader().read(queue)
    assert error_of(session, read, milliseconds=50) is tf.errors.DeadlineExceededError
    waiting = Waiting(session, read)
    assert waiting.is_waiting()
    session.run(queue.enqueue([str(tmp_path / "a")]))
    assert waiting.result()[1] == b"1"


def test_thousands_of_empty_files(session, tmp_path):
    (tmp_path / "empty").write_text("")
    queue = tf.FIFOQueue(-1, tf.string, shapes=[[]])
    session.run(queue.enqueue_many([[str(tmp_path / "empty")] * 3000]))
    session.run(queue.close())
    assert error_of(session, tf.TextLineReader().read(queue), milliseconds=60_000) is tf.errors.OutOfRangeError


def test_state(session):
    reader, other = tf.IdentityReader(), tf.IdentityReader()
    assert reader.supports_serialize and not tf.TextLineReader().supports_serialize
    queue = names(session, "x", "y", close=False)
    session.run(reader.read(queue))
    state = session.run(reader.serialize_state())
    session.run(other.restore_state(state))
    assert session.run([other.num_records_produced(), other.num_work_units_completed()]) == [1, 1]
    session.run(reader.reset())
    assert session.run(reader.num_records_produced()) == 0
    assert error_of(session, reader.restore_state(b"nonsense")) is tf.errors.InvalidArgumentError
    assert error_of(session, tf.TextLineReader().serialize_state()) is tf.errors.UnimplementedError


def test_a_queue_of_another_type(session):
    queue = tf.FIFOQueue(9, tf.int32, shapes=[[]], name="numbers")
    with pytest.raises(tf.errors.InvalidArgumentError, match="numbers"):
        session.run(tf.TextLineReader().read(queue))
    many = tf.FIFOQueue(9, [tf.string, tf.string])
    assert error_of(session, tf.TextLineReader().read(many)) is tf.errors.InvalidArgumentError


def test_examples_are_written_read_parsed_and_batched(tmp_path):
    """The TFRecord pipeline of the tutorials."""
    path = str(tmp_path / "examples")
    with tf.python_io.TFRecordWriter(path) as writer:
        for i in range(6):
            feature = {
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
                "pixels": tf.train.Feature(bytes_list=tf.train.BytesList(value=[np.full(4, i, np.uint8).tobytes()])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    queue = tf.train.string_input_producer([path], num_epochs=1)
    _, serialized = tf.TFRecordReader().read(queue)
    parsed = tf.parse_single_example(
        serialized, {"label": tf.FixedLenFeature([], tf.int64), "pixels": tf.FixedLenFeature([], tf.string)}
    )
    image = tf.reshape(tf.decode_raw(parsed["pixels"], tf.uint8), [2, 2])
    images, labels = tf.train.batch([image, parsed["label"]], 3)
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        threads = tf.train.start_queue_runners(coord=coord)
        for start in (0, 3):
            pixels, numbers = session.run([images, labels])
            assert numbers.tolist() == [start, start + 1, start + 2]
            assert (pixels == numbers[:, None, None]).all()
        coord.request_stop()
        coord.join(threads)


@pytest.mark.parametrize("subdir", [True, False])
def test_databases(session, tmp_path, subdir):
    lmdb = pytest.importorskip("lmdb")
    paths = [str(tmp_path / name) for name in ("first", "empty", "second")]
    for path, content in zip(paths, ({b"b": b"\x00two", b"a": b"one"}, {}, {b"c": b""})):
        with lmdb.open(path, subdir=subdir) as environment, environment.begin(write=True) as transaction:
            for key, value in content.items():
                transaction.put(key, value)
    reader = tf.LMDBReader()
    found = read_all(session, reader, names(session, *paths))
    assert found == [(b"a", b"one"), (b"b", b"\x00two"), (b"c", b"")]
    assert session.run(reader.num_work_units_completed()) == 3


def test_what_is_no_database_is_refused(session, tmp_path):
    pytest.importorskip("lmdb")
    (tmp_path / "text").write_bytes(b"x" * 9999)
    reader = tf.LMDBReader()
    with pytest.raises(tf.errors.InvalidArgumentError, match="not an LMDB database"):
        session.run(reader.read(names(session, tmp_path / "text")))
    with pytest.raises(tf.errors.NotFoundError, match="no such file"):
        session.run(tf.LMDBReader().read(names(session, tmp_path / "missing")))


def test_a_missing_package_is_named(session, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lmdb", None)
    with pytest.raises(tf.errors.UnimplementedError, match=r"pip install 'thalweg\[lmdb\]'"):
        session.run(tf.LMDBReader().read(names(session, tmp_path)))
