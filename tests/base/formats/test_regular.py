"""Files of models that are no regular files: FIFOs, devices and sockets are refused, whoever reads them."""

import os
import re
import socket
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.serving import models
from thalweg._src.base import errors
from thalweg._src.base.formats.regular import open_regular, read_regular
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.servable import WARMUP
from thalweg._src.deploy.serving.server import ModelServer
from thalweg._src.deploy.transform.files import read_graph_def


def _replace(path, kind):
    """Puts something else in the place of a file."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "a FIFO":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")


def test_what_is_no_regular_file_is_refused(tmp_path):
    names = {"a FIFO": "fifo", "a device": "zero", "a socket": "socket"}
    _replace(tmp_path / "fifo", "a FIFO")
    _replace(tmp_path / "zero", "a device")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for kind, name in names.items():
            with pytest.raises(
                errors.FailedPreconditionError, match=f"{name}: expected a regular file, received {kind}"
            ):
                open_regular(str(tmp_path / name))
    with pytest.raises(IsADirectoryError):
        open_regular(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        open_regular(str(tmp_path / "missing"))


def test_a_file_that_took_the_place_of_another_is_refused(tmp_path, monkeypatch):
    regular, fifo = tmp_path / "regular", tmp_path / "fifo"
    regular.write_bytes(b"x")
    _replace(fifo, "a FIFO")
    look = os.stat
    monkeypatch.setattr(os, "stat", lambda path: look(regular if path == str(fifo) else path))
    opened = len(os.listdir("/proc/self/fd"))
    with pytest.raises(errors.FailedPreconditionError, match="received a FIFO"):
        open_regular(str(fifo))
    assert len(os.listdir("/proc/self/fd")) == opened


def test_contents_are_bounded_by_the_size(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_regular(str(path), 5) == b"12345"
    with pytest.raises(errors.ResourceExhaustedError, match="file has 5 bytes, more than the 4 that are read"):
        read_regular(str(path), 4)
    os.truncate(path, 1 << 40)  # a sparse file, which takes no room
    with pytest.raises(errors.ResourceExhaustedError, match="has 1099511627776 bytes"):
        read_regular(str(path))


@pytest.mark.parametrize("kind", ["a FIFO", "a device"])
@pytest.mark.parametrize("name", ["saved_model.pb", "variables/variables.index", "variables/variables.data", WARMUP])
def test_a_version_with_such_a_file_is_refused(kind, name, tmp_path):
    models.save(tmp_path / "1")
    path = tmp_path / "1" / name
    _replace(next(path.parent.glob(f"{path.name}*"), path), kind)
    server = ModelServer({"m": str(tmp_path)}, port=None, rest_api_port=None)
    server.load()
    error = server.manager.status(Spec("m"))[1].error
    if isinstance(error, errors.PermissionDeniedError):  # a link to a device leaves the folder of the version
        assert re.search(rf"{name}.* is not in .*, the only folder whose files may be read", error.message)
    else:
        assert isinstance(error, errors.FailedPreconditionError)
        assert re.search(rf"{name}.*: expected a regular file, received {kind}", error.message)
    server.stop()


@pytest.mark.parametrize("kind", ["a FIFO", "a device"])
def test_an_asset_that_is_no_file(kind, tmp_path):
    (tmp_path / "words").write_text("one\ntwo\n")
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(
                str(tmp_path / "words"),
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
            ),
            -1,
        )
        x = tf.placeholder(tf.string, [None])
        session.run(tf.tables_initializer())
        outputs = {"y": table.lookup(x)}
        tf.saved_model.simple_save(session, str(tmp_path / "m"), {"x": x}, outputs, tf.tables_initializer())
    _replace(tmp_path / "m" / "assets" / "words", kind)
    with (
        tf.Session(graph=tf.Graph()) as session,
        pytest.raises(errors.FailedPreconditionError, match=f"received {kind}"),
    ):
        tf.saved_model.load(session, ["serve"], str(tmp_path / "m"))


def test_loaders_refuse_a_fifo(tmp_path):
    path = tmp_path / "file.h5"
    _replace(path, "a FIFO")
    _replace(tmp_path / "file.index", "a FIFO")
    _replace(tmp_path / "file.meta", "a FIFO")
    _replace(tmp_path / "checkpoint", "a FIFO")
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    loads = [
        lambda: read_graph_def(path),
        lambda: tf.train.import_meta_graph(str(tmp_path / "file.meta")),
        lambda: tf.train.load_checkpoint(str(tmp_path / "file")),
        lambda: tf.keras.models.load_model(str(path)),
        lambda: model.load_weights(str(path)),
        lambda: tf.keras.utils.HDF5Matrix(str(path), "x"),
        lambda: list(tf.train.summary_iterator(str(path))),
    ]
    for load in loads:
        with pytest.raises(errors.FailedPreconditionError, match="expected a regular file, received a FIFO"):
            load()
    assert tf.train.latest_checkpoint(str(tmp_path)) is None  # with a warning, as for any file that cannot be read


def test_a_link_to_a_regular_file_is_one(tmp_path):
    models.save(tmp_path / "model")
    data = next(Path(tmp_path / "model" / "variables").glob("variables.data*"))
    data.rename(tmp_path / "elsewhere")
    data.symlink_to(tmp_path / "elsewhere")
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["serve"], str(tmp_path / "model"))
        np.testing.assert_array_equal(session.run("weights:0"), models.WEIGHTS)
