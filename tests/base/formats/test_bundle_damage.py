"""Damaged checkpoints: flipped bits, truncated files and malicious sizes give a typed error or the correct values."""

import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.base import dtypes, errors
from thalweg._src.base.formats import bundle
from thalweg._src.base.formats.bundle import BundleWriter, data_name, index_name
from thalweg._src.base.formats.bundle_reader import BundleReader
from thalweg._src.base.formats.checkpoint_messages import message_class
from thalweg._src.base.formats.slices import Slice
from thalweg._src.base.formats.table import _append, _Block, read_table, table, varint

VALUES = {
    "weights": np.arange(60, dtype=np.float32).reshape(12, 5),
    "step": np.array(7, np.int64),
    "empty": np.zeros((0, 3), np.int32),
    "parts": np.arange(14, dtype=np.float64).reshape(7, 2),
    "words": np.array([b"one", b"", b"three" * 30], object),
    "flags": np.array([True, False, True]),
}


def _write(prefix):
    with BundleWriter(prefix) as writer:
        for name, value in VALUES.items():
            if name == "parts":
                for start, size in ((0, 3), (3, 4)):
                    part = Slice(((start, size), (0, 2)))
                    writer.add_slice(name, (7, 2), part, dtypes.float64, value[start : start + size].copy())
            elif name == "words":
                writer.add(name, dtypes.string, value.shape, value.tolist())
            else:
                writer.add(name, dtypes.as_dtype(value.dtype), value.shape, value)
        writer.finish()


def _require_true_or_typed(prefix):
    """Reads everything; returns whether something was refused."""
    try:
        with BundleReader(prefix) as reader:
            names = reader.names()
            refused = False
            for name in names:
                try:
                    value = reader.read(name)
                except errors.DataLossError as error:
                    assert prefix in str(error) and repr(name) in str(error)
                    refused = True
                    continue
                assert name in VALUES
                assert value.dtype == VALUES[name].dtype and value.shape == VALUES[name].shape
                assert value.tolist() == VALUES[name].tolist()
            return refused or set(names) != set(VALUES)
    except errors.OpError as error:
        assert prefix in str(error)
        return True


def _files(prefix):
    paths = [index_name(prefix), data_name(prefix, 0, 1)]
    return [(path, Path(path).read_bytes()) for path in paths]


def _flip_bits(prefix, count, seed):
    rng = random.Random(seed)
    refused = 0
    files = _files(prefix)
    for _ in range(count):
        path, content = rng.choice(files)
        damaged = bytearray(content)
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        with open(path, "wb") as file:
            file.write(damaged)
        refused += _require_true_or_typed(prefix)
        with open(path, "wb") as file:
            file.write(content)
    assert refused > 0.8 * count  # the rest hit bytes that mean nothing


def _cut(prefix, count, seed):
    rng = random.Random(seed)
    files = _files(prefix)
    for _ in range(count):
        path, content = rng.choice(files)
        with open(path, "wb") as file:
            file.write(content[: rng.randrange(len(content))])
        assert _require_true_or_typed(prefix)
        with open(path, "wb") as file:
            file.write(content)


@pytest.mark.parametrize("flips, cuts", [(400, 60), pytest.param(10000, 1000, marks=pytest.mark.slow)])
@pytest.mark.timeout(600)
def test_flipped_bits_and_truncated_files(tmp_path, flips, cuts):
    prefix = str(tmp_path / "model")
    _write(prefix)
    assert not _require_true_or_typed(prefix)
    _flip_bits(prefix, flips, seed=1)
    _cut(prefix, cuts, seed=2)
    assert not _require_true_or_typed(prefix)


def _mutated(rng, content):
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 4])):
        choice = rng.random()
        at = rng.randrange(len(data) + 1)
        if choice < 0.4 and at < len(data):
            data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif choice < 0.6:
            del data[at : at + rng.randrange(1, 4)]
        elif choice < 0.8:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 10)))
        else:
            data[at : at + 1] = b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
    return bytes(data)


@pytest.mark.parametrize("count", [1500, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.timeout(3600)
def test_a_malicious_index_with_valid_checksums(tmp_path, count):
    """What a writer could have put there on purpose: typed errors, bounded memory."""
    prefix = str(tmp_path / "model")
    _write(prefix)
    good = read_table(Path(index_name(prefix)).read_bytes(), "index")
    rng = random.Random(3)
    tracemalloc.start()
    for _ in range(count):
        entries = dict(good)
        for key in rng.sample(sorted(entries), rng.choice([1, 1, 2])):
            entries[key] = _mutated(rng, entries[key])
        with open(index_name(prefix), "wb") as file:
            file.write(table(sorted(entries.items())))
        try:
            with BundleReader(prefix) as reader:
                for name in reader.names():
                    dtype = reader.entry(name).dtype
                    if dtype.size or dtype is dtypes.string:
                        reader.read(name)
        except errors.OpError as error:
            assert prefix in str(error)
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("count", [3000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.timeout(3600)
def test_random_bytes_as_a_table(count):
    rng = random.Random(4)
    good = table([(b"%05d" % i, b"v" * (i % 50)) for i in range(200)])
    for _ in range(count):
        data = _mutated(rng, good) if rng.random() < 0.8 else rng.randbytes(rng.randrange(200))
        try:
            read_table(data, "the file")
        except errors.DataLossError as error:
            assert "the file" in str(error)


# -- malicious input --------------------------------------------------------------------------------------------------


def _entry(**fields):
    message = message_class("BundleEntryProto")(**fields)
    message.shape.SetInParent()
    return message


def _index(prefix, entries, shards=1):
    header = message_class("BundleHeaderProto")(num_shards=shards)
    items = {b"": header.SerializeToString()} | {key: e.SerializeToString() for key, e in entries.items()}
    with open(index_name(prefix), "wb") as file:
        file.write(table(sorted(items.items())))
    with open(data_name(prefix, 0, 1), "wb") as file:
        file.write(bytes(100))


def _huge():
    entry = _entry(dtype=1, size=4 << 60)
    entry.shape.dim.add(size=1 << 60)
    return entry


def _overflowing():
    entry = _entry(dtype=1, size=0)
    for _ in range(4):
        entry.shape.dim.add(size=1 << 62)
    return entry


def _strings():
    entry = _entry(dtype=7, size=90)
    entry.shape.dim.add(size=1 << 50)
    return entry


def _sliced():
    entry = _entry(dtype=1)
    entry.shape.dim.add(size=1 << 50)
    extent = entry.slices.add().extent.add()
    extent.start, extent.length = 0, 1 << 50
    return entry


def _beyond():
    entry = _entry(dtype=1, offset=(1 << 63) - 8, size=8)
    entry.shape.dim.add(size=2)
    return entry


@pytest.mark.parametrize("make", [_huge, _overflowing, _strings, _sliced, _beyond])
def test_sizes_are_checked_before_allocation(tmp_path, make):
    prefix = str(tmp_path / "model")
    _index(prefix, {b"x": make()})
    with pytest.raises(errors.DataLossError, match="'x'"), BundleReader(prefix) as reader:
        reader.read("x")


def test_tensors_may_not_share_bytes(tmp_path):
    prefix = str(tmp_path / "model")
    entries = {}
    for name in (b"a", b"b"):
        entries[name] = _entry(dtype=1, size=80)
        entries[name].shape.dim.add(size=20)
    _index(prefix, entries)
    with pytest.raises(errors.DataLossError, match="another tensor"):
        BundleReader(prefix)


def test_key_expansion_is_limited(tmp_path):
    """Prefix compression could make gigabytes of a small file."""
    block, file = _Block(16), bytearray()
    block.add(b"k" * 60000, b"")
    for _ in range(20000):
        block._data += varint(60000) + varint(1) + varint(0) + b"k"
    handle = _append(file, block.finish())
    index = _Block(1)
    index.add(b"l", handle)
    footer = _append(file, _Block(16).finish()) + _append(file, index.finish())
    content = bytes(file) + footer.ljust(40, b"\0") + (0xDB4775248B80FB57).to_bytes(8, "little")
    with pytest.raises(errors.DataLossError):
        read_table(content, "f")


# -- the way back -----------------------------------------------------------------------------------------------------


def _saved(folder, count=3):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("layer/v", [40], initializer=tf.zeros_initializer())
        saver = tf.train.Saver()
        session.run(v.initializer)
        return [(session.run(v.assign(v + 1)), saver.save(session, f"{folder}/model", i))[1] for i in range(count)]


def _damage(path, at=33):
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def test_a_damaged_checkpoint_is_skipped_for_the_newest_intact_one(tmp_path, caplog):
    prefixes = _saved(tmp_path)
    _damage(tmp_path / "model-2.data-00000-of-00001")
    _damage(tmp_path / "model-1.index")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("layer/v", [40], initializer=tf.constant_initializer(9))
        saver = tf.train.Saver()
        session.run(v.initializer)
        assert tf.train.latest_checkpoint(str(tmp_path)) == prefixes[2]
        with pytest.raises(tf.errors.DataLossError, match=r"(?s)model-2\.data-00000-of-00001.*'layer/v'"):
            saver.restore(session, prefixes[2])
        np.testing.assert_array_equal(session.run(v), np.full(40, 9))
        with pytest.raises(tf.errors.DataLossError, match=r"model-1\.index"):
            saver.restore(session, prefixes[1])
        with caplog.at_level("WARNING", "thalweg"):
            assert saver.restore_latest_good(session, str(tmp_path)) == prefixes[0]
        assert "model-2" in caplog.text and "model-1" in caplog.text
        np.testing.assert_array_equal(session.run(v), np.ones(40))
        saver.recover_last_checkpoints(prefixes, verify=True)
        assert saver.last_checkpoints == prefixes[:1]


def test_a_lost_state_file_and_missing_data(tmp_path, caplog):
    prefixes = _saved(tmp_path)
    (tmp_path / "checkpoint").write_bytes(b"\xffno state at all")
    (tmp_path / "model-2.data-00000-of-00001").unlink()
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    assert "checkpoint" in caplog.text
    from thalweg._src.training.checkpoint.state import latest_good_checkpoint

    assert latest_good_checkpoint(str(tmp_path)) == prefixes[1]
    assert latest_good_checkpoint(str(tmp_path / "nowhere")) is None


def test_messages_name_the_tensor_of_a_slice():
    assert bundle.shown(Slice(((0, 1),)).key(b"some/name")) == "some/name"
