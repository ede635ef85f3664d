"""Record files, equal for every peer: written once per run, in the folder that BENCH_FILES names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from workloads import data

Array = np.ndarray[Any, Any]
KEY = b"x"


def folder() -> Path:
    return Path(os.environ["BENCH_FILES"])


def floats() -> Array:
    """Returns one row per record; the first number of a row is the index of the record."""
    rows = np.random.default_rng(8).standard_normal((data.RECORDS, data.RECORD_FLOATS), np.float32)
    rows[:, 0] = np.arange(data.RECORDS)
    return rows


def raw_file() -> Path:
    """Writes TFRecords of the plain bytes of each row."""
    return _file("raw.tfrecord", lambda: floats().view(np.uint8))


def example_file() -> Path:
    """Writes TFRecords of tf.train.Example messages with one list of floats."""
    return _file("examples.tfrecord", lambda: _examples(floats().view(np.uint8)))


def check(batch: Array) -> None:
    """Checks that a batch consists of records with the values of their indices."""
    if batch.shape != (data.RECORD_BATCH, data.RECORD_FLOATS):
        raise ValueError(f"a batch has shape {batch.shape}")
    np.testing.assert_array_equal(batch, floats()[batch[:, 0].astype(int)])


def _file(name: str, rows: Any) -> Path:
    path = folder() / name
    if not path.exists():
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(_frames(rows()).tobytes())
        unfinished.replace(path)
    return path


def _examples(rows: Array) -> Array:
    """Wraps rows of bytes as Example{features{feature{key, value{float_list{packed}}}}}."""
    packed = b"\x0a" + _length(rows.shape[1])
    values = b"\x12" + _length(len(packed) + rows.shape[1]) + packed
    entry = b"\x0a" + _length(len(KEY)) + KEY + b"\x12" + _length(len(values) + rows.shape[1]) + values
    feature = b"\x0a" + _length(len(entry) + rows.shape[1]) + entry
    before = b"\x0a" + _length(len(feature) + rows.shape[1]) + feature
    return np.concatenate([_repeated(before, len(rows)), rows], 1)


def _length(number: int) -> bytes:
    """Encodes a number as a varint."""
    head = b""
    while number > 127:
        head, number = head + bytes([number & 127 | 128]), number >> 7
    return head + bytes([number])


def _frames(rows: Array) -> Array:
    """Frames records of equal length with their length and both checksums."""
    size = _repeated(np.uint64(rows.shape[1]).tobytes(), len(rows))
    return np.concatenate([size, _checksums(size), rows, _checksums(rows)], 1)


def _repeated(text: bytes, times: int) -> Array:
    return np.tile(np.frombuffer(text, np.uint8), (times, 1))


def _checksums(rows: Array) -> Array:
    """Computes TFRecord's masked CRC-32C of each row, all rows at once."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ (np.uint32(0x82F63B78) * (table & 1))
    crc = np.full(len(rows), 0xFFFFFFFF, np.uint32)
    for column in np.ascontiguousarray(rows.T):
        crc = table[(crc ^ column) & 255] ^ (crc >> 8)
    crc = ~crc
    masked = ((crc >> 15) | (crc << 17)) + np.uint32(0xA282EAD8)
    return masked[:, None].view(np.uint8)
