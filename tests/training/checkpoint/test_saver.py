"""Saver: names, slices, how many checkpoints are kept, what is written beside them, and errors."""

import os

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.training.checkpoint.saver_builder import SaveableObject, SaverBuilder, SaveSpec


def _variables(**values):
    return {name: tf.get_variable(name, initializer=tf.constant(value)) for name, value in values.items()}


def _session():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "folder" / "model")


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_saved_values_are_restored(prefix, sharded, asynchronous):
    values = _variables(
        a=np.arange(6, dtype=np.float32).reshape(2, 3),
        b=np.array(5, np.int64),
        c=np.array([b"x", b"yz"], object),
        d=np.array([True, False]),
        e=np.array([1 + 2j]),
        f=np.zeros((0, 4), np.float64),
    )
    saver = tf.train.Saver(sharded=sharded, asynchronous=asynchronous)
    with _session() as session:
        before = session.run(values)
        assert saver.save(session, prefix) == prefix
        saver.wait()
        session.run([values["a"].assign(values["a"] + 1), values["b"].assign_add(1), values["c"].assign(["", ""])])
        saver.restore(session, prefix)
        after = session.run(values)
    for name in values:
        np.testing.assert_array_equal(after[name], before[name])
    with _other_graph() as other, tf.Session(graph=other) as session:
        tf.train.import_meta_graph(prefix + ".meta").restore(session, prefix)
        np.testing.assert_array_equal(session.run(tf.global_variables()[0]), before["a"])


def _other_graph():
    return tf.Graph().as_default()


def test_the_newest_are_kept_and_listed(prefix):
    v = _variables(v=1.0)["v"]
    saver = tf.train.Saver(max_to_keep=3)
    folder = os.path.dirname(prefix)
    with _session() as session:
        paths = [saver.save(session, prefix, global_step=i) for i in range(5)]
    assert paths == [f"{prefix}-{i}" for i in range(5)]
    assert saver.last_checkpoints == paths[2:]
    state = tf.train.get_checkpoint_state(folder)
    assert state.model_checkpoint_path == paths[4]
    assert list(state.all_model_checkpoint_paths) == paths[2:]
    assert tf.train.latest_checkpoint(folder) == paths[4]
    assert [tf.train.checkpoint_exists(path) for path in paths] == [False, False, True, True, True]
    assert sorted(os.listdir(folder)) == sorted(
        ["checkpoint", *(f"model-{i}.{e}" for i in (2, 3, 4) for e in ("index", "meta", "data-00000-of-00001"))]
    )
    times = tf.train.get_checkpoint_mtimes(paths)
    assert len(times) == 3 and times == sorted(times)
    tf.train.remove_checkpoint(paths[3])
    assert not [name for name in os.listdir(folder) if name.startswith("model-3")]
    again = tf.train.Saver({"v": v}, max_to_keep=2)
    again.recover_last_checkpoints(paths)
    assert again.last_checkpoints == [paths[2], paths[4]]
    with _session() as session:
        again.save(session, prefix, global_step=9)
    assert again.last_checkpoints == [paths[4], f"{prefix}-9"] and not tf.train.checkpoint_exists(paths[2])
    again.set_last_checkpoints_with_time([("x", 1.0)])
    assert again.last_checkpoints == ["x"]


def test_keep_checkpoint_every_n_hours(prefix):
    _variables(v=1.0)
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1e-9)
    with _session() as session:
        paths = [saver.save(session, prefix, global_step=i) for i in range(4)]
    assert all(map(tf.train.checkpoint_exists, paths)) and saver.last_checkpoints == paths[3:]


def test_max_to_keep_zero_keeps_all(prefix):
    _variables(v=1.0)
    for number in (None, 0):
        saver = tf.train.Saver(max_to_keep=number)
        with _session() as session:
            paths = [saver.save(session, prefix, global_step=i) for i in range(7)]
        assert all(map(tf.train.checkpoint_exists, paths))


def test_steps_names_and_files(prefix, tmp_path):
    _variables(v=1.0)
    step = tf.train.get_or_create_global_step()
    saver = tf.train.Saver(pad_step_number=True, save_relative_paths=True)
    with _session() as session:
        session.run(step.assign(12))
        assert saver.save(session, prefix, global_step=step, write_meta_graph=False) == f"{prefix}-00000012"
        assert saver.save(session, prefix, global_step=np.int64(3), latest_filename="mine") == f"{prefix}-00000003"
        assert saver.save(session, prefix + "x", write_state=False) == prefix + "x"
    names = os.listdir(os.path.dirname(prefix))
    assert "mine" in names and "model-00000012.meta" not in names
    assert 'model_checkpoint_path: "model-00000003"' in (tmp_path / "folder" / "mine").read_text()
    assert tf.train.latest_checkpoint(os.path.dirname(prefix)) == f"{prefix}-00000012"
    assert tf.train.latest_checkpoint(os.path.dirname(prefix), "mine") == f"{prefix}-00000003"
    assert tf.train.latest_checkpoint(str(tmp_path)) is None


def test_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _variables(v=1.0)
    with _session() as session:
        assert tf.train.Saver().save(session, "model", 1) == "model-1"
        assert tf.train.Saver().save(session, "down/model", 1) == "down/model-1"
    assert tf.train.latest_checkpoint(".") == "./model-1"
    assert tf.train.latest_checkpoint("down") == "down/model-1"
    assert 'path: "model-1"' in (tmp_path / "down" / "checkpoint").read_text()


def test_overwriting_a_checkpoint(prefix):
    v = _variables(v=np.zeros(5, np.float32))["v"]
    saver = tf.train.Saver()
    with _session() as session:
        for number in range(5):
            session.run(v.assign(tf.fill([5], float(number))))
            saver.save(session, prefix)
            assert tf.train.load_variable(prefix, "v").tolist() == [number] * 5
        assert len([name for name in os.listdir(os.path.dirname(prefix)) if ".data-" in name]) == 1


def test_renaming_a_part_and_lists(prefix):
    v = _variables(a=1.0, b=2.0, c=3.0)
    with _session() as session:
        tf.train.Saver({"x": v["a"], "y": v["b"]}).save(session, prefix)
        assert tf.train.list_variables(prefix) == [("x", []), ("y", [])]
        tf.train.Saver({"y": v["a"], "x": v["c"]}).restore(session, prefix)
        assert session.run(v) == {"a": 2.0, "b": 2.0, "c": 1.0}
        tf.train.Saver([v["a"]]).save(session, prefix)
        assert tf.train.list_variables(os.path.dirname(prefix)) == [("a", [])]


def test_restoring_with_another_partitioning_and_reshape(prefix):
    whole = np.arange(30, dtype=np.float32).reshape(10, 3)
    with _other_graph():
        v = tf.get_variable("v", initializer=tf.constant(whole), partitioner=tf.fixed_size_partitioner(4))
        with _session() as session:
            tf.train.Saver().save(session, prefix)
            tf.train.Saver({"renamed": v}).save(session, prefix + "2")
    assert tf.train.list_variables(prefix) == [("v", [10, 3])]
    np.testing.assert_array_equal(tf.train.load_variable(prefix, "v"), whole)
    for partitioner in (tf.fixed_size_partitioner(3), tf.fixed_size_partitioner(2, axis=1), None):
        with _other_graph(), tf.Session() as session:
            v = tf.get_variable("v", [10, 3], partitioner=partitioner)
            tf.train.Saver().restore(session, prefix)
            np.testing.assert_array_equal(session.run(tf.convert_to_tensor(v)), whole)
            tf.train.Saver({"renamed": v}).restore(session, prefix + "2")
    v = tf.get_variable("v", [5, 6])
    with tf.Session() as session:
        tf.train.Saver(reshape=True).restore(session, prefix)
        np.testing.assert_array_equal(session.run(v), whole.reshape(5, 6))


def test_one_error_lists_all_mismatches(prefix):
    with _other_graph():
        _variables(a=1.0, b=np.zeros((3, 4), np.float32), old=2.0, c=np.int32(1))
        with _session() as session:
            tf.train.Saver().save(session, prefix)
    v = tf.get_variable("a", initializer=5.0)
    tf.get_variable("b", [4, 3])
    tf.get_variable("new", [2])
    tf.get_variable("c", initializer=1.0)
    with _session() as session:
        with pytest.raises(tf.errors.NotFoundError) as caught:
            tf.train.Saver().restore(session, prefix)
        text = str(caught.value)
        assert "missing in the checkpoint (1): new" in text and "only in the checkpoint (1): old" in text
        assert "b: [4, 3] in the model, [3, 4] in the checkpoint" in text
        assert "c: float32 in the model, int32 in the checkpoint" in text
        with pytest.raises(tf.errors.InvalidArgumentError, match="of a different shape"):
            tf.train.Saver([x for x in tf.global_variables() if x.name in ("a:0", "b:0")]).restore(session, prefix)
        assert session.run(v) == 5.0, "nothing was restored"


def test_invalid_calls(prefix):
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    assert tf.train.Saver(allow_empty=True).save(tf.Session(graph=_used()), prefix) is None
    a = tf.get_variable("a", initializer=1.0)
    saver = tf.train.Saver()
    with _session() as session:
        with pytest.raises(ValueError, match="None"):
            saver.restore(session, None)
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            saver.restore(session, prefix)
        with pytest.raises(ValueError, match="path components"):
            saver.save(session, prefix, latest_filename="a/b")
        with pytest.raises(ValueError, match="collides"):
            saver.save(session, os.path.join(os.path.dirname(prefix), "checkpoint"))
        with pytest.raises(TypeError, match="Session"):
            saver.save(None, prefix)
        with pytest.raises(tf.errors.OpError):
            saver.save(session, "/proc/nowhere/model")
    with pytest.raises(RuntimeError, match="build"):
        tf.train.Saver(defer_build=True).save(session, prefix)
    with pytest.raises(ValueError, match="defer_build"):
        tf.train.Saver([a], defer_build=True)
    with pytest.raises(ValueError, match="two names"):
        tf.train.Saver({"x": a, "y": a})
    with pytest.raises(ValueError, match="same name"):
        tf.train.Saver([a, a])
    with pytest.raises(TypeError, match="dict or a list"):
        tf.train.Saver(a)
    with pytest.raises(TypeError, match="expected a variable"):
        tf.train.Saver({"x": 3})
    with pytest.raises(ValueError, match="SaverDef"):
        tf.train.Saver(saver_def=3)
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        saver.save(session, prefix)


def _used():
    graph = tf.Graph()
    with graph.as_default():
        tf.no_op()
    return graph


def test_messages_and_deferred_building(prefix):
    saver = tf.train.Saver(defer_build=True, max_to_keep=7)
    v = _variables(v=4.0)["v"]
    saver.build()
    saver.build()
    message = saver.as_saver_def()
    assert (message.filename_tensor_name, message.save_tensor_name) == ("save/Const:0", "save/control_dependency:0")
    assert (message.restore_op_name, message.max_to_keep, message.version) == (
        "save/restore_all",
        7,
        tf.train.SaverDef.V2,
    )
    assert saver.to_proto() == message and saver.to_proto("elsewhere") is None
    with _session() as session:
        tf.train.Saver.from_proto(message).save(session, prefix)
        session.run(v.assign(0.0))
        session.run("save/restore_all", {"save/Const:0": prefix})
        assert session.run(v) == 4.0


class _Counter(SaveableObject):
    """Saves twice what a variable holds."""

    def __init__(self, variable):
        self._variable = variable
        super().__init__(variable, [SaveSpec(variable.value() * 2, "", "twice")], "twice")

    def restore(self, restored_tensors, restored_shapes):
        return self._variable.assign(restored_tensors[0] / 2, read_value=False)


def test_custom_saveables_and_builders(prefix):
    v = tf.get_variable("v", initializer=3.0, collections=["local"])
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, _Counter(v))

    class Builder(SaverBuilder):
        asked = 0

        def restore_op(self, filename_tensor, specs):
            Builder.asked += len(specs)
            return super().restore_op(filename_tensor, specs)

    saver = tf.train.Saver(builder=Builder(), restore_sequentially=True)
    assert Builder.asked == 1
    with tf.Session() as session:
        session.run(v.initializer)
        saver.save(session, prefix)
        assert tf.train.load_variable(prefix, "twice") == 6.0
        session.run(v.assign(0.0))
        saver.restore(session, prefix)
        assert session.run(v) == 3.0


def test_only_values_of_the_declared_dtype_are_saved(prefix):
    half = tf.get_variable("half", initializer=tf.constant([1.5, -2], tf.float16))
    brain = tf.get_variable("brain", initializer=tf.constant([1.5, -2], tf.bfloat16))
    with _session() as session:
        tf.train.Saver().save(session, prefix)
        session.run([half.assign(half * 0), brain.assign(brain * 0)])
        tf.train.Saver().restore(session, prefix)
        assert [x.astype(float).tolist() for x in session.run([half, brain])] == [[1.5, -2], [1.5, -2]]
