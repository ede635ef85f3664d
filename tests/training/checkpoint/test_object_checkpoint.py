"""Object-based checkpoints: attributes, slots, objects created later, mismatches, and name-based checkpoints."""

import os

import numpy as np
import pytest

import thalweg as tf


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "folder" / "model")


def _saved(prefix, checkpoint):
    with tf.Session() as session:
        checkpoint.restore(None).initialize_or_restore(session)
        return checkpoint.save(prefix, session=session)


class Model(tf.Module):
    """Variables in attributes, lists and dictionaries."""

    def __init__(self, scale=1.0):
        super().__init__(name="model")
        self.w = tf.Variable([scale, 2.0 * scale], name="w")
        self.layers = [tf.Variable(3.0 * scale), {"inner": tf.Variable(4.0 * scale)}]
        self.number = 7
        self.empty = []

    def values(self):
        return [self.w, self.layers[0], self.layers[1]["inner"]]


def test_objects_are_saved_by_attribute_names(prefix):
    path = _saved(prefix, tf.train.Checkpoint(model=Model()))
    assert path == f"{prefix}-1" and tf.train.latest_checkpoint(os.path.dirname(prefix)) == path
    names = [name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for name, _ in tf.train.list_variables(path)]
    assert names == [
        "_CHECKPOINTABLE_OBJECT_GRAPH",
        "model/layers/0",
        "model/layers/1/inner",
        "model/w",
        "save_counter",
    ]
    with tf.Graph().as_default(), tf.Session() as session:
        model = Model(scale=100.0)
        tf.train.Checkpoint(model=model).restore(path).assert_consumed().run_restore_ops(session)
        w, first, inner = session.run(model.values())
    assert w.tolist() == [1, 2] and (first, inner) == (3, 4)


def _training(rate=0.1):
    x = tf.constant([[1.0, 2.0]])
    dense = tf.layers.Dense(3)
    optimizer = tf.train.AdamOptimizer(rate)
    return dense, optimizer, lambda: optimizer.minimize(tf.reduce_sum(dense(x) ** 2))


def test_training_resumes_with_layers_and_slots(prefix):
    dense, optimizer, make = _training()
    train = make()
    checkpoint = tf.train.Checkpoint(optimizer=optimizer, net=dense)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = checkpoint.save(prefix, session)
        session.run(train)
        expected = session.run(dense.kernel)
    with tf.Graph().as_default(), tf.Session() as session:
        dense, optimizer, make = _training()
        status = tf.train.Checkpoint(optimizer=optimizer, net=dense).restore(path)
        with pytest.raises(AssertionError, match="Unresolved object in checkpoint"):
            status.assert_consumed()
        train = make()  # variables and slots that come after the restore are found as well
        status.assert_consumed().initialize_or_restore(session)
        session.run(train)
        np.testing.assert_array_equal(session.run(dense.kernel), expected)


def test_saving_again_adds_nothing_to_the_graph(prefix):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    with tf.Session():
        checkpoint.restore(None).initialize_or_restore()
        paths = [checkpoint.save(prefix)]
        tf.get_default_graph().finalize()
        paths += [checkpoint.save(prefix) for _ in range(2)]
    assert [path.removeprefix(prefix) for path in paths] == ["-1", "-2", "-3"]


def test_save_counter_is_restored(prefix):
    path = _saved(prefix, tf.train.Checkpoint(v=tf.Variable(1.0)))
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
        checkpoint.restore(path).initialize_or_restore(session)
        assert checkpoint.save(prefix, session) == f"{prefix}-2"


def test_mismatched_objects(prefix):
    path = _saved(prefix, tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)))
    with tf.Graph().as_default(), tf.Session() as session:
        a, other = tf.Variable(5.0), tf.Variable(6.0)
        checkpoint = tf.train.Checkpoint(a=a, c=other)
        status = checkpoint.restore(path)
        with pytest.raises(AssertionError, match="not bound to checkpointed values"):
            status.assert_existing_objects_matched()
        status.assert_nontrivial_match().initialize_or_restore(session)
        assert session.run([a, other]) == [1, 6]
        alone = tf.train.Checkpoint(a=a).restore(path)
        alone.assert_existing_objects_matched().expect_partial()
        with pytest.raises(AssertionError, match="Unresolved object in checkpoint b"):
            alone.assert_consumed()
        with pytest.raises(AssertionError, match="Nothing except the root"):
            tf.train.Checkpoint(z=a).read(path).assert_nontrivial_match()
        with pytest.raises(tf.errors.InvalidArgumentError, match="of a different shape"):
            tf.train.Checkpoint(a=tf.Variable([1.0, 2.0])).restore(path).run_restore_ops(session)
        assert session.run(a) == 1


def test_no_checkpoint():
    status = tf.train.Checkpoint(a=tf.Variable(1.0)).restore(None)
    for check in (status.assert_consumed, status.assert_existing_objects_matched, status.run_restore_ops):
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            check()
    with pytest.raises(ValueError, match="no default session"):
        status.initialize_or_restore()
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.Checkpoint(a=tf.Variable(1.0)).restore("/nowhere/at/all")


def test_only_trackable_objects_are_accepted():
    for value in (3, "text", object(), tf.constant(1.0)):
        with pytest.raises(ValueError, match="trackable object"):
            tf.train.Checkpoint(value=value)
    with pytest.raises(ValueError, match="must be strings, received"), tf.Session() as session:
        tf.train.Checkpoint(value={1: tf.Variable(1.0)}).write("/tmp/never", session)


def test_names_are_escaped(prefix):
    _saved(prefix, tf.train.Checkpoint(d={"a/b": tf.Variable(1.0), "a.b": tf.Variable(2.0)}))
    names = [name for name, _ in tf.train.list_variables(f"{prefix}-1")]
    assert {"d/a.Sb/.ATTRIBUTES/VARIABLE_VALUE", "d/a..b/.ATTRIBUTES/VARIABLE_VALUE"} < set(names)


def test_a_shared_variable_is_saved_once(prefix):
    v = tf.Variable(3.0)
    path = _saved(prefix, tf.train.Checkpoint(a=[v], b=[v]))
    with tf.Graph().as_default(), tf.Session() as session:
        u = tf.Variable(0.0)
        tf.train.Checkpoint(a=[u], b=[u]).restore(path).assert_consumed().run_restore_ops(session)
        assert session.run(u) == 3


def test_cyclic_references(prefix):
    first, second = tf.Module(name="a"), tf.Module(name="b")
    first.other, second.other, second.v = second, first, tf.Variable(1.0)
    assert _saved(prefix, tf.train.Checkpoint(first=first))


class Counter(tf.train.experimental.PythonState):
    """A number of Python's in a checkpoint."""

    def __init__(self, value):
        self.value = value

    def serialize(self):
        return str(self.value).encode()

    def deserialize(self, string_value):
        self.value = int(string_value)


def test_python_state(prefix):
    counter = Counter(5)
    path = _saved(prefix, tf.train.Checkpoint(counter=counter, v=tf.Variable(1.0)))
    other = Counter(0)
    tf.train.Checkpoint(counter=other, v=tf.Variable(1.0)).restore(path).assert_consumed()
    assert other.value == 5


def test_tables_and_iterators(prefix):
    def build():
        table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(10))
        return table, iterator, iterator.get_next(), tf.train.Checkpoint(table=table, iterator=iterator)

    table, iterator, element, checkpoint = build()
    with tf.Session() as session:
        session.run([iterator.initializer, table.insert(["a", "b"], tf.constant([1, 2], tf.int64))])
        assert [session.run(element) for _ in range(3)] == [0, 1, 2]
        path = checkpoint.save(prefix, session)
    with tf.Graph().as_default(), tf.Session() as session:
        table, iterator, element, checkpoint = build()
        session.run(iterator.initializer)
        checkpoint.restore(path).assert_consumed().run_restore_ops(session)
        assert session.run(element) == 3
        assert session.run(table.lookup(tf.constant(["b", "c"]))).tolist() == [2, -1]


def test_a_saver_saves_tables(prefix):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="words")
    with tf.Session() as session:
        session.run(table.insert(["a"], tf.constant([4], tf.int64)))
        path = tf.train.Saver().save(session, prefix)
    assert dict(tf.train.list_variables(path)) == {"words-keys": [1], "words-values": [1]}
    with tf.Session() as session:
        tf.train.Saver().restore(session, path)
        assert session.run(table.lookup(tf.constant(["a"]))).tolist() == [4]


# -- names and objects ------------------------------------------------------------------------------------------------


def test_a_checkpoint_by_name_is_restored_to_objects(prefix):
    v = tf.Variable(3.0, name="v")
    with tf.Session() as session:
        session.run(v.initializer)
        path = tf.train.Saver().save(session, prefix)
    with tf.Graph().as_default(), tf.Session() as session:
        mine = tf.Variable(0.0, name="v")
        tf.train.Checkpoint(x=mine).restore(path).assert_consumed().run_restore_ops(session)
        assert session.run(mine) == 3
        status = tf.train.Checkpoint(x=tf.Variable(0.0, name="other")).restore(path)
        with pytest.raises(AssertionError, match="other"):
            status.assert_consumed()
        with pytest.raises(tf.errors.NotFoundError, match="Key other not found"):
            status.run_restore_ops(session)


def test_a_saver_restores_objects_by_full_name(prefix):
    path = _saved(prefix, tf.train.Checkpoint(x=tf.Variable(3.0, name="v")))
    with tf.Graph().as_default(), tf.Session() as session:
        mine = tf.Variable(0.0, name="v")
        saver = tf.train.Saver()
        saver.restore(session, path)
        assert session.run(mine) == 3
        tf.Variable(0.0, name="unknown")
        with pytest.raises(tf.errors.NotFoundError, match="unknown"):
            tf.train.Saver().restore(session, path)


# -- many checkpoints -------------------------------------------------------------------------------------------------


def _found(folder):
    return sorted(name.removesuffix(".index") for name in os.listdir(folder) if name.endswith(".index"))


def test_manager_keeps_the_latest(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    with pytest.raises(ValueError, match="max_to_keep"):
        tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=0)
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
    assert manager.latest_checkpoint is None and manager.checkpoints == []
    with tf.Session():
        checkpoint.restore(manager.latest_checkpoint).initialize_or_restore()
        for _ in range(4):
            path = manager.save()
        assert path == manager.latest_checkpoint == str(tmp_path / "ckpt-4")
        assert _found(tmp_path) == ["ckpt-3", "ckpt-4"]
        again = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
        assert again.checkpoints == manager.checkpoints == [str(tmp_path / f"ckpt-{n}") for n in (3, 4)]
        again.save(checkpoint_number=10)
    assert _found(tmp_path) == ["ckpt-10", "ckpt-4"]
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "ckpt-10")


def test_manager_keeps_a_checkpoint_every_n_hours(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(
        checkpoint, tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=2.0, checkpoint_name="m"
    )
    with tf.Session():
        checkpoint.restore(None).initialize_or_restore()
        for _ in range(7):
            now[0] += 3600.0
            manager.save()
    assert _found(tmp_path) == ["m-2", "m-4", "m-6", "m-7"]
    assert manager.checkpoints == [str(tmp_path / "m-7")]


# -- modules ----------------------------------------------------------------------------------------------------------


def test_module():
    class Outer(tf.Module):
        def __init__(self):
            super().__init__()
            self.b = [Model()]
            self.a = tf.Variable(1.0, trainable=False)

        @tf.Module.with_name_scope
        def call(self):
            return tf.constant(1.0, name="c")

    outer = Outer()
    assert outer.name == "outer" and outer.name_scope.name == "outer/"
    assert outer.submodules == (outer.b[0],)
    assert [id(v) for v in outer.variables] == [
        id(v) for v in (outer.a, outer.b[0].layers[0], outer.b[0].layers[1]["inner"], outer.b[0].w)
    ]
    assert len(outer.trainable_variables) == 3
    assert outer.call().op.name == "outer/c"
    with pytest.raises(ValueError, match="valid module name"):
        tf.Module(name="1x")


def test_cells_are_saved_by_number(prefix):
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(2), tf.nn.rnn_cell.BasicLSTMCell(2)])
    tf.nn.static_rnn(cell, [tf.ones([1, 2])], dtype=tf.float32)
    _saved(prefix, tf.train.Checkpoint(cell=cell))
    names = {name.split("/.")[0] for name, _ in tf.train.list_variables(f"{prefix}-1")}
    assert {"cell/cell-0/kernel", "cell/cell-1/bias"} < names
