"""Checkpoints of objects travel: TensorFlow restores ours and we restore TensorFlow's, slots and counts included."""

import numpy as np
import pytest

import thalweg as tf
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]

# Both sides run these words: a model of nested parts, trained by an optimizer with slots.
MODEL = """
class Layer(tf.Module):
    def __init__(self, seed):
        super().__init__(name="layer")
        rng = np.random.RandomState(seed)
        self.kernel = tf.Variable(rng.normal(size=(3, 3)).astype(np.float32), name="kernel", use_resource=True)
        self.bias = tf.Variable(np.zeros(3, np.float32), name="bias", use_resource=True)

    def __call__(self, x):
        return tf.tanh(tf.matmul(x, self.kernel) + self.bias)

class Net(tf.Module):
    def __init__(self, seed):
        super().__init__(name="net")
        self.hidden = [Layer(seed), Layer(seed + 1)]
        self.by_name = {"last/one": Layer(seed + 2)}
        self.words = tf.Variable(["a", "bc"], name="words", trainable=False, use_resource=True)

    def __call__(self, x):
        for layer in [*self.hidden, self.by_name["last/one"]]:
            x = layer(x)
        return x

def build(seed, kind):
    net = Net(seed)
    optimizer = {
        "adam": lambda: tf.train.AdamOptimizer(0.05),
        "momentum": lambda: tf.train.MomentumOptimizer(0.05, 0.9),
        "rmsprop": lambda: tf.train.RMSPropOptimizer(0.05, centered=True),
    }[kind]()
    step = tf.Variable(0, dtype=tf.int64, name="step", use_resource=True)
    x = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3) / 6)
    loss = tf.reduce_sum(net(x) ** 2)
    variables = [v for v in net.trainable_variables]
    train = optimizer.minimize(loss, global_step=step, var_list=variables)
    return tf.train.Checkpoint(net=net, optimizer=optimizer, step=step), train, loss, step, net
"""
SAVE = """
checkpoint, train, loss, step, net = build(1, kind)
with tf.Session() as session:
    checkpoint.restore(None).initialize_or_restore(session)
    for _ in range(3):
        session.run(train)
    path = checkpoint.save(prefix, session=session)
    for _ in range(3):
        session.run(train)
    print(path, repr(float(session.run(loss))))
"""
GO_ON = """
checkpoint, train, loss, step, net = build(100, kind)
with tf.Session() as session:
    status = checkpoint.restore(path)
    status.assert_consumed()
    status.initialize_or_restore(session)
    assert session.run(step) == 3
    assert session.run(checkpoint.save_counter) == 1
    assert session.run(net.words).tolist() == [b"a", b"bc"]
    for _ in range(3):
        session.run(train)
    print(repr(float(session.run(loss))))
"""
KINDS = ["adam", "momentum", "rmsprop"]


def _ours(capsys, code, **names):
    with tf.Graph().as_default():
        exec(MODEL + code, {"tf": tf, "np": np, **names})
    return capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS)
def test_tensorflow_goes_on_where_we_stopped(tmp_path, kind, capsys):
    path, expected = _ours(capsys, SAVE, kind=kind, prefix=str(tmp_path / "ours")).split()
    code = f"kind, path = {kind!r}, {path!r}\n"
    found = run_tensorflow(code + MODEL + GO_ON)
    np.testing.assert_allclose(float(found), float(expected), rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_we_go_on_where_tensorflow_stopped(tmp_path, kind, capsys):
    code = f"kind, prefix = {kind!r}, {str(tmp_path / 'theirs')!r}\n"
    path, expected = run_tensorflow(code + MODEL + SAVE).split()
    found = _ours(capsys, GO_ON, kind=kind, path=path)
    np.testing.assert_allclose(float(found), float(expected), rtol=1e-5)


def test_both_write_the_same_keys_and_graph(tmp_path, capsys):
    """The names of tensors, and nodes, parts and attributes of the graph of objects."""
    ours = _ours(capsys, SAVE, kind="adam", prefix=str(tmp_path / "ours")).split()[0]
    code = f"kind, prefix = 'adam', {str(tmp_path / 'theirs')!r}\n"
    theirs = run_tensorflow(code + MODEL + SAVE).split()[0]
    assert tf.train.list_variables(ours) == tf.train.list_variables(theirs)
    assert _described(ours) == _described(theirs)


def _described(path):
    from thalweg._src.training.checkpoint.object_graph import GRAPH_KEY, parse_graph

    graph = parse_graph(tf.train.load_variable(path, GRAPH_KEY), path)
    keys = [[(a.name, a.full_name, a.checkpoint_key) for a in node.attributes] for node in graph.nodes]
    edges = {
        (str(keys[i]), child.local_name, str(keys[child.node_id]))
        for i, node in enumerate(graph.nodes)
        for child in node.children
    }
    slots = {
        (slot.slot_name, str(keys[slot.original_variable_node_id]), str(keys[slot.slot_variable_node_id]))
        for node in graph.nodes
        for slot in node.slot_variables
    }
    return sorted(edges), sorted(slots), sorted(map(str, keys))


def test_our_saver_restores_tensorflows_objects_by_full_name(tmp_path):
    code = f"prefix = {str(tmp_path / 'theirs')!r}\n"
    run_tensorflow(
        code
        + """
v = tf.Variable(7.0, name="scope/v", use_resource=True)
with tf.Session() as session:
    session.run(v.initializer)
    tf.train.Checkpoint(x=v).write(prefix, session=session)
"""
    )
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0.0, name="scope/v")
        tf.train.Saver().restore(session, str(tmp_path / "theirs"))
        assert session.run(v) == 7


def test_tensorflows_saver_restores_our_objects_by_full_name(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(7.0, name="scope/v")
        session.run(v.initializer)
        path = tf.train.Checkpoint(x=v).write(str(tmp_path / "ours"), session)
    run_tensorflow(
        f"path = {path!r}\n"
        + """
v = tf.Variable(0.0, name="scope/v", use_resource=True)
with tf.Session() as session:
    tf.train.Saver().restore(session, path)
    assert session.run(v) == 7
"""
    )


def test_managers_take_over_from_each_other(tmp_path):
    folder = str(tmp_path)
    words = """
v = tf.Variable(1.0, name="v", use_resource=True)
checkpoint = tf.train.Checkpoint(v=v)
manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
with tf.Session() as session:
    checkpoint.restore(manager.latest_checkpoint).initialize_or_restore(session)
    session.run(v.assign_add(1.0))
    path = manager.save()
    print(path, float(session.run(v)), *manager.checkpoints)
"""
    ours = []
    for turn in range(4):
        if turn % 2:
            ours.append(run_tensorflow(f"folder = {folder!r}\n" + words).split())
        else:
            printed = []
            with tf.Graph().as_default():
                exec(words, {"tf": tf, "folder": folder, "print": lambda *values: printed.extend(map(str, values))})
            ours.append(printed)
    assert [line[0] for line in ours] == [f"{folder}/ckpt-{n}" for n in (1, 2, 3, 4)]
    assert [line[1] for line in ours] == ["2.0", "3.0", "4.0", "5.0"]
    assert ours[-1][2:] == [f"{folder}/ckpt-3", f"{folder}/ckpt-4"]
