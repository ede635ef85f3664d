"""Reading checkpoints by name, and variables that start from one."""

import os

import numpy as np
import pytest

import thalweg as tf

framework = tf.contrib.framework


@pytest.fixture
def folder(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("net"):
            tf.get_variable("w", initializer=tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2)))
            tf.get_variable("b", initializer=tf.constant([7, 8], tf.int64))
        tf.get_variable("parts", initializer=tf.range(10.0), partitioner=tf.fixed_size_partitioner(3))
        tf.get_variable("words", initializer=tf.constant(["a", "b"]))
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model"), 5)
    return str(tmp_path)


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def test_reading_by_name(folder):
    reader = tf.train.NewCheckpointReader(os.path.join(folder, "model-5"))
    assert reader.has_tensor("net/w") and not reader.has_tensor("net/w:0")
    assert reader.get_tensor("net/b").tolist() == [7, 8]
    assert reader.get_variable_to_shape_map() == {"net/w": [3, 2], "net/b": [2], "parts": [10], "words": [2]}
    assert reader.get_variable_to_dtype_map()["words"] is tf.string
    assert b"net/w (DT_FLOAT32) [3, 2]" in reader.debug_string()
    assert tf.train.list_variables(folder) == [("net/b", [2]), ("net/w", [3, 2]), ("parts", [10]), ("words", [2])]
    assert tf.train.load_variable(folder, "words:0").tolist() == [b"a", b"b"]
    assert tf.train.load_variable(folder, "parts").tolist() == list(range(10))
    with pytest.raises(tf.errors.NotFoundError, match="Key x not found"):
        tf.train.load_variable(folder, "x")
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        tf.train.load_checkpoint("nowhere")
    with pytest.raises(ValueError, match="Couldn't find"):
        tf.train.load_checkpoint(os.path.dirname(__file__))


def _values(*variables):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run([tf.convert_to_tensor(v) for v in variables])


def test_variables_are_initialized_from_a_checkpoint(folder):
    with tf.variable_scope("mine"):
        w, b = tf.get_variable("w", [3, 2]), tf.get_variable("b", [2], tf.int64)
    other = tf.get_variable("other", [3, 2])
    parts = tf.get_variable("parts", [10], partitioner=tf.fixed_size_partitioner(2))
    tf.train.init_from_checkpoint(folder, {"net/": "mine/", "net/w": other, "parts": "parts"})
    found = _values(w, b, other, parts)
    assert found[0].tolist() == found[2].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert found[1].tolist() == [7, 8] and found[3].tolist() == list(range(10))


def test_all_variables_are_initialized_from_a_checkpoint(folder):
    with tf.variable_scope("net"):
        w = tf.get_variable("w", [3, 2])
    framework.init_from_checkpoint(os.path.join(folder, "model-5"), {"/": "/"})
    assert _values(w)[0].tolist() == [[0, 1], [2, 3], [4, 5]]


def test_invalid_assignment_maps(folder):
    w = tf.get_variable("w", [2, 3])
    for mapping, text in (
        ({"net/w": w}, "shape"),
        ({"net/x": w}, "Tensor net/x is not found"),
        ({"net/w": "nothing"}, "no variable 'nothing'"),
        ({"net/": "w"}, "scope"),
        ({"/": "/"}, "Tensor w is not found"),
    ):
        with pytest.raises(ValueError, match=text):
            tf.train.init_from_checkpoint(folder, mapping)
    with pytest.raises(TypeError, match="expected a variable"):
        tf.train.init_from_checkpoint(folder, {"net/w": 3})


def test_assigning_from_a_checkpoint(folder):
    w, new = tf.get_variable("w", [3, 2]), tf.get_variable("new", [1])
    path = os.path.join(folder, "model-5")
    operation, feeds = framework.assign_from_checkpoint(path, {"net/w": w})
    with tf.Session() as session:
        session.run(operation, feeds)
        assert session.run(w).tolist() == [[0, 1], [2, 3], [4, 5]]
        with pytest.raises(ValueError, match="no tensor"):
            framework.assign_from_checkpoint(path, {"net/w": w, "new": new})
        framework.assign_from_checkpoint(path, {"net/w": w, "new": new}, ignore_missing_vars=True)
        session.run(w.assign(w * 0))
        framework.assign_from_checkpoint_fn(path, {"net/w": w, "new": new}, ignore_missing_vars=True)(session)
        assert session.run(w).tolist() == [[0, 1], [2, 3], [4, 5]]
        assert framework.assign_from_checkpoint_fn(path, [new], ignore_missing_vars=True) is None
        with pytest.raises(tf.errors.NotFoundError):
            framework.assign_from_checkpoint_fn(path, [new])(session)


def test_iterating_over_checkpoints(folder):
    found = tf.train.checkpoints_iterator(folder, timeout=0.05)
    assert next(found) == os.path.join(folder, "model-5")
    with pytest.raises(StopIteration):
        next(found)


def test_states(tmp_path):
    state = tf.train.generate_checkpoint_state_proto("down", "down/m-2", ["down/m-1"])
    assert list(state.all_model_checkpoint_paths) == ["m-1", "m-2"] and state.model_checkpoint_path == "m-2"
    with pytest.raises(ValueError, match="timestamp"):
        tf.train.generate_checkpoint_state_proto("d", "d/m", all_model_checkpoint_timestamps=[1.0, 2.0])
    tf.train.update_checkpoint_state(str(tmp_path), "m-3", ["m-1", "m-3"], None, [1.5, 2.5], 0.5)
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert list(state.all_model_checkpoint_timestamps) == [1.5, 2.5] and state.last_preserved_timestamp == 0.5
    assert state.model_checkpoint_path == str(tmp_path / "m-3")
    assert tf.train.latest_checkpoint(str(tmp_path)) is None, "it does not exist"
    with pytest.raises(RuntimeError, match="name of the file"):
        tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / "checkpoint"))
    assert tf.train.get_checkpoint_state(str(tmp_path / "nowhere")) is None
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(ValueError, match="Invalid checkpoint state"):
        tf.train.get_checkpoint_state(str(tmp_path))
