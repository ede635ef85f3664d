"""Damaged record files: what is read is what was written up to the damage, then a typed error that names the file."""

import gzip
import io
import random
import tracemalloc
import zlib

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.base import errors
from thalweg._src.base.formats import proportion, record_blocks, record_files
from thalweg._src.base.formats.crc32c import mask, masked_crc32c
from thalweg._src.base.formats.record_blocks import records_in
from thalweg._src.base.formats.record_files import _Inflated, records_of
from thalweg._src.base.formats.records import framed, read_records

NAME = "the file"
BLOCKS = [1 << 20, 1 << 20, 48, 100]  # small ones let records cross their borders
PACK = {"GZIP": lambda data: gzip.compress(data, 1), "ZLIB": lambda data: zlib.compress(data, 1)}
HOSTILE = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 16, 2**64 - 1]


def _table():
    words = list(range(256))
    for _ in range(8):
        words = [(word >> 1) ^ (0x82F63B78 if word & 1 else 0) for word in words]
    return words


TABLE = _table()


def _checksum(data):
    register = 0xFFFFFFFF
    for byte in data:
        register = TABLE[(register ^ byte) & 255] ^ (register >> 8)
    return mask(register ^ 0xFFFFFFFF)


def _by_definition(data):
    """Returns the records before the first that is not as the format says, and where that one begins, or None."""
    found, at = [], 0
    while at < len(data):
        length, checksum = int.from_bytes(data[at : at + 8], "little"), int.from_bytes(data[at + 8 : at + 12], "little")
        if len(data) < at + 12 or checksum != _checksum(data[at : at + 8]) or len(data) < at + 16 + length:
            return found, at
        record, checksum = data[at + 12 : at + 12 + length], data[at + 12 + length : at + 16 + length]
        if int.from_bytes(checksum, "little") != _checksum(record):
            return found, at
        found.append(record)
        at += 16 + length
    return found, None


def _in_blocks(source, rows):
    """Returns the records before the first error, and the error."""
    found = []
    try:
        for records in records_in(source, NAME, rows):
            found += [row.tobytes() for row in records] if isinstance(records, np.ndarray) else records
    except errors.DataLossError as error:
        assert NAME in str(error)
        return found, error
    return found, None


def _written(rng):
    """Returns records, many of them of one length."""
    if rng.random() < 0.5:
        size = rng.randrange(60)
        return [rng.randbytes(size) for _ in range(rng.randrange(1, 8))]
    return [rng.randbytes(rng.choice([0, 1, 3, 4, 5, 20, 60])) for _ in range(rng.randrange(1, 8))]


def _header(length):
    data = length.to_bytes(8, "little")
    return data + masked_crc32c(data).to_bytes(4, "little")


def _mutated(rng, content, other):
    """Returns bytes that are damaged, truncated, extended by a wrong length, or spliced from two files."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(data) + 1)
        choice = rng.randrange(8)
        if choice < 2 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif choice == 2 and at < len(data):
            data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif choice == 3:
            del data[at:]
        elif choice == 4:
            del data[at : at + rng.randrange(1, 30)]
        elif choice == 5:
            data[at:at] = rng.randbytes(rng.randrange(1, 20))
        elif choice == 6:
            start = rng.randrange(len(other) + 1)
            data[at:at] = other[start : start + rng.randrange(1, 100)]
        else:
            data[at : at + rng.choice([0, 12])] = _header(rng.choice(HOSTILE))  # with a true checksum
    return bytes(data)


def _inputs(count, seed):
    rng = random.Random(seed)
    files = [b"".join(map(framed, _written(rng))) for _ in range(200)]
    for _ in range(count):
        yield rng, _mutated(rng, rng.choice(files), rng.choice(files))


@pytest.mark.parametrize("count", [2000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.timeout(3600)
def test_plain_files(count, monkeypatch):
    refused = 0
    for rng, data in _inputs(count, seed=1):
        expected, place = _by_definition(data)
        monkeypatch.setattr(record_blocks, "BLOCK", rng.choice(BLOCKS))
        found, error = _in_blocks(io.BytesIO(data), rows=rng.random() < 0.5)
        assert found == expected
        assert (error is None) == (place is None)
        if error is not None:
            assert f"record at {place}" in str(error)
            refused += 1
    assert refused > 0.8 * count


@pytest.mark.parametrize("count", [1000, pytest.param(200_000, marks=pytest.mark.slow)])
@pytest.mark.timeout(3600)
def test_compressed_files(count, monkeypatch):
    """Damaged before it was compressed, or after: then what comes out may be anything, but no wrong record."""
    monkeypatch.setattr(record_files, "_PIECE", 64)
    rng = random.Random(2)
    contents = [_written(rng) for _ in range(200)]
    packed = [(kind, PACK[kind](b"".join(map(framed, records))), records) for kind in PACK for records in contents]
    for i in range(count):
        monkeypatch.setattr(record_blocks, "BLOCK", rng.choice(BLOCKS))
        kind, data, records = rng.choice(packed)
        if i % 4:
            data = bytearray(data)
            for _ in range(rng.choice([1, 1, 3])):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            data = bytes(data[: rng.randrange(len(data))] if rng.random() < 0.3 else data)
            found, error = _in_blocks(_Inflated(io.BytesIO(data), NAME, kind), rows=rng.random() < 0.5)
            assert found == records[: len(found)]
            assert error is not None or found == records or not data
        else:
            data = _mutated(rng, b"".join(map(framed, records)), data)
            found, error = _in_blocks(_Inflated(io.BytesIO(PACK[kind](data)), NAME, kind), rows=rng.random() < 0.5)
            expected, place = _by_definition(data)
            assert found == expected
            assert (error is None) == (place is None)


def _all(records):
    found = []
    try:
        for record in records:
            found.append(record)
    except errors.DataLossError as error:
        return found, error
    return found, None


@pytest.mark.parametrize("count", [500, pytest.param(50_000, marks=pytest.mark.slow)])
@pytest.mark.timeout(3600)
def test_readers_of_one_record_at_a_time(count, tmp_path):
    """Those of readers, caches and event files agree with the definition too."""
    path = str(tmp_path / "damaged")
    for _, data in _inputs(count, seed=3):
        with open(path, "wb") as file:
            file.write(data)
        expected, place = _by_definition(data)
        for records in (read_records(path), (record for _, record in records_of(path))):
            found, error = _all(records)
            assert found == expected
            assert (error is None) == (place is None)
            assert error is None or (path in str(error) and f"{place}" in str(error))


@pytest.mark.parametrize("count", [30, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.timeout(3600)
def test_datasets(count, tmp_path):
    """All good records come, one by one and in batches that are decoded, then the error."""
    path = tmp_path / "damaged"
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.TFRecordDataset(str(path))
        decoded = dataset.map(lambda record: tf.decode_raw(record, tf.uint8)).batch(1)
        iterators = [each.make_initializable_iterator() for each in (dataset, decoded)]
        elements = [iterator.get_next() for iterator in iterators]
        for _, data in _inputs(count, seed=4):
            path.write_bytes(data)
            expected, place = _by_definition(data)
            for iterator, element in zip(iterators, elements):
                session.run(iterator.initializer)
                for record in expected:
                    value = session.run(element)
                    assert (value if isinstance(value, bytes) else value.tobytes()) == record
                end = tf.errors.OutOfRangeError if place is None else tf.errors.DataLossError
                with pytest.raises(end) as raised:
                    session.run(element)
                assert place is None or (str(path) in str(raised.value) and f"record at {place}" in str(raised.value))


@pytest.mark.parametrize("kind", ["", *PACK])
def test_memory_is_bounded_by_the_file_size(kind):
    def read(data):
        source = _Inflated(io.BytesIO(PACK[kind](data)), NAME, kind) if kind else io.BytesIO(data)
        return _in_blocks(source, rows=True)

    tracemalloc.start()
    for length in HOSTILE[2:]:
        found, error = read(framed(b"good") + _header(length) + b"rest" * 100)
        assert found == [b"good"] and "record at 20" in str(error)
    for _, data in _inputs(300, seed=5):
        read(data)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("kind", PACK)
def test_a_small_file_is_not_unpacked_to_a_huge_record(kind, monkeypatch, tmp_path):
    monkeypatch.setattr(proportion, "ALWAYS", 1 << 20)
    path = tmp_path / "records"
    for size, is_refused in ((1 << 20, False), (1 << 23, True)):
        path.write_bytes(PACK[kind](framed(b"small") + framed(bytes(size))))
        options = tf.io.TFRecordOptions(kind)
        for read in (
            lambda: list(tf.io.tf_record_iterator(str(path), options)),
            lambda: [record for batch in records_in(record_files.open_source(path, kind)[0], path) for record in batch],
        ):
            if is_refused:
                with pytest.raises(errors.DataLossError, match=r"records: a record that \d+ bytes are unpacked to"):
                    read()
            else:
                assert [len(record) for record in read()] == [5, size]
    noise = np.random.default_rng(0).bytes(1 << 23)
    path.write_bytes(PACK[kind](framed(noise)))
    assert list(tf.io.tf_record_iterator(str(path), options)) == [noise]
