"""A version in memory: its variables are constants of its steps, unless a signature changes state."""

from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.deploy.saved_model.files import read_saved_model
from thalweg._src.deploy.serving.servable import Servable


@pytest.fixture
def counting(tmp_path):
    """The folder of a model that counts the requests of one of its signatures, and adds the count in another."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], "x")
        count = tf.get_variable("count", initializer=0.0)
        counted = tf.identity(tf.assign_add(count, 1.0))
        session.run(tf.global_variables_initializer())
        predict = tf.saved_model.predict_signature_def
        builder = tf.saved_model.Builder(str(tmp_path / "1"))
        signatures = {"count": predict({"x": x}, {"y": x + counted}), "add": predict({"x": x}, {"y": x + count})}
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
    return str(tmp_path / "1")


def test_a_signature_may_change_what_another_one_reads(counting):
    servable, given = Servable(counting), {"x": np.zeros(1, np.float32)}
    run = {key: signature.run for key, signature in servable.signatures.items()}
    assert run["add"](given, ("y",))["y"] == 0
    assert [run["count"](given, ("y",))["y"].item() for _ in range(2)] == [1, 2]
    assert run["add"](given, ("y",))["y"] == 2
    servable.close()


@pytest.mark.cpu_only(reason="variables of accelerators stay variables")
def test_a_model_without_changes_is_frozen(saved):
    servable = Servable(str(saved / "1"))
    program = servable._session.show_program("MatMul:0", {"x:0": np.zeros((1, 3), np.float32)})
    assert "read_" not in program
    servable.close()


def test_a_tensor_that_does_not_exist_is_reported_to_its_requests(counting):
    message = read_saved_model(counting)
    message.meta_graphs[0].signature_def["add"].outputs["y"].name = "absent:0"
    Path(counting, "saved_model.pb").write_bytes(message.SerializeToString())
    servable, given = Servable(counting), {"x": np.zeros(1, np.float32)}
    assert servable.signature("count").run(given, ("y",))["y"] == 1
    with pytest.raises(ValueError, match="absent"):
        servable.signature("add").run(given, ("y",))
    servable.close()
