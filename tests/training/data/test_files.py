"""Files of pipelines: records, lines, pieces, tables, caches; whole, compressed, cut and damaged."""

import contextlib
import gzip
import io
import random
import zlib

import numpy as np
import pytest

import thalweg as tf
from tests.training.data.running import elements, take
from tests.training.data.test_models import positions
from thalweg._src.base.formats.crc32c import masked_crc32c
from thalweg._src.base.formats.record_blocks import BLOCK, records_in
from thalweg._src.base.formats.records import framed
from thalweg._src.training.data.serial import decode, encode

Dataset = tf.data.Dataset
PACK = {"": lambda data: data, "GZIP": gzip.compress, "ZLIB": zlib.compress}


def _records(rng, count):
    return [rng.randbytes(rng.choice([0, 1, 3, 4, 5, 100, 3000])) for _ in range(count)]


def _read(data):
    """Returns the records before the first error, and the error."""
    found = []
    try:
        for records in records_in(io.BytesIO(data), "file"):
            found += records
    except tf.errors.DataLossError as error:
        return found, error
    return found, None


# -- records in blocks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, BLOCK - 16, BLOCK - 15, BLOCK, 3 * BLOCK + 7])
def test_records_around_the_size_of_a_block(size):
    records = [b"before", bytes(size), b"", b"after" * 50000, b"x"]
    assert _read(b"".join(map(framed, records))) == (records, None)


def test_every_flipped_bit_is_located():
    rng = random.Random(1)
    records = _records(rng, 300)
    data = b"".join(map(framed, records))
    for _ in range(400):
        damaged = bytearray(data)
        place = rng.randrange(len(data))
        damaged[place] ^= 1 << rng.randrange(8)
        found, error = _read(bytes(damaged))
        starts = np.cumsum([0] + [len(record) + 16 for record in records])
        broken = int(np.searchsorted(starts, place, side="right")) - 1
        assert found == records[:broken]
        assert f"record at {starts[broken]}" in str(error)


def test_every_truncation_is_detected():
    rng = random.Random(2)
    records = _records(rng, 40)
    data = b"".join(map(framed, records))
    whole = set(np.cumsum([0] + [len(record) + 16 for record in records]).tolist())
    for size in rng.sample(range(len(data)), 300):
        found, error = _read(data[:size])
        assert found == records[: len(found)]
        assert (error is None) == (size in whole)


def test_random_bytes_are_not_records():
    rng = random.Random(3)
    for _ in range(300):
        assert _read(rng.randbytes(rng.randrange(1, 200)))[0] == []


def test_a_wrong_length_allocates_no_memory():
    length = (1 << 62).to_bytes(8, "little")
    header = length + masked_crc32c(length).to_bytes(4, "little")
    found, error = _read(framed(b"good") + header + b"rest")
    assert found == [b"good"] and "truncated record at 20" in str(error)


# -- datasets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PACK)
def test_tfrecord_dataset(tmp_path, kind):
    records = _records(random.Random(4), 200)
    names = [str(tmp_path / name) for name in ("a", "b")]
    for name, part in zip(names, (records[:150], records[150:])):
        with open(name, "wb") as file:
            file.write(PACK[kind](b"".join(map(framed, part))))
    assert elements(lambda: tf.data.TFRecordDataset(names, kind)) == records
    positions(lambda: tf.data.TFRecordDataset(names, kind).prefetch(2), [0, 149, 150, 151])


def test_tfrecord_dataset_reads_what_writers_wrote(tmp_path):
    name = str(tmp_path / "written")
    with tf.python_io.TFRecordWriter(name) as writer:
        for i in range(20):
            writer.write(str(i).encode())
    assert elements(lambda: tf.data.TFRecordDataset(name)) == [str(i).encode() for i in range(20)]


def test_tfrecord_writer_writes_a_dataset(tmp_path):
    name = str(tmp_path / "written")
    with tf.Graph().as_default(), tf.Session() as session:
        texts = Dataset.range(30).map(tf.as_string)
        session.run(tf.data.experimental.TFRecordWriter(name, "GZIP").write(texts))
        element = tf.data.TFRecordDataset(name, "GZIP").make_one_shot_iterator().get_next()
        assert take(session, element) == [str(i).encode() for i in range(30)]
    with tf.Graph().as_default(), pytest.raises(TypeError, match="STRING"):
        tf.data.experimental.TFRecordWriter(name).write(Dataset.range(3))


def test_damaged_record_ends_its_file_with_an_error(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(framed(b"one") + b"\1" * 30)
    second.write_bytes(framed(b"two"))
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.TFRecordDataset([str(first), str(second)])
        element = dataset.make_one_shot_iterator().get_next()
        assert session.run(element) == b"one"
        with pytest.raises(tf.errors.DataLossError, match=r"first: corrupted record at 19"):
            session.run(element)
        assert session.run(element) == b"two"
        passed = dataset.apply(tf.data.experimental.ignore_errors()).make_one_shot_iterator().get_next()
        assert take(session, passed) == [b"one", b"two"]


@pytest.mark.parametrize("kind", PACK)
def test_text_lines(tmp_path, kind):
    lines = [b"", b"a", b"long " * 20000, b"\r", b"end"]
    name = tmp_path / "lines"
    name.write_bytes(PACK[kind](b"\n".join(lines * 9)))
    expected = [line.removesuffix(b"\r") for line in lines * 9]
    assert elements(lambda: tf.data.TextLineDataset(str(name), kind)) == expected


@pytest.mark.parametrize("kind", PACK)
def test_fixed_length_records(tmp_path, kind):
    body = random.Random(5).randbytes(3000)
    name = tmp_path / "pieces"
    name.write_bytes(PACK[kind](b"head" + body + b"tail!"))
    make = tf.data.FixedLengthRecordDataset
    expected = [body[i : i + 10] for i in range(0, 3000, 10)]
    assert elements(lambda: make(str(name), 10, 4, 5, compression_type=kind)) == expected
    with pytest.raises(tf.errors.InvalidArgumentError, match="whole number of records"):
        elements(lambda: make(str(name), 7, 4, 5, compression_type=kind))


def test_names_from_a_placeholder_and_from_a_dataset(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text(f"{name}1\n{name}2\n")
    with tf.Graph().as_default(), tf.Session() as session:
        names = tf.placeholder(tf.string, [None])
        iterator = tf.data.TextLineDataset(names).make_initializable_iterator()
        session.run(iterator.initializer, {names: [str(tmp_path / "b")]})
        assert take(session, iterator.get_next()) == [b"b1", b"b2"]
        files = Dataset.list_files(str(tmp_path / "*"), shuffle=False)
        lines = files.interleave(tf.data.TextLineDataset, cycle_length=3).make_initializable_iterator()
        session.run(lines.initializer)
        assert take(session, lines.get_next()) == [b"a1", b"b1", b"c1", b"a2", b"b2", b"c2"]


def test_a_one_shot_iterator_over_listed_files(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("")
    with tf.Graph().as_default(), tf.Session() as session:
        names = Dataset.list_files(str(tmp_path / "*"), shuffle=False).make_one_shot_iterator().get_next()
        assert take(session, names) == [str(tmp_path / name).encode() for name in "ab"]
        missing = Dataset.list_files(str(tmp_path / "*.none")).make_one_shot_iterator().get_next()
        with pytest.raises(tf.errors.InvalidArgumentError, match="No files matched"):
            session.run(missing)


def test_missing_and_unreadable_files(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        elements(lambda: tf.data.TFRecordDataset(str(tmp_path / "none")))
    with pytest.raises(tf.errors.OpError):
        elements(lambda: tf.data.TextLineDataset(str(tmp_path)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="No files matched"):
        elements(lambda: Dataset.list_files(str(tmp_path / "*.none")))


# -- caches -----------------------------------------------------------------------------------------------------------


def test_cache_in_a_file_outlives_the_program(tmp_path):
    made = []

    def build():
        source = Dataset.range(4).map(lambda x: tf.py_func(lambda v: made.append(int(v)) or v, [x], tf.int64))
        return source.map(lambda x: (x, tf.as_string(x))).cache(str(tmp_path / "cache"))

    expected = [(i, str(i).encode()) for i in range(4)]
    for _ in range(2):
        assert elements(lambda: build().repeat(2)) == expected * 2
    assert made == [0, 1, 2, 3]


def test_an_incomplete_file_cache_is_ignored(tmp_path):
    def build():
        return Dataset.range(4).cache(str(tmp_path / "cache"))

    assert elements(build, most=2) == [0, 1]
    assert list(tmp_path.iterdir()) == []
    assert elements(build) == [0, 1, 2, 3]


# -- tables and examples ----------------------------------------------------------------------------------------------


def test_csv_dataset(tmp_path):
    name = tmp_path / "table.csv"
    name.write_text('a,b,c\n1,x,2.5\n2,"two\nlines, ""quoted""",\n')

    def build():
        return tf.data.experimental.CsvDataset(str(name), [tf.int32, "none", [9.0]], header=True)

    assert elements(build) == [(1, b"x", 2.5), (2, b'two\nlines, "quoted"', 9.0)]


def test_csv_dataset_errors(tmp_path):
    name = tmp_path / "table.csv"
    name.write_text("1\nx\n")
    with pytest.raises(tf.errors.InvalidArgumentError):
        elements(lambda: tf.data.experimental.CsvDataset(str(name), [tf.int32]))


def test_make_csv_dataset(tmp_path):
    for i in range(2):
        (tmp_path / f"{i}.csv").write_text("n,x,s\n" + "".join(f"{10 * i + j},{j}.5,t{j}\n" for j in range(3)))

    def build(**options):
        return lambda: tf.data.experimental.make_csv_dataset(
            str(tmp_path / "*.csv"), 3, label_name="s", num_epochs=1, shuffle=False, **options
        )

    first, second = elements(build())
    assert first == ({"n": [0, 1, 2], "x": [0.5, 1.5, 2.5]}, [b"t0", b"t1", b"t2"])
    assert second[0]["n"] == [10, 11, 12]
    assert elements(build(select_columns=["n", "s"]))[0] == ({"n": [0, 1, 2]}, [b"t0", b"t1", b"t2"])
    with tf.Graph().as_default():
        assert build()().output_types == ({"n": tf.int32, "x": tf.float32}, tf.string)
        with pytest.raises(ValueError, match="columns"):
            tf.data.experimental.make_csv_dataset(str(tmp_path / "*.csv"), 3, label_name="none")


def test_make_batched_features_dataset(tmp_path):
    name = str(tmp_path / "examples")
    with tf.python_io.TFRecordWriter(name) as writer:
        for i in range(5):
            feature = {
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i, i])),
                "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())

    def build():
        features = {"x": tf.FixedLenFeature([2], tf.float32), "y": tf.FixedLenFeature([], tf.int64)}
        return tf.data.experimental.make_batched_features_dataset(
            name, 2, features, label_key="y", num_epochs=1, shuffle=False
        )

    assert elements(build) == [
        ({"x": [[0, 0], [1, 1]]}, [0, 1]),
        ({"x": [[2, 2], [3, 3]]}, [2, 3]),
        ({"x": [[4, 4]]}, [4]),
    ]


# -- positions --------------------------------------------------------------------------------------------------------


def test_position_in_a_checkpoint(tmp_path):
    def build():
        iterator = Dataset.range(20).shuffle(6).batch(2).prefetch(2).make_initializable_iterator()
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(iterator))
        tf.Variable(1.0, name="weight")
        return iterator, iterator.get_next(), tf.train.Saver()

    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        iterator, element, saver = build()
        session.run([iterator.initializer, tf.global_variables_initializer()])
        take(session, element, 3)
        saver.save(session, path)
        expected = take(session, element)
    with tf.Graph().as_default(), tf.Session() as session:
        iterator, element, saver = build()
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert take(session, element) == expected


def test_position_restored_before_initialization():
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = Dataset.range(5).make_initializable_iterator()
        element = iterator.get_next()
        saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
        session.run(iterator.initializer)
        take(session, element, 2)
        position = session.run(saveable.specs[0].tensor)
        saved = tf.placeholder(tf.string, [])
        restore = saveable.restore([saved], None)
        with tf.Session() as other:
            other.run(restore, {saved: position})
            other.run(iterator.initializer)
            assert take(other, element) == [2, 3, 4]
            other.run(iterator.initializer)
            assert take(other, element) == [0, 1, 2, 3, 4]
        with pytest.raises(tf.errors.DataLossError, match="corrupt"):
            session.run(restore, {saved: b"no position"})
        assert take(session, element) == [2, 3, 4]


def test_position_of_another_dataset():
    with tf.Graph().as_default(), tf.Session() as session:
        one, other = (d.make_initializable_iterator() for d in (Dataset.range(9).shuffle(3), Dataset.range(9)))
        session.run([one.initializer, other.initializer])
        saveables = [tf.data.experimental.make_saveable_from_iterator(iterator) for iterator in (one, other)]
        position = session.run(saveables[1].specs[0].tensor)
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not fit this dataset"):
            session.run(saveables[0].restore([tf.constant(position)], None))
        assert len(take(session, one.get_next())) == 9


def test_malformed_positions_are_rejected():
    rng = random.Random(6)
    strings = np.array([[b"a", b""]], dtype=object)
    tree = {"a": [1, -(2**70), 0.5, None, True], "b": (b"bytes", "text"), "c": strings, "d": np.arange(3.0)}
    saved = encode(tree)
    again = decode(saved)
    assert again["a"] == tree["a"] and again["b"] == tree["b"]
    assert again["c"].tolist() == strings.tolist() and again["d"].tolist() == [0, 1, 2]
    for _ in range(3000):
        damaged = bytearray(saved)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        with contextlib.suppress(tf.errors.DataLossError):
            decode(bytes(damaged[: rng.randint(0, len(damaged))] if rng.random() < 0.3 else damaged))
