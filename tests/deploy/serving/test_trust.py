"""What served models may read: the files of their own folder while they are loaded, and nothing else."""

import os

import grpc
import numpy as np
import pytest

import thalweg as tf
from tests.deploy.serving import models
from thalweg._src.base import errors
from thalweg._src.deploy.serving.client import Client
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.server import ModelServer
from thalweg._src.graph.ops.candidate_sampling import fixed_unigram_op
from thalweg._src.graph.ops.checkpoint import restore_v2_op
from thalweg._src.graph.ops.vocab_remapping import generate_vocab_remapping_op

SECRET = "only for this user"


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_text(f"{SECRET}\n")
    return str(path)


def _save(folder, outputs, init=None):
    """Saves a model; outputs: a function of its input, strings; init: one that returns the operations to run first."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [None], "x")
        y = outputs(x)
        first = tf.group(*(() if init is None else init()))
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        tf.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y}, first)


def _loaded(folder, trusted):
    """Returns what a server says of the only version of a model."""
    server = ModelServer({"m": str(folder)}, port=None, rest_api_port=None, trusted=trusted)
    try:
        server.load()
        return next(iter(server.manager.status(Spec("m")).values())).error
    finally:
        server.stop()


REQUESTS = {
    "ReadFile": lambda x, path: tf.read_file(x[0]),
    "MatchingFiles": lambda x, path: tf.io.matching_files(x),
    "WholeFileReaderV2": lambda x, path: tf.WholeFileReader().read(tf.train.string_input_producer([path]))[1],
    "RestoreV2": lambda x, path: restore_v2_op(x[0], ["weights"], [""], dtypes=[tf.float32])[0],
    "FixedUnigramCandidateSampler": lambda x, path: fixed_unigram_op(
        [[1]], num_true=1, num_sampled=1, unique=False, range_max=1, vocab_file=path
    )[0],
}


@pytest.mark.parametrize("op", REQUESTS)
@pytest.mark.parametrize("trusted", [None, False, True])
def test_requests_read_no_files(op, trusted, secret, tmp_path):
    _save(tmp_path / "m" / "1", lambda x: tf.identity(REQUESTS[op](x, secret)))
    error = _loaded(tmp_path / "m", trusted)
    if trusted:
        assert error is None
    else:
        assert f"{op} " in error.message and "trusted=True" in error.message


def _kept(value):
    """Returns an operation that stores a value, which requests would then be told."""
    return [tf.get_variable("kept", initializer="").assign(value)]


LOADS = {
    "ReadFile": lambda path: _kept(tf.read_file(path)),
    "MatchingFiles": lambda path: _kept(tf.io.matching_files(f"{path[:-1]}*")[0]),
    "InitializeTableFromTextFileV2": lambda path: [_no_asset(_table(path).initializer)],
    "RestoreV2": lambda path: [restore_v2_op(f"{path}-checkpoint", ["x"], [""], dtypes=[tf.float32])[0].op],
    "GenerateVocabRemapping": lambda path: [
        generate_vocab_remapping_op(path, path, new_vocab_offset=0, num_new_vocab=1)[0].op
    ],
}


def _no_asset(initializer):
    """Returns the operation that initializes a table, whose file is not saved with the model."""
    tf.get_default_graph().clear_collection(tf.GraphKeys.ASSET_FILEPATHS)
    return initializer


def _table(path):
    key, value = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    return tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(path, tf.string, key, tf.int64, value), -1)


@pytest.mark.parametrize("op", LOADS)
def test_a_load_reads_no_files_of_others(op, secret, tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.get_variable("x", initializer=[[1.0]]).initializer)
        tf.train.Saver().save(session, f"{secret}-checkpoint", write_meta_graph=False)
    _save(tmp_path / "m" / "1", tf.identity, lambda: LOADS[op](secret))
    error = _loaded(tmp_path / "m", None)
    assert isinstance(error, errors.PermissionDeniedError)
    assert secret in error.message and f"is not in {tmp_path}/m/1" in error.message and SECRET not in error.message
    assert _loaded(tmp_path / "m", True) is None


def test_readers_are_refused_while_a_model_is_loaded(secret, tmp_path):
    def init():
        queue = tf.FIFOQueue(1, [tf.string], [[]])
        with tf.control_dependencies([queue.enqueue(secret)]):
            return _kept(tf.WholeFileReader().read(queue)[1])

    _save(tmp_path / "m" / "1", tf.identity, init)
    assert isinstance(_loaded(tmp_path / "m", None), errors.PermissionDeniedError)
    assert _loaded(tmp_path / "m", True) is None


@pytest.fixture
def with_vocabulary(tmp_path):
    """The folder of a model that looks words up in an asset."""
    (tmp_path / "words").write_text("one\ntwo\n")
    with tf.Graph().as_default(), tf.Session() as session:
        x, table = tf.placeholder(tf.string, [None]), _table(str(tmp_path / "words"))
        y = table.lookup(x)
        session.run(tf.tables_initializer())
        tf.saved_model.simple_save(
            session, str(tmp_path / "m" / "1"), {"x": x}, {"y": y}, legacy_init_op=tf.tables_initializer()
        )
    (tmp_path / "words").unlink()
    return tmp_path / "m"


@pytest.mark.parametrize("through_link", [False, True])
def test_tables_read_their_assets(with_vocabulary, through_link, tmp_path):
    folder = with_vocabulary
    if through_link:  # as releases often are
        folder = tmp_path / "current"
        folder.mkdir()
        (folder / "1").symlink_to(with_vocabulary / "1")
    with (
        ModelServer({"m": str(folder)}, port=0, rest_api_port=None) as server,
        Client(f"127.0.0.1:{server.port}", timeout=60) as client,
    ):
        found = client.predict("m", {"x": np.array(["two", "one", "three"])})["y"]
        assert found.tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    "name", ["assets/words", "variables/variables.index", "variables/variables.data-00000-of-00001"]
)
def test_links_lead_out_of_a_model_if_it_is_trusted(name, with_vocabulary, tmp_path):
    if name != "assets/words":
        models.save(tmp_path / "other" / "1")
        with_vocabulary = tmp_path / "other"
    path = with_vocabulary / "1" / name
    os.rename(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    error = _loaded(with_vocabulary, None)
    assert isinstance(error, errors.PermissionDeniedError) and name in error.message
    assert _loaded(with_vocabulary, True) is None


def test_a_client_displaces_no_model_by_one_of_elsewhere(secret, tmp_path):
    models.save(tmp_path / "m" / "1")
    _save(tmp_path / "elsewhere" / "2", lambda x: tf.read_file(secret))
    _save(tmp_path / "m" / "uploads" / "2", lambda x: tf.read_file(secret))
    with (
        ModelServer({"m": str(tmp_path / "m")}, port=0, rest_api_port=None) as server,
        grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel,
        Client(f"127.0.0.1:{server.port}", timeout=60) as client,
    ):
        call = channel.unary_unary("/tensorflow.serving.ModelService/HandleReloadConfigRequest")
        for folder, code in (("elsewhere", "PERMISSION_DENIED"), ("m/uploads", "UNKNOWN")):
            for name in ("m", "other"):
                request = message_class("ReloadConfigRequest")()
                request.config.model_config_list.config.add(name=name, base_path=str(tmp_path / folder))
                with pytest.raises(grpc.RpcError) as refused:
                    call(request.SerializeToString())
                assert refused.value.code().name == code
                assert code == "PERMISSION_DENIED" or "ReadFile" in refused.value.details()
                assert client.predict("m", {"x": np.ones((1, 3), np.float32)})["y"].tolist() == [[9, 12]]


def test_a_refused_version_leaves_the_last_good_one_in_service(secret, tmp_path):
    models.save(tmp_path / "m" / "1")
    with (
        ModelServer({"m": str(tmp_path / "m")}, port=0, rest_api_port=None) as server,
        Client(f"127.0.0.1:{server.port}", timeout=60) as client,
    ):
        _save(tmp_path / "m" / "2", lambda x: tf.read_file(secret))
        server.manager.look()
        server.manager.wait()
        assert client.status("m") == {2: "END", 1: "AVAILABLE"}
        assert client.predict("m", {"x": np.ones((1, 3), np.float32)})["y"].tolist() == [[9, 12]]
