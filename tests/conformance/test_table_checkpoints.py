"""Checkpoints of the first form travel: TensorFlow's Saver reads ours and we read its."""

import numpy as np
import pytest

import thalweg as tf
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow
from tests.conformance.test_checkpoints import SAMPLES, all_samples
from thalweg._src.base.formats.table_checkpoint import open_checkpoint
from thalweg._src.graph.ops.checkpoint import save_op

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]

# What TensorFlow can write in this form.
NAMES = [
    "bool",
    "complex128",
    "complex64",
    "float16",
    "float32",
    "float64",
    "int16",
    "int32",
    "int64",
    "int8",
    "string",
]
NAMES += ["uint8"]


def test_tensorflow_reads_every_type_of_ours(tmp_path):
    keys, types, arrays = zip(*all_samples(NAMES), strict=True)
    with tf.Graph().as_default(), tf.Session() as session:
        values = [tf.constant(a, tf.as_dtype(n), shape=a.shape) for n, a in zip(types, arrays, strict=True)]
        session.run(save_op.operation(str(tmp_path / "ours"), list(keys), values))
    run_tensorflow(
        SAMPLES
        + """
path, names = sys.argv[1], sys.argv[2].split()
session = tf.Session()
for key, name, array in all_samples(names):
    if array.size == 0:
        continue
    value = session.run(tf.raw_ops.Restore(file_pattern=path, tensor_name=key, dt=name))
    value = np.array(value, object) if name == "string" else np.asarray(value)
    assert value.shape == array.shape and value.tolist() == array.tolist(), key
assert len(tf.train.NewCheckpointReader(path).get_variable_to_shape_map()) == len(list(all_samples(names)))
""",
        tmp_path / "ours",
        " ".join(NAMES),
    )


def test_we_read_every_type_of_tensorflows(tmp_path):
    run_tensorflow(
        SAMPLES
        + """
path, names = sys.argv[1], sys.argv[2].split()
keys, types, arrays = zip(*all_samples(names))
values = [tf.constant(a, n, shape=a.shape) for n, a in zip(types, arrays)]
tf.Session().run(tf.raw_ops.Save(filename=path, tensor_names=list(keys), data=values))
""",
        tmp_path / "theirs",
        " ".join(NAMES),
    )
    with open_checkpoint(str(tmp_path / "theirs")) as reader:
        reader.verify()
        for key, name, array in all_samples(NAMES):
            value = reader.read(key)
            assert (value.shape, reader.entry(key).dtype.name) == (array.shape, name)
            assert value.tolist() == array.tolist(), key


WORDS = """
with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(3)):
    tf.get_variable("w", initializer=tf.constant(np.arange(14, dtype=np.float32).reshape(7, 2) * scale))
v = tf.get_variable("v", initializer=tf.constant(3, tf.int64) * scale)
saver = tf.train.Saver(write_version=tf.train.SaverDef.V1, sharded=True)
"""
SAVE = """
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print(saver.save(session, prefix, write_meta_graph=False))
"""
RESTORE = """
assert tf.train.checkpoint_exists(path)
with tf.Session() as session:
    saver.restore(session, path)
    assert session.run(v) == 3
    w = np.concatenate(session.run([p for p in tf.global_variables() if "/w/" in p.name]))
    assert w.ravel().tolist() == list(range(14))
"""


def test_savers_read_each_others_shards(tmp_path, capsys):
    theirs = run_tensorflow(f"prefix, scale = {str(tmp_path / 'theirs')!r}, 1\n" + WORDS + SAVE).strip()
    with tf.Graph().as_default():
        exec(WORDS + RESTORE, {"tf": tf, "np": np, "path": theirs, "scale": 100})
    with tf.Graph().as_default():
        exec(WORDS + SAVE, {"tf": tf, "np": np, "prefix": str(tmp_path / "ours"), "scale": 1})
    ours = capsys.readouterr().out.strip()
    run_tensorflow(f"path, scale = {ours!r}, 100\n" + WORDS + RESTORE)
