"""Random nested conditionals and loops give in TensorFlow and here the same values and gradients, and graphs travel."""

import json

import numpy as np
import pytest
from tensorboard.compat.proto.graph_pb2 import GraphDef

import thalweg as tf
from tests.conformance.recorded import recording
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow
from tests.graph.control_flow import programs

pytestmark = pytest.mark.timeout(400)

FEEDS = [(p, n) for p in (True, False) for n in (0, 1, 2)]
TRAVEL = range(0, programs.COUNT, 4)  # programs whose graphs the other side runs as well
THERE = recording("control_flow", [*map(str, range(programs.COUNT)), *(f"graph {seed}" for seed in TRAVEL)])

# Both sides build and run programs by the same words; ours is this module's `tf`, theirs tf.compat.v1.
RUN = """
def build(tf, source):
    names = {}
    exec(source, names)
    x = tf.placeholder(tf.float64, [3], name="x")
    p, n = tf.placeholder(tf.bool, [], name="p"), tf.placeholder(tf.int32, [], name="n")
    y = names["build"](tf, x, p, n)
    g = tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)[0]
    tf.identity(y, name="y")
    tf.identity(g, name="g")

def run(tf, feeds, config=None):
    x = np.array([0.3, -0.5, 0.7])
    with tf.Session(config=config) as session:
        return [session.run(["y:0", "g:0"], {"x:0": x, "p:0": p, "n:0": n}) for p, n in feeds]
"""
_THERE = (
    RUN
    + """
import json, os, runpy
tf.disable_control_flow_v2()
path, folder, feeds, travel = sys.argv[1:]
programs, feeds, travel = runpy.run_path(path), json.loads(feeds), json.loads(travel)
config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
config.graph_options.rewrite_options.disable_meta_optimizer = True
built, imported = [], []
for seed in range(programs["COUNT"]):
    with tf.Graph().as_default() as graph:
        build(tf, programs["source"](seed))
        built.append(run(tf, feeds, config))
        if seed in travel:
            with open(os.path.join(folder, f"theirs{seed}.pb"), "wb") as file:
                file.write(graph.as_graph_def().SerializeToString(deterministic=True))
for seed in travel:
    if not os.path.exists(os.path.join(folder, f"ours{seed}.pb")):
        imported.append(np.zeros_like(built[0]))
        continue
    with tf.Graph().as_default(), open(os.path.join(folder, f"ours{seed}.pb"), "rb") as file:
        tf.import_graph_def(tf.GraphDef.FromString(file.read()), name="")
        imported.append(run(tf, feeds, config))
np.save(os.path.join(folder, "built"), np.array(built))
np.save(os.path.join(folder, "imported"), np.array(imported))
"""
)
_here = {"np": np}
exec(RUN, _here)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What TensorFlow finds, by program, feed, value or gradient, for its own graphs and for ours; and its graphs."""
    folder = tmp_path_factory.mktemp("control_flow")
    for seed in TRAVEL:
        with tf.Graph().as_default() as graph:
            _here["build"](tf, programs.source(seed))
            if not _keeps_handles(graph):
                (folder / f"ours{seed}.pb").write_bytes(graph.as_graph_def().SerializeToString())
    run_tensorflow(_THERE, programs.__file__, folder, json.dumps(FEEDS), json.dumps(list(TRAVEL)), seconds=300)
    return folder


@pytest.fixture(scope="module")
def built(request):
    """Returns a function that gives the values and gradients that TensorFlow finds for a program, by feed."""

    def ask(seed):
        return np.load(request.getfixturevalue("folder") / "built.npy")[seed].tolist()

    return lambda seed: THERE.answer(str(seed), [programs.source(seed), RUN, FEEDS], lambda: ask(seed))


def _keeps_handles(graph):
    """Returns whether a loop saves handles of arrays made in it for its gradient, in lists as TensorFlow has none."""
    saving = [op for op in graph.get_operations() if op.type == "TensorListPopBack"]
    return any(op.outputs[1].dtype is tf.resource for op in saving)


def _assert_same(ours, theirs, seed):
    np.testing.assert_allclose(np.array(ours), theirs, rtol=1e-9, atol=1e-12, err_msg=programs.source(seed))


@pytest.mark.parametrize("seed", range(programs.COUNT))
def test_same_values_and_gradients(built, seed):
    _here["build"](tf, programs.source(seed))
    _assert_same(_here["run"](tf, FEEDS), built(seed), seed)


@needs_tensorflow
@pytest.mark.parametrize("seed", TRAVEL)
def test_tensorflow_runs_our_graphs(folder, built, seed):
    if not (folder / f"ours{seed}.pb").exists():
        pytest.skip("TensorFlow has no lists of handles")
    imported = np.load(folder / "imported.npy")
    _assert_same(imported[TRAVEL.index(seed)], built(seed), seed)


@pytest.mark.parametrize("seed", TRAVEL)
def test_we_run_graphs_of_tensorflow(request, built, seed):
    def ask():
        return (request.getfixturevalue("folder") / f"theirs{seed}.pb").read_bytes().decode("latin-1")

    graph = THERE.answer(f"graph {seed}", [programs.source(seed), RUN], ask)
    tf.import_graph_def(GraphDef.FromString(graph.encode("latin-1")), name="")
    _assert_same(_here["run"](tf, FEEDS), built(seed), seed)


@pytest.mark.parametrize("seed", TRAVEL)
def test_we_run_our_graphs_again(built, seed):
    with tf.Graph().as_default() as graph:
        _here["build"](tf, programs.source(seed))
    tf.import_graph_def(graph.as_graph_def(), name="")
    _assert_same(_here["run"](tf, FEEDS), built(seed), seed)


def test_there_are_enough_programs():
    assert programs.COUNT >= 150
