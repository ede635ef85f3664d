"""Frozen models of SavedModels, and files of graphs."""

import tarfile

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.saved_model.tensorflow_2 import FIXTURES
from tests.deploy.transform.graphs import ops, run
from thalweg._src.deploy.transform.files import freeze_saved_model, read_graph_def, write_graph_def


def extract(name, folder):
    with tarfile.open(FIXTURES / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")


@pytest.mark.parametrize("name", ["convolutional", "dense", "recurrent"])
def test_models_of_tensorflow_2_are_frozen(name, tmp_path):
    extract(name, tmp_path)
    kept = np.load(tmp_path / f"{name}.npz")
    frozen = freeze_saved_model(tmp_path / name)
    assert "VarHandleOp" not in ops(frozen.graph_def).values()
    feeds = {tensor: kept[f"0/in/{key}"] for key, tensor in frozen.inputs.items()}
    for key, tensor in frozen.outputs.items():
        np.testing.assert_allclose(run(frozen.graph_def, feeds, tensor), kept[f"0/out/{key}"], rtol=1e-4, atol=1e-5)


def test_functions_that_change_variables_cannot_be_frozen(tmp_path):
    extract("branches", tmp_path)
    with pytest.raises(ValueError, match=r"AssignAddVariableOp .* changes a variable, which a frozen graph cannot"):
        freeze_saved_model(tmp_path / "branches")


def test_sparse_inputs_have_three_tensors(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        sparse = tf.sparse_placeholder(tf.float32, [None, 3], name="s")
        total = tf.sparse.reduce_sum(sparse) * tf.get_variable("w", initializer=2.0)
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "model"), {"s": sparse}, {"total": total})
    frozen = freeze_saved_model(tmp_path / "model")
    assert set(frozen.inputs) == {"s/values", "s/indices", "s/dense_shape"}
    values = {"s/values": [1.0, 2.0], "s/indices": [[0, 0], [1, 1]], "s/dense_shape": [2, 3]}
    feeds = {tensor: values[key] for key, tensor in frozen.inputs.items()}
    assert run(frozen.graph_def, feeds, frozen.outputs["total"]) == 6.0


def test_graphs_are_written_and_read_in_both_forms(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="c")
    for name in ("graph.pb", "graph.pbtxt"):
        write_graph_def(graph.as_graph_def(), tmp_path / name)
        assert read_graph_def(tmp_path / name) == graph.as_graph_def()
    assert b"node {" in (tmp_path / "graph.pbtxt").read_bytes()
    for name, content in (("bad.pb", b"no graph"), ("bad.pbtxt", b"node {"), ("worse.pbtxt", b"\xff")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(OSError, match=rf"{name} is not a GraphDef"):
            read_graph_def(tmp_path / name)
    with pytest.raises(tf.errors.NotFoundError, match=r"none\.pb"):
        read_graph_def(tmp_path / "none.pb")
