"""Files read, written and found; the time."""

from __future__ import annotations

import time

import pytest

import thalweg as tf
from thalweg._src.graph.ops.files import matching_files, read_file, timestamp, write_file


def test_write_and_read(tmp_path):
    path = str(tmp_path / "new" / "folder" / "file")
    with tf.Session() as session:
        session.run(write_file(path, b"\0\xff text"))
        read = read_file(path)
        assert session.run(read) == b"\0\xff text"
        (tmp_path / "new" / "folder" / "file").write_bytes(b"changed")
        assert session.run(read) == b"changed"  # each step reads anew
        with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
            session.run(read_file(str(tmp_path / "nowhere")))
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(read_file(str(tmp_path)))
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(write_file(path + "/below", ""))
        with pytest.raises(tf.errors.InvalidArgumentError, match="zero byte"):
            session.run(read_file(b"a\0b"))
    with pytest.raises(ValueError, match="scalar"):
        read_file([path])


def test_matching_files(tmp_path):
    for name in ("a.txt", "b.txt", ".hidden", "*x", "sub/c.txt", "sub/d.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def found(*patterns):
        with tf.Graph().as_default(), tf.Session() as session:
            names = session.run(matching_files([f"{tmp_path}/{pattern}" for pattern in patterns])).tolist()
            return [name.decode().removeprefix(f"{tmp_path}/") for name in names]

    assert found("*") == ["*x", ".hidden", "a.txt", "b.txt", "sub"]
    assert found("?.txt", "sub/[!d]*") == ["a.txt", "b.txt", "sub/c.txt"]
    assert found("s*/*.csv") == ["sub/d.csv"]
    assert found("\\*x") == ["*x"]
    assert found("[^a].txt") == ["b.txt"]
    assert found("a.txt", "a.*") == ["a.txt", "a.txt"]
    assert found("none", "none/*") == []


def test_timestamp():
    with tf.Session() as session:
        before = time.time()
        first, second = (session.run(timestamp()) for _ in range(2))
        assert before <= first <= second <= time.time()
