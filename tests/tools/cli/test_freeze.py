"""`thalweg freeze` and `thalweg optimize`."""

import numpy as np
import pytest
from click.testing import CliRunner

import thalweg as tf
from thalweg._src.tools.cli.main import commands


def invoke(*arguments):
    """Returns the exit status and the output of a command."""
    done = CliRunner().invoke(commands, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.fixture
def folder(tmp_path):
    """Returns a folder with a SavedModel, a MetaGraph with its checkpoint, and a GraphDef; y is 3 x."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 40], name="x")
        with tf.device("/cpu:0"):
            w = tf.get_variable("w", initializer=3.0 * np.eye(40, dtype=np.float32))
        y = tf.identity(x @ w, name="y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"features": x}, {"scores": y})
        tf.train.Saver().save(session, str(tmp_path / "model"))
        tf.train.write_graph(graph, str(tmp_path), "graph.pbtxt")
    return tmp_path


def run(path):
    graph_def = tf.GraphDef.FromString(path.read_bytes())
    assert not [node.op for node in graph_def.node if "Var" in node.op]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return session.run("y:0", {"x:0": np.ones([1, 40])})


@pytest.mark.parametrize(
    "source",
    [
        ("saved",),
        ("saved", "--outputs", "y"),
        ("model.meta", "--outputs", "y"),
        ("graph.pbtxt", "--outputs", "y:0", "--checkpoint", "model"),
    ],
)
def test_models_are_frozen(folder, source, monkeypatch):
    monkeypatch.chdir(folder)
    path, *options = source
    status, output = invoke("freeze", path, "frozen.pb", *options)
    assert status == 0 and "frozen.pb: " in output and "nodes" in output
    np.testing.assert_allclose(run(folder / "frozen.pb"), np.full([1, 40], 3.0))


def test_the_tensors_of_a_signature_are_shown_and_devices_removed(folder):
    status, output = invoke("freeze", folder / "saved", folder / "frozen.pbtxt", "--clear-devices")
    assert status == 0 and output.startswith("input features: x:0\noutput scores: y:0\n")
    assert (
        "device:" not in (folder / "frozen.pbtxt").read_text() and 'name: "w"' in (folder / "frozen.pbtxt").read_text()
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("saved", "--signature_def", "other"), "no signature 'other'; expected one of serving_default"),
        (("saved", "--tag_set", "train"), "tags ['train'] could not be found"),
        (("saved", "--outputs", "z"), "z is not in graph"),
        (("model.meta",), "--outputs: expected the names"),
        (("graph.pbtxt", "--outputs", "y"), "--checkpoint: expected the prefix"),
        (("graph.pbtxt", "--outputs", "y", "--checkpoint", "other"), "other"),
        (("checkpoint", "--outputs", "y", "--checkpoint", "model"), "is not a GraphDef"),
        ((".",), "contains no SavedModel"),
    ],
)
def test_what_cannot_be_frozen_is_explained(folder, arguments, words, monkeypatch):
    monkeypatch.chdir(folder)
    path, *options = arguments
    status, output = invoke("freeze", path, "frozen.pb", *options)
    assert status != 0 and words in output.replace("\n", " ") and not (folder / "frozen.pb").exists()


def test_a_frozen_graph_is_optimized(folder):
    invoke("freeze", folder / "saved", folder / "frozen.pb")
    status, output = invoke(
        *("optimize", folder / "frozen.pb", folder / "small.pb", "--inputs", "x", "--outputs", "y"),
        *("--transforms", "strip_unused_nodes fold_constants quantize_weights"),
    )
    assert status == 0, output
    assert output.splitlines()[1].startswith(f"{folder / 'small.pb'}: ")
    np.testing.assert_allclose(run(folder / "small.pb"), np.full([1, 40], 3.0), rtol=0.01)
    assert (folder / "small.pb").stat().st_size < (folder / "frozen.pb").stat().st_size / 2


def test_transforms_are_listed():
    status, output = invoke("optimize", "--list")
    assert status == 0 and "fold_batch_norms\n" in output and "remove_nodes(op, max_inputs)\n" in output


def test_bad_transforms_are_explained(folder):
    invoke("freeze", folder / "saved", folder / "frozen.pb")
    paths = folder / "frozen.pb", folder / "small.pb"
    status, output = invoke("optimize", *paths, "--outputs", "y", "--transforms", "fold")
    assert status == 1 and "expected: one of add_default_attributes" in output
    status, output = invoke("optimize", *paths, "--outputs", "y")
    assert status == 2 and "--transforms" in output and not (folder / "small.pb").exists()
