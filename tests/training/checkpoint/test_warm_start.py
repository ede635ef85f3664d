"""Warm starts: by pattern, by name, by vocabularies, and from checkpoints of objects."""

import numpy as np
import pytest

import thalweg as tf


@pytest.fixture
def files(tmp_path):
    (tmp_path / "old").write_text("red\ngreen\nblue\n")
    (tmp_path / "new").write_text("blue\nblack\nred\n")
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.get_variable("rows", initializer=tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2)))
        session.run(rows.initializer)
        tf.train.Saver().save(session, str(tmp_path / "model"))
        tf.train.Checkpoint(anything=rows).write(tmp_path / "objects", session)
    return tmp_path


def _started(*args, shape=(3, 2), **kwargs):
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.get_variable("rows", shape, initializer=tf.constant_initializer(-1.0))
        tf.train.warm_start(*args, **kwargs)
        session.run(tf.global_variables_initializer())
        return session.run(rows).tolist()


def test_warm_start_from_an_earlier_model(files):
    assert _started(files) == [[0, 1], [2, 3], [4, 5]]
    assert _started(files / "objects") == [[0, 1], [2, 3], [4, 5]]
    assert _started(files, "nothing") == [[-1, -1]] * 3
    info = tf.train.VocabInfo(str(files / "new"), 3, 1, str(files / "old"), backup_initializer=tf.ones_initializer())
    assert _started(files, ".*", {"rows": info}, shape=(4, 2)) == [[4, 5], [1, 1], [0, 1], [1, 1]]


def test_mismatches_are_rejected(files):
    info = tf.train.VocabInfo(str(files / "new"), 9, 0, str(files / "old"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="3 entries"):
        _started(files, ".*", {"rows": info}, shape=(9, 2))
    info = tf.train.VocabInfo(str(files / "nowhere"), 3, 0, str(files / "old"))
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        _started(files, ".*", {"rows": info})
    info = tf.train.VocabInfo(str(files / "new"), 3, 0, str(files / "old"))
    with pytest.raises(ValueError, match="only matrices"):
        _started(files, ".*", {"rows": info}, shape=(6,))
    with pytest.raises(tf.errors.InvalidArgumentError, match="2 columns"):
        _started(files, ".*", {"rows": info}, shape=(3, 4))
