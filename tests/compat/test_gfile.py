"""tf.gfile and tf.io.gfile: files, folders, and TensorFlow's errors."""

import os

import pytest

import thalweg as tf
from thalweg._src.base.formats import gfile


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("héllo\nb\nc".encode())
    return str(path)


def test_reading(text):
    with tf.gfile.GFile(text) as file:
        assert file.read() == "héllo\nb\nc"
        assert (file.name, file.mode, file.size(), file.tell()) == (text, "r", 10, 10)
        file.seek(7)
        assert file.readline() == "b\n"
        file.seek(-2, 2)
        assert file.read() == "\nc"
        file.seek(position=0)
        assert next(file) == "héllo\n"
    assert tf.gfile.Open(text, "rb").read(3) == b"h\xc3\xa9"
    assert tf.gfile.FastGFile(text).readlines() == list(tf.gfile.GFile(text)) == ["héllo\n", "b\n", "c"]


def test_writing(tmp_path):
    path = str(tmp_path / "w")
    file = tf.gfile.GFile(path, "w")
    assert not tf.gfile.Exists(path)  # as in TensorFlow, nothing is opened before it is used
    file.write("one\n")
    file.flush()
    assert file.size() == 4
    file.close()
    with tf.gfile.GFile(path, "ab") as file:
        file.write(b"two")
    assert tf.gfile.GFile(path).read() == "one\ntwo"
    with tf.gfile.GFile(path, "w+") as file:
        file.write("x")
        file.seek(0)
        assert file.read() == "x"


def test_folders(tmp_path, text):
    top = str(tmp_path)
    tf.gfile.MakeDirs(f"{top}/d/e")
    tf.gfile.MakeDirs(f"{top}/d/e")
    tf.gfile.MkDir(f"{top}/d/f")
    tf.gfile.Copy(text, f"{top}/d/.hidden")
    assert tf.gfile.ListDirectory(top) == ["a.txt", "d"]
    assert tf.gfile.Glob([f"{top}/*.txt", f"{top}/d/*"]) == [text, *[f"{top}/d/{n}" for n in (".hidden", "e", "f")]]
    assert tf.gfile.IsDirectory(f"{top}/d") and not tf.gfile.IsDirectory(text)
    assert list(tf.gfile.Walk(top)) == [
        (top, ["d"], ["a.txt"]),
        (f"{top}/d", ["e", "f"], [".hidden"]),
        (f"{top}/d/e", [], []),
        (f"{top}/d/f", [], []),
    ]
    assert next(tf.gfile.Walk(top, in_order=False))[0] == f"{top}/d/e"
    assert list(tf.gfile.Walk(f"{top}/none")) == []
    tf.gfile.Rename(text, f"{top}/b")
    assert tf.gfile.Stat(f"{top}/b").length == 10 and tf.gfile.Stat(top).is_directory
    tf.gfile.Remove(f"{top}/b")
    tf.gfile.DeleteRecursively(f"{top}/d")
    assert os.listdir(top) == []


E = tf.errors


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (E.NotFoundError, lambda d, f: tf.gfile.GFile(f"{d}/none").read()),
        (E.NotFoundError, lambda d, f: tf.gfile.GFile(f"{d}/none/b", "w").write("x")),
        (E.FailedPreconditionError, lambda d, f: tf.gfile.GFile(d).read()),
        (E.PermissionDeniedError, lambda d, f: tf.gfile.GFile(f).write("x")),
        (E.PermissionDeniedError, lambda d, f: tf.gfile.GFile(f, "w").read()),
        (E.InvalidArgumentError, lambda d, f: tf.gfile.GFile(f, "q")),
        (E.InvalidArgumentError, lambda d, f: tf.gfile.GFile(f).seek(0, 7)),
        (E.InvalidArgumentError, lambda d, f: tf.gfile.GFile(f"{d}/\0").read()),
        (TypeError, lambda d, f: tf.gfile.GFile(f).seek()),
        (E.NotFoundError, lambda d, f: tf.gfile.MkDir(f"{d}/x/y")),
        (E.AlreadyExistsError, lambda d, f: tf.gfile.MkDir(d)),
        (E.FailedPreconditionError, lambda d, f: tf.gfile.MakeDirs(f)),
        (E.FailedPreconditionError, lambda d, f: tf.gfile.MakeDirs(f"{f}/x")),
        (E.NotFoundError, lambda d, f: tf.gfile.Remove(f"{d}/none")),
        (E.FailedPreconditionError, lambda d, f: tf.gfile.Remove(d)),
        (E.NotFoundError, lambda d, f: tf.gfile.DeleteRecursively(f"{d}/none")),
        (E.AlreadyExistsError, lambda d, f: tf.gfile.Copy(f, f)),
        (E.AlreadyExistsError, lambda d, f: tf.gfile.Rename(f, f)),
        (E.NotFoundError, lambda d, f: tf.gfile.Rename(f"{d}/none", f"{d}/b")),
        (E.NotFoundError, lambda d, f: tf.gfile.Copy(f"{d}/none", f, overwrite=True)),
        (E.NotFoundError, lambda d, f: tf.gfile.ListDirectory(f)),
        (E.NotFoundError, lambda d, f: tf.gfile.Stat(f"{d}/none")),
    ],
)
def test_errors(kind, call, tmp_path, text):
    with pytest.raises(kind):
        call(str(tmp_path), text)


def test_lower_case_names(tmp_path, text):
    gfile.copy(text, tmp_path / "b")
    gfile.copy(text, tmp_path / "b", overwrite=True)
    assert gfile.exists(str(tmp_path).encode()) and gfile.listdir(tmp_path) == ["a.txt", "b"]
    assert gfile.glob(gfile.join(str(tmp_path), "b")) == [str(tmp_path / "b")]
    assert [names for _, _, names in gfile.walk(tmp_path)] == [["a.txt", "b"]]
    failed = []
    assert list(gfile.walk(tmp_path / "none", onerror=failed.append)) == []
    assert isinstance(failed[0], E.NotFoundError)
    gfile.rename(tmp_path / "b", text, overwrite=True)
    gfile.rmtree(tmp_path)
    assert not gfile.exists(tmp_path)
