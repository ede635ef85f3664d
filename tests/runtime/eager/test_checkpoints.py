"""Checkpoints of eager execution: by objects and by names, restored at once or when objects are created."""

import gc
import os

import numpy as np
import pytest

import thalweg as tf

tfe = tf.contrib.eager
pytestmark = pytest.mark.usefixtures("fresh")


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "folder" / "model")


class Model(tf.Module):
    """Variables, layers, lists and dictionaries, of which most are created by the first call."""

    def __init__(self):
        super().__init__(name="model")
        self.scale = tf.Variable([1.0, 2.0], name="scale")
        self.hidden = tf.layers.Dense(3, kernel_initializer=tf.ones_initializer(), name="hidden")

    def __call__(self, x):
        if not hasattr(self, "more"):
            self.more = [tf.Variable(tf.ones([3, 1]), name="first"), {"bias": tf.Variable(0.5, name="bias")}]
        return tf.matmul(self.hidden(x * self.scale), self.more[0]) + self.more[1]["bias"]

    def values(self):
        return [v.numpy().tolist() for v in (self.scale, *self.hidden.variables, self.more[0], self.more[1]["bias"])]


class Training:
    """A model with its optimizer and step."""

    def __init__(self):
        self.model, self.optimizer = Model(), tf.train.AdamOptimizer(0.1)
        self.step = tf.Variable(0, dtype=tf.int64, name="step")
        self.checkpoint = tf.train.Checkpoint(model=self.model, optimizer=self.optimizer, step=self.step)

    def run(self, steps):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        for _ in range(steps):
            self.optimizer.minimize(lambda: tf.reduce_mean(tf.square(self.model(x) - 1.0)), global_step=self.step)

    def state(self):
        return self.model.values(), int(self.step), [v.numpy().tolist() for v in self.optimizer.variables()]


def test_values_are_restored_at_once(prefix):
    v, step = tf.Variable([1.0, 2.0]), tf.Variable(7)
    checkpoint = tf.train.Checkpoint(v=v, step=step, some=[tf.Variable(3.0)])
    path = checkpoint.save(prefix)
    assert path == f"{prefix}-1" and tf.train.latest_checkpoint(os.path.dirname(prefix)) == path
    v.assign([0.0, 0.0])
    step.assign(0)
    status = checkpoint.restore(path)
    assert v.numpy().tolist() == [1, 2] and int(step) == 7
    status.assert_consumed().assert_existing_objects_matched().assert_nontrivial_match()
    status.run_restore_ops()
    status.initialize_or_restore()
    assert checkpoint.save(prefix) == f"{prefix}-2" and int(checkpoint.save_counter) == 2


def test_objects_are_restored_when_they_are_created(prefix):
    first = Training()
    first.run(3)
    path = first.checkpoint.save(prefix)
    saved = first.state()
    first.run(2)
    second = Training()
    status = second.checkpoint.restore(path)
    assert second.model.scale.numpy().tolist() == saved[0][0] and int(second.step) == 3
    with pytest.raises(AssertionError, match="Unresolved object"):
        status.assert_consumed()
    second.run(2)
    status.assert_consumed()
    assert second.state() == first.state()
    second.checkpoint.save(prefix)
    assert int(second.checkpoint.save_counter) == 2


def test_a_value_is_restored_once(prefix):
    first = Training()
    first.run(1)
    path = first.checkpoint.save(prefix)
    second = Training()
    second.checkpoint.restore(path)
    second.model.scale.assign([9.0, 9.0])
    second.model(tf.constant([[1.0, 2.0]]))
    assert second.model.scale.numpy().tolist() == [9, 9]
    assert second.model.more[0].numpy().tolist() == first.model.more[0].numpy().tolist()


def test_the_newest_restore_wins(prefix):
    paths = []
    for value in (1.0, 2.0):
        paths.append(tf.train.Checkpoint(v=tf.Variable(value)).write(f"{prefix}{value}"))
    for order in (paths, paths[::-1]):
        checkpoint = tf.train.Checkpoint()
        for path in order:
            checkpoint.restore(path)
        gc.collect()
        assert len(checkpoint._restorations) == 1
        checkpoint.v = tf.Variable(0.0)
        assert checkpoint.v.numpy() == (2 if order is paths else 1) and not checkpoint._restorations


def test_graphs_and_eager_execution_read_the_same_files(prefix):
    first = Training()
    first.run(3)
    path = first.checkpoint.save(prefix)
    with tf.Graph().as_default(), tf.Session() as session:
        other = Training()
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        train = other.optimizer.minimize(tf.reduce_mean(tf.square(other.model(x) - 1.0)), global_step=other.step)
        other.checkpoint.restore(path).assert_consumed().run_restore_ops(session)
        session.run([train])
        path = other.checkpoint.save(prefix, session=session)
        expected = session.run([other.step, other.model.more[0], other.optimizer.get_slot(other.model.scale, "m")])
    second = Training()
    second.checkpoint.restore(path)
    second.run(0)
    second.model(tf.constant([[1.0, 2.0]]))
    first.run(1)
    assert int(second.step) == expected[0] == 4
    np.testing.assert_allclose(second.model.more[0].numpy(), expected[1])
    np.testing.assert_allclose(first.model.more[0].numpy(), expected[1], rtol=1e-6)
    second.run(1)
    first.run(1)
    np.testing.assert_allclose(second.model.more[0].numpy(), first.model.more[0].numpy(), rtol=1e-6)


def test_mismatches(prefix):
    path = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).save(prefix)
    other = tf.Variable([[0.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[1, 1\] in the model, \[2\] in the checkpoint"):
        tf.train.Checkpoint(v=other).restore(path)
    assert other.numpy().tolist() == [[0]]
    status = tf.train.Checkpoint(w=other).restore(path)
    with pytest.raises(AssertionError, match="not bound to checkpointed values"):
        status.assert_existing_objects_matched()
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.Checkpoint(v=other).restore(f"{prefix}-9")
    tf.train.Checkpoint(v=other).restore(None).initialize_or_restore()
    assert other.numpy().tolist() == [[0]]


class Position(tf.train.experimental.PythonState):
    """A state that is not a tensor."""

    value = b"start"

    def serialize(self):
        return self.value

    def deserialize(self, string_value):
        self.value = string_value


def test_states_metrics_and_networks(prefix):
    def objects():
        network = tfe.Sequential([tf.layers.Dense(2, name="one"), tf.nn.relu])
        return {"position": Position(), "mean": tfe.metrics.Mean(), "network": network}

    first = objects()
    first["position"].value = b"end"
    first["mean"]([1.0, 5.0])
    expected = first["network"](tf.ones([1, 3])).numpy()
    path = tf.train.Checkpoint(**first).save(prefix)
    names = [name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for name, _ in tf.train.list_variables(path)]
    assert names[1:] == [
        *("mean/denom", "mean/numer", "network/one/bias", "network/one/kernel"),
        *("position/.ATTRIBUTES/py_state", "save_counter"),
    ]
    second = objects()
    tf.train.Checkpoint(**second).restore(path)
    gc.collect()
    assert second["position"].value == b"end"
    second["mean"]([6.0])
    assert second["mean"].result().numpy() == 4
    np.testing.assert_array_equal(second["network"](tf.ones([1, 3])).numpy(), expected)


def test_a_manager_deletes_old_checkpoints(tmp_path):
    step = tf.Variable(0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(step=step), str(tmp_path), max_to_keep=2)
    for _ in range(3):
        step.assign_add(1)
        manager.save()
    assert [os.path.basename(path) for path in manager.checkpoints] == ["ckpt-2", "ckpt-3"]
    assert os.path.basename(manager.save(checkpoint_number=step * 10)) == "ckpt-30"


# -- by names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [tf.train.Saver, tfe.Saver])
def test_savers(prefix, make):
    v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(3, name="w")
    saver = make([v, w])
    arguments = (None,) if make is tf.train.Saver else ()
    path = saver.save(*arguments, prefix, global_step=w)
    assert path == f"{prefix}-3"
    assert [name for name, _ in tf.train.list_variables(path)] == ["v", "w"]
    v.assign([0.0, 0.0])
    saver.restore(*arguments, path)
    assert v.numpy().tolist() == [1, 2]
    make({"v": tf.Variable([0.0, 0.0])}).restore(*arguments, path)
    with pytest.raises(tf.errors.NotFoundError, match="Key other not found"):
        make({"other": v}).restore(*arguments, path)
    with pytest.raises(tf.errors.InvalidArgumentError, match="w: float32 in the model, int32 in the checkpoint"):
        make({"w": v}).restore(*arguments, path)
    with tf.Graph().as_default(), tf.Session() as session:
        other = tf.Variable([0.0, 0.0], name="v")
        tf.train.Saver([other]).restore(session, path)
        assert session.run(other).tolist() == [1, 2]


def test_what_savers_need(prefix):
    with pytest.raises(RuntimeError, match="`var_list` must specify a list or dict of variables"):
        tf.train.Saver()
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="needs eager execution"):
        tfe.Saver([])


def test_asynchronous_saves_take_the_values_of_the_moment(prefix):
    v = tf.Variable(tf.ones([1000]), name="v")
    saver = tf.train.Saver([v], asynchronous=True)
    path = saver.save(None, prefix)
    v.assign_add(tf.ones([1000]))
    saver.wait()
    saver.restore(None, path)
    assert (v.numpy() == 1).all()


def test_names_and_objects(prefix):
    v = tf.Variable([1.0, 2.0], name="v")
    by_name = tfe.Saver([v]).save(prefix)
    by_object = tf.train.Checkpoint(v=v).write(f"{prefix}.objects")
    for restore in (
        lambda other: tf.train.Checkpoint(some=other).restore(by_name).assert_consumed(),
        lambda other: tfe.Saver([other]).restore(by_object),
    ):
        other = tf.Variable([0.0, 0.0], name="v")
        restore(other)
        assert other.numpy().tolist() == [1, 2]
    with tfe.restore_variables_on_create(by_name):
        assert tf.get_variable("v", [2]).numpy().tolist() == [1, 2]
    with tfe.restore_variables_on_create(by_name, map_func=lambda name: name.replace("scope/", "")):
        assert tf.Variable([0.0, 0.0], name="scope/v").numpy().tolist() == [1, 2]
        assert tf.Variable(5.0, name="new").numpy() == 5
