"""Programs for one process, run by sessions at a server, give the results of a plain session."""

import functools

import pytest

import thalweg as tf
from tests.cluster.distributed.equivalence.comparison import target_of
from tests.program_runner import PROGRAMS, run_program
from thalweg._src.base.config import ConfigProto
from thalweg._src.cluster.distributed import client
from thalweg._src.graph.graph import Graph
from thalweg._src.runtime.session import session

IMPORT = "import thalweg as tf"
RUNS = [name for name in PROGRAMS if name != "custom_gradients"]  # which registers gradients once per process


@pytest.fixture(autouse=True)
def graph():
    """Leaves the default graph alone: programs build in the process's own."""


@functools.cache
def _results_of_one_process(name):
    return run_program(name, IMPORT)


@pytest.fixture
def at_the_cluster(cluster, monkeypatch):
    """Connects sessions without a target to the cluster; each has its own variables, as in one process."""
    target = target_of(cluster)

    def connect(name, graph, config):
        isolated = ConfigProto()
        isolated.CopyFrom(config)
        isolated.isolate_session_state = True
        return client.connect(target, graph, isolated)

    monkeypatch.setattr(session, "_backend", connect)


@pytest.mark.parametrize("transport", ["client"], indirect=True)
@pytest.mark.parametrize("name", RUNS)
def test_a_program_at_one_task(at_the_cluster, name):
    _compare(run_program(name, IMPORT), name)


@pytest.mark.parametrize("transport", ["sockets"], indirect=True)
@pytest.mark.parametrize("name", RUNS)
def test_a_program_with_variables_at_parameter_servers(at_the_cluster, name, monkeypatch):
    make = Graph.__init__

    def make_with_devices(graph):
        make(graph)
        graph.scopes.devices.append(tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:0"))
        graph._combine_devices()

    monkeypatch.setattr(Graph, "__init__", make_with_devices)
    _compare(run_program(name, IMPORT), name)


def _compare(results, name):
    expected = _results_of_one_process(name)
    assert results.keys() == expected.keys()
    for key in expected.keys() - {"devices"}:
        _compare_values(results[key], expected[key], key)


def _compare_values(actual, expected, where):
    if isinstance(expected, list):
        assert len(actual) == len(expected), where
        for index, (mine, other) in enumerate(zip(actual, expected)):
            _compare_values(mine, other, f"{where}[{index}]")
    elif isinstance(expected, dict):
        assert actual["shape"] == expected["shape"] and actual["dtype"] == expected["dtype"], where
        assert actual["values"] == pytest.approx(expected["values"], rel=1e-3, abs=1e-4, nan_ok=True), where
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=1e-3, abs=1e-4, nan_ok=True), where
    else:
        assert actual == expected, where
