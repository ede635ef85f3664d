"""Hashes: the very numbers that TensorFlow gives."""

from __future__ import annotations

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.graph.ops.hashing import (
    fingerprint,
    string_to_hash_bucket,
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
)
from thalweg._src.runtime.kernels.hash_functions import farmhash64, hash_all, murmur64, siphash

TEXTS = [bytes((i * 7 + n) % 256 for i in range(n)) for n in range(301)]
BUCKETS = 2**63 - 1


@pytest.mark.parametrize(
    ("function", "total"),
    [
        (murmur64, 7957877245823107786),
        (farmhash64, 1190067938331329690),
        (siphash((123, -456)), 3763334060422405976),
    ],
)
@pytest.mark.parametrize("copies", [1, 20])
def test_strings_of_every_length(function, total, copies):
    """Of strings one by one, and of as many of each length as run as arrays; TensorFlow's, weighted and summed."""
    hashes = hash_all(function, TEXTS * copies).reshape(copies, -1) % np.uint64(BUCKETS)
    assert (hashes == hashes[0]).all()
    assert sum(int(h) * (i + 1) for i, h in enumerate(hashes[0])) % 2**64 == total


def test_buckets():
    with tf.Session() as session:
        words = tf.constant([["a"], ["hello world"]])
        assert session.run(string_to_hash_bucket_fast(words, 1000)).tolist() == [[939], [11]]
        assert session.run(string_to_hash_bucket(words, 1000)).tolist() == [[868], [655]]
        assert session.run(string_to_hash_bucket(input=words, num_buckets=1)).tolist() == [[0], [0]]
        strong = string_to_hash_bucket_strong(["a", "b", "c"], 10, [98765, 132])
        assert strong.dtype == tf.int64
        assert session.run(strong).tolist() == [4, 2, 8]
        with pytest.raises(tf.errors.InvalidArgumentError, match="2 elements"):
            session.run(string_to_hash_bucket_strong(["a"], 10, [1]))


def test_fingerprints():
    with tf.Session() as session:
        rows = fingerprint([["a", "b"], ["c", "d"]])
        assert rows.shape.as_list() == [2, 8]
        assert session.run(rows).tolist()[0] == [122, 64, 59, 169, 136, 60, 55, 83]
        numbers = session.run(fingerprint(np.arange(6, dtype=np.float32).reshape(2, 3)))
        assert numbers.tolist()[1] == [137, 64, 115, 26, 94, 100, 213, 1]
        assert session.run(fingerprint(np.zeros((0, 3)))).shape == (0, 8)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unsupported"):
            session.run(fingerprint([1], "md5"))
    with pytest.raises(ValueError, match="rank"):
        fingerprint(1.0)
