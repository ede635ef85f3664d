"""Programs with Keras and Estimators, in the style of TensorFlow 1.13 to 1.15, run here after changing only the import.

Each checks itself that it learned, and that what it saved and loaded predicts the same.
"""

import contextlib
import json
import sys

import numpy as np
import pytest

import thalweg as tf
from tests import children
from tests.cluster.distributed.clusters import addresses
from tests.program_runner import FOLDER, run_program
from tests.test_programs import IMPORT, _numbers
from thalweg._src.runtime.eager.mode import eager_mode

NAMES = sorted(f"{path.parent.name}/{path.stem}" for path in FOLDER.glob("*/*.py"))
NOT_EAGERLY = {"keras/saliency"}  # K.gradients is of graphs alone
ONLY_EAGERLY = {"keras/custom_loop"}  # it iterates over a dataset
# Estimators build graphs of their own, so that one program shows that they do so in eager execution too.
EAGERLY = [name for name in NAMES if name.startswith("keras/")] + ["estimators/tpu_estimator"]


@pytest.fixture(autouse=True)
def graph():
    """Leaves the default graph alone: programs build in the process's own."""


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Runs programs in a folder of their own, without a cluster; and keeps nothing of Keras or of event files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TF_CONFIG", raising=False)
    level = tf.logging.get_verbosity()
    tf.keras.backend.clear_session()
    yield
    tf.logging.set_verbosity(level)
    tf.summary.FileWriterCache.clear()
    tf.keras.backend.clear_session()


def check(name):
    if name == "estimators/linear_regressor":
        pytest.importorskip("pandas")
    results = run_program(name, IMPORT)
    assert results
    for key, value in results.items():
        assert all(np.isfinite(number) for number in _numbers(value)), key


def test_there_are_programs():
    assert len(NAMES) >= 20


@pytest.mark.parametrize("name", sorted(set(NAMES) - ONLY_EAGERLY))
def test_program(name):
    check(name)


@pytest.mark.parametrize("name", sorted(set(EAGERLY) - NOT_EAGERLY))
def test_program_in_eager_execution(name):
    with eager_mode():
        check(name)


def test_a_program_at_the_tasks_of_a_cluster(tmp_path):
    program = f"from tests.program_runner import run_program; run_program('estimators/cluster', {IMPORT!r})"
    cluster = addresses(chief=1, worker=1, ps=1)
    with contextlib.ExitStack() as ends:
        started = {}
        for job in ("ps", "chief", "worker", "evaluator"):
            config = json.dumps({"cluster": cluster, "task": {"type": job, "index": 0}})
            environment = children.environment(TF_CONFIG=config, OMP_NUM_THREADS="1")
            started[job] = children.start([sys.executable, "-c", program], forked=True, cwd=tmp_path, env=environment)
            ends.callback(children.end, started[job])
        codes = {job: process.wait(100) for job, process in started.items() if job != "ps"}
    assert codes == {"chief": 0, "worker": 0, "evaluator": 0}
    weights = tf.train.load_variable(str(tmp_path / "clustered"), "line/kernel")
    np.testing.assert_allclose(weights, [[1.0], [-2.0], [0.5]], atol=0.05)
    exported = max((tmp_path / "clustered" / "export" / "latest").iterdir())
    predict = tf.contrib.predictor.from_saved_model(str(exported))
    np.testing.assert_allclose(predict({"x": [[1.0, 1.0, 1.0]]})["y"], [[2.5]], atol=0.5)
    predict.session.close()
