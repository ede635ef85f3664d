"""Checkpoints travel: TensorFlow restores ours, we restore TensorFlow's, with the same bits."""

import numpy as np
import pytest

import thalweg as tf
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow
from thalweg._src.base import dtypes
from thalweg._src.base.formats.bundle_reader import BundleReader
from thalweg._src.graph.ops.checkpoint import merge_v2_checkpoints_op, restore_v2_op, save_v2_op

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]

NAMES = sorted(dtype.name for dtype in dtypes.ALL - {dtypes.resource, dtypes.variant})

# Both sides make the same arrays of each type by the same words: scalars, matrices, empty ones, one of many elements.
SAMPLES = '''
SHAPES = {"scalar": (), "matrix": (2, 3), "empty": (0, 4), "long": (3000,)}
KINDS = {"qint8": "int8", "quint8": "uint8", "qint16": "int16", "quint16": "uint16", "qint32": "int32"}

def sample(name, shape):
    """Gives the bits of an array: raw bytes, or strings."""
    count = int(np.prod(shape, dtype=np.int64))
    rng = np.random.RandomState(len(name) * 7 + count)
    if name == "string":
        return np.array([rng.bytes(int(n)) for n in rng.randint(0, 300, count)], dtype=object).reshape(shape)
    if name == "bool":
        return rng.randint(0, 2, count).astype(bool).reshape(shape)
    if name == "bfloat16":
        return rng.randint(0, 0x7f00, count).astype(np.uint16).reshape(shape)
    kind = np.dtype(KINDS.get(name, name))
    if kind.kind in "fc":
        imaginary = 1j * rng.normal(size=count) if kind.kind == "c" else 0
        return (rng.normal(size=count) + imaginary).astype(kind).reshape(shape)
    return rng.randint(0, 100, count).astype(kind).reshape(shape)

def all_samples(names):
    for name in names:
        for key, shape in SHAPES.items():
            if not (name == "string" and key == "empty"):
                yield name + "/" + key, name, sample(name, shape)
    yield "string/empty", "string", np.empty((0, 4), object)
'''
_defined: dict = {"np": np}
exec(SAMPLES, _defined)
all_samples = _defined["all_samples"]


def _ours(name, array):
    if name == "bfloat16":
        return tf.bitcast(tf.constant(array, tf.uint16), tf.bfloat16)
    if name.startswith("q"):
        return tf.bitcast(tf.constant(array), name)
    return tf.constant(array, tf.as_dtype(name), shape=array.shape)


def test_tensorflow_reads_every_type_of_ours(tmp_path):
    keys, types, arrays = zip(*all_samples(NAMES), strict=True)
    with tf.Graph().as_default(), tf.Session() as session:
        values = [_ours(name, array) for name, array in zip(types, arrays, strict=True)]
        session.run(save_v2_op.operation(str(tmp_path / "ours"), list(keys), [""] * len(keys), values))
    run_tensorflow(
        SAMPLES
        + """
prefix, names = sys.argv[1], sys.argv[2].split()
session = tf.Session()
for key, name, array in all_samples(names):
    [value] = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=[key], shape_and_slices=[""], dtypes=[name])
    if name == "bfloat16":
        value = tf.bitcast(value, tf.uint16)
    if name.startswith("q"):
        value = tf.bitcast(value, KINDS[name])
    value = session.run(value)
    value = np.array(value, object) if name == "string" else np.asarray(value)
    assert value.shape == array.shape and value.dtype == array.dtype, (key, value.dtype, value.shape)
    assert value.tolist() == array.tolist(), key
reader = tf.train.load_checkpoint(prefix)
shapes = reader.get_variable_to_shape_map()
assert len(shapes) == len(list(all_samples(names)))
""",
        tmp_path / "ours",
        " ".join(NAMES),
    )


def test_we_read_every_type_of_tensorflows(tmp_path):
    run_tensorflow(
        SAMPLES
        + """
prefix, names = sys.argv[1], sys.argv[2].split()
keys, values = [], []
for key, name, array in all_samples(names):
    if name == "bfloat16":
        value = tf.bitcast(tf.constant(array), tf.bfloat16)
    elif name.startswith("q"):
        value = tf.bitcast(tf.constant(array), name)
    else:
        value = tf.constant(array, name, shape=array.shape)
    keys.append(key)
    values.append(value)
save = tf.raw_ops.SaveV2(prefix=prefix, tensor_names=keys, shape_and_slices=[""] * len(keys), tensors=values)
tf.Session().run(save)
""",
        tmp_path / "theirs",
        " ".join(NAMES),
    )
    with BundleReader(str(tmp_path / "theirs")) as reader:
        reader.verify()
        keys = []
        for key, name, array in all_samples(NAMES):
            value = reader.read(key)
            keys.append(key)
            assert reader.entry(key).dtype.name == name
            assert value.shape == array.shape
            if name == "string":
                assert value.tolist() == array.tolist(), key
            else:
                assert value.tobytes() == array.tobytes(), key
        assert sorted(reader.names()) == sorted(keys)


def test_our_bytes_are_tensorflows(tmp_path):
    """A checkpoint of the same tensors is the same files, bit for bit."""
    run_tensorflow(
        """
a = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
save = tf.raw_ops.SaveV2(
    prefix=sys.argv[1], tensor_names=["a", "part", "part", "s"],
    shape_and_slices=["", "7 300 0,3:-", "7 300 3,4:0,300", ""],
    tensors=[a, tf.ones([3, 300]), tf.zeros([4, 300]), tf.constant(["x", "", "y" * 200])])
tf.Session().run(save)
""",
        tmp_path / "theirs",
    )
    with tf.Graph().as_default(), tf.Session() as session:
        values = [
            tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3)),
            tf.ones([3, 300]),
            tf.zeros([4, 300]),
            tf.constant(["x", "", "y" * 200]),
        ]
        names, slices = ["a", "part", "part", "s"], ["", "7 300 0,3:-", "7 300 3,4:0,300", ""]
        session.run(save_v2_op.operation(str(tmp_path / "ours"), names, slices, values))
    for ending in ("data-00000-of-00001", "index"):
        assert (tmp_path / f"ours.{ending}").read_bytes() == (tmp_path / f"theirs.{ending}").read_bytes()


def test_slices_and_shards_of_ours(tmp_path):
    whole = np.arange(70, dtype=np.float64).reshape(10, 7)
    cuts = ["10 7 0,4:0,7", "10 7 4,6:0,2", "10 7 4,6:2,5"]
    parts = [whole[:4], whole[4:, :2], whole[4:, 2:]]
    with tf.Graph().as_default(), tf.Session() as session:
        shards = [str(tmp_path / "temporary" / f"part-{i}") for i in range(3)]
        saves = [
            save_v2_op.operation(shard, ["w", f"x{i}"], [cuts[i], ""], [tf.constant(parts[i]), tf.constant(i)])
            for i, shard in enumerate(shards)
        ]
        with tf.control_dependencies(saves):
            merge = merge_v2_checkpoints_op.operation(shards, str(tmp_path / "ours"))
        session.run(merge)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(f"ours.data-0000{i}-of-00003" for i in range(3)),
        "ours.index",
    ]
    np.save(tmp_path / "whole.npy", whole)
    run_tensorflow(
        """
whole = np.load(sys.argv[2])
wanted = ["", "10 7 2,5:1,4", "10 7 4,6:0,2"]
w = tf.raw_ops.RestoreV2(prefix=sys.argv[1], tensor_names=["w"] * 3, shape_and_slices=wanted, dtypes=[tf.float64] * 3)
names = ["x0", "x1", "x2"]
x = tf.raw_ops.RestoreV2(prefix=sys.argv[1], tensor_names=names, shape_and_slices=[""] * 3, dtypes=[tf.int32] * 3)
with tf.Session() as session:
    a, b, c = session.run(w)
    assert session.run(x) == [0, 1, 2]
assert (a == whole).all() and (b == whole[2:7, 1:5]).all() and (c == whole[4:, :2]).all()
assert tf.train.load_checkpoint(sys.argv[1]).get_variable_to_shape_map()["w"] == [10, 7]
""",
        tmp_path / "ours",
        tmp_path / "whole.npy",
    )


def test_slices_and_shards_of_tensorflows(tmp_path):
    run_tensorflow(
        """
whole = np.arange(70, dtype=np.float64).reshape(10, 7)
cuts = ["10 7 0,4:-", "10 7 4,6:0,2", "10 7 4,6:2,5"]
parts = [whole[:4], whole[4:, :2], whole[4:, 2:]]
shards = [sys.argv[1] + "_temp/part-%d" % i for i in range(3)]
saves = [tf.raw_ops.SaveV2(prefix=shards[i], tensor_names=["w", "x%d" % i], shape_and_slices=[cuts[i], ""],
         tensors=[tf.constant(parts[i]), tf.constant(i)]) for i in range(3)]
with tf.control_dependencies(saves):
    merge = tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=shards, destination_prefix=sys.argv[1])
tf.Session().run(merge)
""",
        tmp_path / "theirs",
    )
    whole = np.arange(70, dtype=np.float64).reshape(10, 7)
    with tf.Graph().as_default(), tf.Session() as session:
        wanted = ["", "10 7 2,5:1,4", "10 7 4,6:0,2"]
        a, b, c = session.run(restore_v2_op.many(str(tmp_path / "theirs"), ["w"] * 3, wanted, dtypes=["float64"] * 3))
        names = ["x0", "x1", "x2"]
        x = session.run(restore_v2_op.many(str(tmp_path / "theirs"), names, [""] * 3, dtypes=["int32"] * 3))
    np.testing.assert_array_equal(a, whole)
    np.testing.assert_array_equal(b, whole[2:7, 1:5])
    np.testing.assert_array_equal(c, whole[4:, :2])
    assert x == [0, 1, 2]


# A training program for both sides: partitioned variables, optimizer slots, moving averages, strings, the step.
MODEL = """
def model(tf):
    rng = np.random.RandomState(3)
    x = tf.placeholder(tf.float32, [None, 5], name="x")
    with tf.variable_scope("net", use_resource=True):
        w = tf.get_variable("w", initializer=tf.constant(rng.normal(size=(5, 7)).astype(np.float32)))
        p = tf.get_variable("p", [7, 3], partitioner=tf.fixed_size_partitioner(3))
        tf.get_variable("words", initializer=tf.constant(["a", "bc", ""]), trainable=False)
        step = tf.train.get_or_create_global_step()
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.matmul(x, w), p) - 1), name="loss")
        train = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
        average = tf.train.ExponentialMovingAverage(0.9)
        with tf.control_dependencies([train]):
            tf.group(average.apply([w]), name="step")
    tf.add_to_collection("mine", loss)
    tf.variables_initializer(tf.global_variables(), name="init")
    return tf.train.Saver(sharded=SHARDED)

def train(session, steps=3):
    rng = np.random.RandomState(4)
    feeds = {"x:0": rng.normal(size=(6, 5)).astype(np.float32)}
    losses = []
    for _ in range(steps):
        losses.append(session.run("net/loss:0", feeds))
        session.run("net/step", feeds)
    return np.array(losses)
"""


def _model(sharded):
    defined: dict = {"np": np, "SHARDED": sharded}
    exec(MODEL, defined)
    return defined["model"], defined["train"]


@pytest.mark.parametrize("sharded", [False, True])
def test_tensorflow_goes_on_with_our_training(tmp_path, sharded):
    model, train = _model(sharded)
    with tf.Graph().as_default(), tf.Session() as session:
        saver = model(tf)
        session.run("init")
        train(session)
        prefix = saver.save(session, str(tmp_path / "model"), global_step=tf.train.get_global_step())
        losses = train(session)
    assert prefix.endswith("model-3")
    np.save(tmp_path / "losses.npy", losses)
    run_tensorflow(
        f"SHARDED = {sharded}\n"
        + MODEL
        + """
folder, losses = sys.argv[1], np.load(sys.argv[2])
prefix = tf.train.latest_checkpoint(folder)
saver = model(tf)
with tf.Session() as session:
    saver.restore(session, prefix)
    np.testing.assert_allclose(train(session), losses, rtol=1e-4)
tf.reset_default_graph()
saver = tf.train.import_meta_graph(prefix + ".meta")
assert len(tf.trainable_variables()) == 4, tf.trainable_variables()
assert [v.name for v in tf.get_collection("mine")] == ["net/loss:0"]
with tf.Session() as session:
    saver.restore(session, prefix)
    np.testing.assert_allclose(train(session), losses, rtol=1e-4)
    saver.save(session, folder + "/again", global_step=tf.train.get_global_step())
""",
        tmp_path,
        tmp_path / "losses.npy",
    )
    with tf.Graph().as_default(), tf.Session() as session:
        model(tf).restore(session, tf.train.latest_checkpoint(str(tmp_path)))
        assert session.run(tf.train.get_global_step()) == 6


@pytest.mark.parametrize("sharded", [False, True])
def test_we_go_on_with_tensorflows_training(tmp_path, sharded):
    run_tensorflow(
        f"SHARDED = {sharded}\n"
        + MODEL
        + """
saver = model(tf)
with tf.Session() as session:
    session.run("init")
    train(session)
    saver.save(session, sys.argv[1] + "/model", global_step=tf.train.get_global_step())
    np.save(sys.argv[1] + "/losses.npy", train(session))
""",
        tmp_path,
    )
    losses = np.load(tmp_path / "losses.npy")
    model, train = _model(sharded)
    prefix = tf.train.latest_checkpoint(str(tmp_path))
    with tf.Graph().as_default(), tf.Session() as session:
        model(tf).restore(session, prefix)
        np.testing.assert_allclose(train(session), losses, rtol=1e-4)
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(prefix + ".meta")
        saver.restore(session, prefix)
        np.testing.assert_allclose(train(session), losses, rtol=1e-4)
        assert [v.name for v in tf.get_collection("mine")] == ["net/loss:0"]
        assert len(tf.trainable_variables()) == 4
        assert session.run(tf.train.get_global_step()) == 6
        assert session.run("net/words/Read/ReadVariableOp:0").tolist() == [b"a", b"bc", b""]


@pytest.mark.parametrize("optimizer", ["GradientDescent", "Momentum", "Adam"])
def test_a_graph_of_reference_variables_runs_here(tmp_path, optimizer):
    """What TensorFlow 1 makes unless it is told otherwise: VariableV2, Assign and their kin."""
    run_tensorflow(
        f"""
MAKE = lambda: tf.train.{optimizer}Optimizer(*{(0.01, 0.9) if optimizer == "Momentum" else (0.01,)})
"""
        + MODEL.replace("use_resource=True", "use_resource=False")
        .replace("tf.train.AdamOptimizer(0.01)", "MAKE()")
        .replace("SHARDED", "False")
        + """
tf.disable_resource_variables()
saver = model(tf)
table = tf.get_variable("table", [4, 2], initializer=tf.ones_initializer(), use_resource=False)
count = tf.Variable(0, name="count", use_resource=False)
tf.group(tf.scatter_add(table, [1, 1], [[1., 2.], [3., 4.]]), tf.assign_add(count, 2), name="scatter")
tf.square(tf.assign(count, 10), name="chained")
tf.add(table, 1.0, name="direct")
assert table.op.type == "VariableV2"
init = tf.variables_initializer([table, count], name="init_more")
with tf.Session() as session:
    session.run(["init", "init_more"])
    train(session)
    saver.save(session, sys.argv[1] + "/model")
    np.save(sys.argv[1] + "/losses.npy", train(session))
""",
        tmp_path,
    )
    losses = np.load(tmp_path / "losses.npy")
    _, train = _model(False)
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(str(tmp_path / "model.meta"))
        session.run(["init", "init_more"])
        saver.restore(session, str(tmp_path / "model"))
        np.testing.assert_allclose(train(session), losses, rtol=1e-4)
        session.run("scatter")
        table, count = (next(v for v in tf.global_variables() if v.name == name) for name in ("table:0", "count:0"))
        assert session.run(table).tolist() == [[1, 1], [5, 7], [1, 1], [1, 1]]
        assert session.run("direct:0").tolist() == [[2, 2], [6, 8], [2, 2], [2, 2]]
        assert session.run(count) == 2 and session.run("chained:0") == 100


RUNNER = """
def build(tf):
    queue = tf.FIFOQueue(4, tf.int32, shapes=[()], name="queue")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(7)] * 2))
    tf.identity(queue.dequeue(), name="taken")

def take(tf, path):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(path)
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert len(threads) == 3 and session.run("taken:0") == 7
        coordinator.request_stop()
        coordinator.join(threads)
"""


def test_queue_runners_travel_both_ways(tmp_path):
    defined: dict = {}
    exec(RUNNER, defined)
    with tf.Graph().as_default():
        defined["build"](tf)
        tf.train.export_meta_graph(str(tmp_path / "ours"))
    code = "take(tf, sys.argv[1] + '/ours')\nbuild(tf)\ntf.train.export_meta_graph(sys.argv[1] + '/theirs')\n"
    run_tensorflow(RUNNER + code, tmp_path)
    defined["take"](tf, str(tmp_path / "theirs"))
