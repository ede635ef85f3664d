"""Random nested conditionals and loops give in TensorFlow and here the same values and gradients."""

import numpy as np
import pytest

import thalweg as tf
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow
from tests.control_flow import programs

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]

FEEDS = [(p, n) for p in (True, False) for n in (0, 1, 2)]

# Both sides build and run a program by the same words.
RUN = """
X = np.array([0.3, -0.5, 0.7])

def run(tf, source, feeds):
    names = {}
    exec(source, names)
    with tf.Graph().as_default():
        x, p, n = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [])
        y = names["build"](tf, x, p, n)
        g = tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)[0]
        with tf.Session(config=config(tf)) as session:
            return [session.run([y, g], {x: X, p: p_value, n: n_value}) for p_value, n_value in feeds]
"""
_THERE = (
    RUN
    + """
import json, runpy
tf.disable_control_flow_v2()

def config(tf):
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config

path, out, feeds = sys.argv[1:]
programs = runpy.run_path(path)
found = [run(tf, programs["source"](seed), json.loads(feeds)) for seed in range(programs["COUNT"])]
np.save(out, np.array(found))
"""
)
_here = {"np": np, "config": lambda tf: None}
exec(RUN, _here)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """What TensorFlow finds: by program, feed, value or gradient."""
    out = tmp_path_factory.mktemp("control_flow") / "found.npy"
    run_tensorflow(_THERE, programs.__file__, out, str(FEEDS).lower().replace("(", "[").replace(")", "]"))
    return np.load(out)


@pytest.mark.parametrize("seed", range(programs.COUNT))
def test_same_values_and_gradients(theirs, seed):
    ours = _here["run"](tf, programs.source(seed), FEEDS)
    np.testing.assert_allclose(np.array(ours), theirs[seed], rtol=1e-9, atol=1e-12, err_msg=programs.source(seed))


def test_there_are_enough_programs():
    assert programs.COUNT >= 150
