"""Bundles: every type, slices cut in any way, many shards, and the tables that list them."""

import os

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import thalweg as tf
from tests.valid_calls.checkpoint import WRITTEN
from thalweg._src.base import dtypes, errors
from thalweg._src.base.formats import bundle, slices
from thalweg._src.base.formats.bundle import BundleWriter, data_files, data_name, index_name, merge_bundles
from thalweg._src.base.formats.bundle_reader import BundleReader
from thalweg._src.base.formats.slices import FULL, Slice
from thalweg._src.base.formats.table import _snappy_decompress, read_table, table, varint
from thalweg._src.graph.ops.checkpoint import (
    merge_v2_checkpoints_op,
    restore_v2_op,
    save_v2_op,
    sharded_filename_op,
    sharded_filespec_op,
)

TYPES = sorted((dtype for dtype in dtypes.ALL - {dtypes.resource, dtypes.variant}), key=str)
RELAXED = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


def _array(dtype, shape):
    rng = np.random.RandomState(7)
    if dtype is dtypes.string:
        count = int(np.prod(shape))
        return np.array([rng.bytes(int(n)) for n in rng.randint(0, 200, count)], object).reshape(shape)
    kind = np.dtype(dtype.as_numpy_dtype)
    bits = rng.randint(0, 2 if dtype is dtypes.bool else 127, int(np.prod(shape)) * kind.itemsize)
    return bits.astype(np.uint8).view(kind).reshape(shape)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
def test_every_type(tmp_path, dtype):
    prefix = str(tmp_path / "model")
    arrays = {str(shape): _array(dtype, shape) for shape in [(), (0,), (3, 0, 2), (5,), (2, 3, 4)]}
    with BundleWriter(prefix) as writer:
        for name, array in arrays.items():
            data = array.ravel().tolist() if dtype is dtypes.string else np.frombuffer(array.tobytes(), np.uint8)
            writer.add(name, dtype, array.shape, data)
        writer.finish()
    with BundleReader(prefix) as reader:
        reader.verify()
        assert reader.names() == sorted(arrays)
        for name, array in arrays.items():
            found = reader.read(name)
            assert reader.entry(name).dtype is dtype and reader.shape(name) == array.shape
            assert found.dtype == array.dtype and found.shape == array.shape
            assert found.tolist() == array.tolist() if dtype is dtypes.string else found.tobytes() == array.tobytes()


def _write_large(prefix, *names):
    """Writes tensors of 80,000 bytes, each behind a small one, and a sliced one; returns their values."""
    arrays = {name: np.random.RandomState(number).rand(100, 100) for number, name in enumerate(names)}
    with BundleWriter(prefix) as writer:
        for name, array in arrays.items():
            writer.add(f"{name}/small", dtypes.int8, (3,), b"abc")
            writer.add(name, dtypes.float64, array.shape, np.frombuffer(array.tobytes(), np.uint8))
        for start in (0, 100):
            half = np.frombuffer(array.tobytes(), np.uint8)
            writer.add_slice("sliced", (200, 100), Slice(((start, 100), (0, FULL))), dtypes.float64, half)
        writer.finish()
    return arrays


def test_large_tensors_are_aligned_and_can_be_mapped(tmp_path):
    prefix = str(tmp_path / "model")
    arrays = _write_large(prefix, "a", "b")
    with BundleReader(prefix) as reader:
        views = {name: reader.mapped(name) for name in arrays}
        assert all(reader.entry(name).offset % 64 == 0 for name in arrays)
        part = reader.mapped("sliced", "200 100 100,100:0,100")
        assert reader.mapped("a/small") is None and reader.mapped("sliced") is None
        assert reader.mapped("a", "100 100 0,50:-") is None and reader.mapped("sliced", "200 100 9,100:-") is None
        reader.verify()
    before = (tmp_path / "model.data-00000-of-00001").read_bytes()
    os.remove(tmp_path / "model.data-00000-of-00001")
    for name, array in arrays.items():
        np.testing.assert_array_equal(views[name].view(np.float64).reshape(100, 100), array)
    assert part.tobytes() == arrays["b"].tobytes()
    (tmp_path / "model.data-00000-of-00001").write_bytes(before)
    with BundleReader(prefix) as reader:
        reader.mapped("a")[:] = 0
        reader.verify()


def test_a_damaged_tensor_is_not_mapped(tmp_path):
    prefix = str(tmp_path / "model")
    _write_large(prefix, "a")
    with BundleReader(prefix) as reader, open(f"{prefix}.data-00000-of-00001", "r+b") as file:
        file.seek(reader.entry("a").offset + 70_000)
        file.write(b"damage")
        file.flush()
        with pytest.raises(errors.DataLossError, match="do not match the checksum"):
            reader.mapped("a")


def test_tensors_that_are_not_aligned_are_not_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "_ALIGNMENT", 1)  # as TensorFlow writes them
    prefix = str(tmp_path / "model")
    arrays = _write_large(prefix, "a")
    with BundleReader(prefix) as reader:
        assert reader.mapped("a") is None
        np.testing.assert_array_equal(reader.read("a"), arrays["a"])


def test_save_and_restore_ops(tmp_path):
    prefix = str(tmp_path / "deep" / "model")
    values = {
        "half": np.array([1.5, 2], np.float16),
        "brain": np.array([1.5, 2], ml_dtypes.bfloat16),
        "complex": np.array([[1 + 2j]], np.complex64),
        "unsigned": np.array([2**64 - 1], np.uint64),
        "words": np.array([[b"a", b"bc"]], object),
        "large": np.arange(600_000, dtype=np.float32),
    }
    with tf.Graph().as_default(), tf.Session() as session:
        save = save_v2_op.operation(prefix, list(values), [""] * 6, [tf.constant(v) for v in values.values()])
        types = [tf.as_dtype(v.dtype) if v.dtype != object else tf.string for v in values.values()]
        restored = restore_v2_op.many(prefix, list(values), [""] * 6, dtypes=types)
        with pytest.raises(tf.errors.NotFoundError, match=r"model\.index"):
            session.run(restored)
        session.run(save)
        for name, value in zip(values, session.run(restored)):
            assert value.dtype == values[name].dtype
            np.testing.assert_array_equal(value, values[name])
        single = restore_v2_op.many(prefix, ["large"], ["600000 599998,2"], dtypes=["float32"])
        assert single[0].shape.as_list() == [2]
        assert session.run(single)[0].tolist() == [599998, 599999]
        with pytest.raises(tf.errors.NotFoundError, match="Key other, third not found"):
            session.run(restore_v2_op.many(prefix, ["half", "other", "third"], [""] * 3, dtypes=["float16"] * 3))
        with pytest.raises(tf.errors.InvalidArgumentError, match="float16 in the checkpoint"):
            session.run(restore_v2_op.many(prefix, ["half"], [""], dtypes=["float32"]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="a slice of shape"):
            session.run(restore_v2_op.many(prefix, ["half"], ["3 0,1"], dtypes=["float16"]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="saved twice"):
            session.run(save_v2_op.operation(prefix, ["a", "a"], ["", ""], [tf.constant(1), tf.constant(2)]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="its slice"):
            session.run(save_v2_op.operation(prefix, ["a"], ["4 0,2"], [tf.constant([1, 2, 3])]))
        assert session.run(sharded_filename_op("a", 3, 12)) == b"a-00003-of-00012"
        assert session.run(sharded_filespec_op("a", 12)) == b"a-?????-of-00012"


def test_bundles_written_by_tensorflow():
    with BundleReader(str(WRITTEN)) as reader:
        assert reader.names() == ["a", "b", "c"]
        np.testing.assert_array_equal(reader.read("b"), np.arange(8, dtype=np.float32).reshape(4, 2))
        assert reader.read("b", "4 2 1,2:1,1").tolist() == [[3], [5]]
        assert reader.strings("c").tolist() == [b"one", b"", b"three"]


# -- slices -----------------------------------------------------------------------------------------------------------


def _cuts(draw, size):
    points = draw(st.lists(st.integers(1, max(size - 1, 1)), max_size=3, unique=True)) if size > 1 else []
    edges = [0, *sorted(points), size]
    return list(zip(edges, np.diff(edges).tolist()))


@st.composite
def _partitioned(draw):
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    parts = [()]
    for size in shape:
        parts = [(*part, cut) for part in parts for cut in _cuts(draw, size)]
    wanted = tuple((s := draw(st.integers(0, n - 1)), draw(st.integers(1, n - s))) for n in shape)
    return shape, parts, wanted, draw(st.booleans())


@RELAXED
@given(_partitioned())
def test_a_tensor_sliced_in_any_way(tmp_path_factory, case):
    shape, parts, wanted, strings = case
    whole = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    if strings:
        whole = np.vectorize(lambda n: b"%d" % n, otypes=[object])(whole)
    dtype = dtypes.string if strings else dtypes.int32
    prefix = str(tmp_path_factory.mktemp("cut") / "model")
    with BundleWriter(prefix) as writer:
        for part in parts:
            values = whole[tuple(slice(s, s + n) for s, n in part)]
            data = values.ravel().tolist() if strings else np.ascontiguousarray(values)
            writer.add_slice("w", shape, Slice(part), dtype, data)
        writer.finish()
    spec = f"{' '.join(map(str, shape))} {Slice(wanted)}"
    with BundleReader(prefix) as reader:
        reader.verify()
        assert reader.read("w").tolist() == whole.tolist()
        assert reader.read("w", spec).tolist() == whole[tuple(slice(s, s + n) for s, n in wanted)].tolist()


def test_slices_are_read_as_they_are_written():
    assert slices.parse("10 4 0,3:-") == ((10, 4), Slice(((0, 3), (0, FULL))))
    assert str(Slice(((0, 3), (0, FULL)))) == "0,3:-"
    for text in ("3", "x", "3 4 0,3", "3 0,4", "3 -1,2", "3 0,0", "3 1", "-3 0,1", "3 0,1:0,1", "3  0,1"):
        with pytest.raises(ValueError, match="slice"):
            slices.parse(text)


@given(st.lists(st.tuples(st.binary(max_size=4), st.integers(0, 2**40), st.integers(1, 2**40)), min_size=2, max_size=9))
def test_keys_of_slices_sort_like_names_and_numbers(items):
    ordered = sorted(items)
    keys = [Slice(((start, length),)).key(name) for name, start, length in ordered]
    assert keys == sorted(keys)


def test_invalid_slices(tmp_path):
    prefix = str(tmp_path / "model")
    data = np.arange(4, dtype=np.int32)
    with BundleWriter(prefix) as writer:
        writer.add_slice("gap", (9,), Slice(((0, 4),)), dtypes.int32, data)
        writer.add_slice("twice", (6,), Slice(((0, 4),)), dtypes.int32, data)
        writer.add_slice("twice", (6,), Slice(((2, 4),)), dtypes.int32, data)
        with pytest.raises(errors.InvalidArgumentError, match="different shapes"):
            writer.add_slice("gap", (10,), Slice(((4, 4),)), dtypes.int32, data)
        writer.finish()
    with BundleReader(prefix) as reader:
        assert reader.read("gap", "9 1,2").tolist() == [1, 2]
        with pytest.raises(errors.DataLossError, match="do not cover"):
            reader.read("gap")
        with pytest.raises(errors.DataLossError, match="overlap"):
            reader.read("twice")
        with pytest.raises(errors.DataLossError, match="overlap"):
            reader.verify()


# -- shards -----------------------------------------------------------------------------------------------------------


def _bundle(prefix, **values):
    with BundleWriter(prefix) as writer:
        for name, value in values.items():
            writer.add(name, dtypes.as_dtype(value.dtype), value.shape, value)
        writer.finish()


def test_merging_shards(tmp_path):
    parts = [str(tmp_path / "t" / f"part-{i}") for i in range(4)]
    for i, part in enumerate(parts):
        _bundle(part, **{f"x{i}": np.arange(i + 1)})
    for again in range(3):  # over itself, too
        if again:
            for i, part in enumerate(parts):
                _bundle(part, **{f"x{i}": np.arange(i + 1) + again})
        merge_bundles(parts, str(tmp_path / "model"))
        with BundleReader(str(tmp_path / "model")) as reader:
            assert [reader.read(f"x{i}").tolist() for i in range(4)] == [
                [n + again for n in range(i + 1)] for i in range(4)
            ]
        assert len(data_files(str(tmp_path / "model"))) == 4
    assert os.listdir(tmp_path / "t") == []
    _bundle(parts[0], a=np.arange(2))
    _bundle(parts[1], a=np.arange(2))
    with pytest.raises(errors.InvalidArgumentError, match="'a' is in several"):
        merge_bundles(parts[:2], str(tmp_path / "model"))
    with pytest.raises(errors.NotFoundError):
        merge_bundles(["nowhere"], str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(
            merge_v2_checkpoints_op.operation([parts[0], "nowhere"], str(tmp_path / "m"), allow_missing_files=True)
        )
    assert tf.train.list_variables(str(tmp_path / "m")) == [("a", [2])]


def test_an_abandoned_writer_leaves_no_files(tmp_path):
    with pytest.raises(RuntimeError), BundleWriter(str(tmp_path / "model")) as writer:
        writer.add("a", dtypes.int32, (2,), np.arange(2, dtype=np.int32))
        raise RuntimeError
    assert os.listdir(tmp_path) == []


def test_files_with_similar_prefixes_are_not_touched(tmp_path):
    prefix = str(tmp_path / "model[1]")
    others = ["model[1]x.data-00000-of-00009", "model[1].data-00000-of-00009x", "model1.data-00000-of-00009"]
    for name in others:
        (tmp_path / name).touch()
    for _ in range(2):
        _bundle(prefix, a=np.arange(3))
    assert set(others) < set(os.listdir(tmp_path)) and len(os.listdir(tmp_path)) == 5
    assert os.path.exists(index_name(prefix)) and os.path.exists(data_name(prefix, 0, 2))


# -- tables -----------------------------------------------------------------------------------------------------------


@RELAXED
@given(st.dictionaries(st.binary(max_size=12), st.binary(max_size=40), max_size=80))
def test_tables(entries):
    assert read_table(table(sorted(entries.items())), "f") == entries


def test_a_table_of_many_blocks():
    entries = {b"name/%06d" % i: b"v" * (i % 700) for i in range(4000)}
    content = table(sorted(entries.items()))
    assert len(content) > 4 << 18
    assert read_table(content, "f") == entries
    with pytest.raises(ValueError, match="ascending"):
        table([(b"b", b""), (b"a", b"")])


def test_compressed_blocks():
    literal = varint(5) + bytes([4 << 2]) + b"abcde"
    assert _snappy_decompress(literal) == b"abcde"
    copy = varint(12) + bytes([2 << 2]) + b"abc" + bytes([(9 - 4) << 2 | 1, 3])
    assert _snappy_decompress(copy) == b"abcabcabcabc"
    long = varint(100) + bytes([60 << 2, 69]) + bytes(70) + bytes([29 << 2 | 2, 70, 0])
    assert _snappy_decompress(long) == bytes(100)
