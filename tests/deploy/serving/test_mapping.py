"""Weights of served models are views of their files, and still variables: what was read never changes."""

import sys

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.deploy.saved_model.files import variables_prefix
from thalweg._src.deploy.serving.servable import Servable
from thalweg._src.runtime.resources.mapped_checkpoints import mapped_checkpoint

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files are mapped on Linux alone")
ON_HOST = pytest.mark.cpu_only(reason="variables of accelerators are in memory of their own")
SHAPE = (200, 100)


@pytest.fixture(params=[False, True], ids=["reference", "resource"])
def saved(tmp_path, request):
    """The folder of a model with a variable, an operation that changes it, and one that reads it."""
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.get_variable("table", SHAPE, tf.float32, tf.ones_initializer(), use_resource=request.param)
        session.run(tf.global_variables_initializer())
        x = tf.placeholder(tf.float32, [None, SHAPE[0]])
        tf.assign_add(table, tf.ones(SHAPE), name="add")
        tf.assign(table, tf.zeros(SHAPE), name="clear")
        tf.identity(table, name="value")
        tf.saved_model.simple_save(session, tmp_path / "1", {"x": x}, {"y": tf.matmul(x, table)})
    return tmp_path / "1"


def _mapped(path):
    with open("/proc/self/maps") as file:
        return str(path) in file.read()


@ON_HOST
def test_variables_change_apart_from_their_file(saved):
    content = next(saved.glob("variables/*.data-*")).read_bytes()
    prefix = variables_prefix(str(saved))
    with tf.Graph().as_default(), tf.Session() as session:
        with mapped_checkpoint(prefix):
            tf.saved_model.load(session, ["serve"], str(saved))
        assert _mapped(prefix)
        first = session.run("value:0")
        session.run("add")
        second = session.run("value:0")
        session.run("add")
        third = session.run("value:0")
        session.run("clear")
        for found, expected in ((first, 1), (second, 2), (third, 3), (session.run("value:0"), 0)):
            np.testing.assert_array_equal(found, np.full(SHAPE, expected, np.float32))
    assert next(saved.glob("variables/*.data-*")).read_bytes() == content


@ON_HOST
def test_a_fetched_value_stays_after_the_model_is_freed(saved):
    servable = Servable(str(saved))
    assert _mapped(variables_prefix(str(saved)))
    found = servable._session.run("value:0")
    found += 1  # it is the caller's
    np.testing.assert_array_equal(servable._session.run("value:0"), np.ones(SHAPE, np.float32))
    servable.close()
    np.testing.assert_array_equal(found, np.full(SHAPE, 2, np.float32))


def test_other_sessions_read_the_file(saved):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], str(saved))
        assert not _mapped(variables_prefix(str(saved)))
