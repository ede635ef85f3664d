"""Version 1 checkpoints, single files: writing, reading, retention, and damage."""

import os
import random

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.base import dtypes
from thalweg._src.base.formats.table_checkpoint import open_checkpoint, write_table_checkpoint
from thalweg._src.graph.ops.checkpoint import restore_op, restore_slice_op, save_op, save_slices_op

V1 = tf.train.SaverDef.V1


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _initialized():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


@pytest.mark.parametrize("sharded", [False, True])
def test_saver_round_trip(tmp_path, sharded):
    prefix = str(tmp_path / "model")
    a, b = tf.Variable([1.0, 2.0], name="a"), tf.Variable([b"x", b""], name="b")
    saver = tf.train.Saver(write_version=V1, sharded=sharded, max_to_keep=2)
    assert saver.saver_def.version == V1
    with _initialized() as session:
        paths = [saver.save(session, prefix, global_step=step) for step in range(3)]
    assert paths[0] == (f"{prefix}-0-?????-of-00001" if sharded else f"{prefix}-0")
    assert [tf.train.checkpoint_exists(path) for path in paths] == [False, True, True]
    assert sorted(os.listdir(tmp_path)) == sorted(
        ["checkpoint", *(f"model-{n}{s}" for n in (1, 2) for s in ("-00000-of-00001" if sharded else "", ".meta"))]
    )
    assert tf.train.latest_checkpoint(tmp_path) == paths[2]
    assert len(tf.train.get_checkpoint_mtimes(paths)) == 2
    assert tf.train.list_variables(paths[2]) == [("a", [2]), ("b", [2])]
    with tf.Session() as session:
        tf.train.Saver().restore(session, paths[2])
        assert session.run(a).tolist() == [1, 2] and session.run(b).tolist() == [b"x", b""]


def test_slices_and_partitioned_variables(tmp_path):
    prefix = str(tmp_path / "model")
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(3)):
        tf.get_variable("w", initializer=tf.constant(np.arange(14.0, dtype=np.float32).reshape(7, 2)))
    with _initialized() as session:
        tf.train.Saver(write_version=V1).save(session, prefix)
    assert tf.train.load_variable(prefix, "s/w").ravel().tolist() == list(range(14))
    with tf.Session() as session:
        parts = [restore_slice_op(prefix, "s/w", spec, dt=tf.float32) for spec in ("7 2 2,3:-", "7 2 -:1,1")]
        assert parts[0].shape.as_list() == [3, 2]
        first, second = session.run(parts)
    assert first.ravel().tolist() == list(range(4, 10)) and second.ravel().tolist() == list(range(1, 14, 2))


def test_save_and_restore_ops(tmp_path):
    path = str(tmp_path / "deep" / "file")
    x = tf.constant([[1, 2, 3]], tf.int64)
    with tf.Session() as session:
        session.run(save_op.operation(path, ["x", "y"], [x, tf.constant("text")]))
        assert session.run(restore_op(path, "x", dt=tf.int64)).tolist() == [[1, 2, 3]]
        assert session.run(restore_op(path, "y", dt=tf.string)) == b"text"
        session.run(save_slices_op.operation(path, ["x"], ["2 3 1,1:-"], [x]))
        with pytest.raises(tf.errors.DataLossError, match="do not cover"):
            session.run(restore_op(path, "x", dt=tf.int64))
        with pytest.raises(tf.errors.NotFoundError, match="Key z not found"):
            session.run(restore_op(path, "z", dt=tf.int64))
        with pytest.raises(tf.errors.InvalidArgumentError, match="int64 in the checkpoint"):
            session.run(restore_op(path, "x", dt=tf.float32))
        with pytest.raises(tf.errors.InvalidArgumentError, match="twice"):
            session.run(save_op.operation(path, ["x", "x"], [x, x]))
        with pytest.raises(ValueError, match="differ in number"):
            save_op.operation(path, ["x"], [x, x])


def test_a_folder_is_not_a_checkpoint(tmp_path):
    tf.Variable(1.0)
    assert not tf.train.checkpoint_exists(tmp_path)
    with tf.Session() as session, pytest.raises(ValueError, match="not a valid checkpoint"):
        tf.train.Saver().restore(session, tmp_path)


def test_damage_is_detected(tmp_path):
    """Whatever bytes change, the values are right or the error is typed and names the file."""
    path = str(tmp_path / "file")
    values = np.arange(40, dtype=np.float32)
    write_table_checkpoint(path, [("a", dtypes.float32, (40,), None, values), ("s", dtypes.string, (1,), None, [b"q"])])
    with open(path, "rb") as file:
        content = file.read()
    rng = random.Random(5)
    changed = [content[: rng.randrange(len(content))] for _ in range(100)]
    for _ in range(400):
        position = rng.randrange(len(content))
        changed.append(
            content[:position] + bytes([content[position] ^ 1 << rng.randrange(8)]) + content[position + 1 :]
        )
    refused = 0
    for data in changed:
        with open(path, "wb") as file:
            file.write(data)
        try:
            with open_checkpoint(path) as reader:
                reader.verify()
                assert reader.read("a").tolist() == values.tolist() and reader.read("s").tolist() == [b"q"]
        except tf.errors.OpError as error:
            assert path in str(error)
            refused += 1
    assert refused > 400  # the others changed bytes that fill up the footer
