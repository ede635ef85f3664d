"""Fixtures: each test has its own default graph."""

import contextlib
import gc
import math
import os
import random
import threading

import numpy as np
import pytest
import torch

import thalweg as tf
from tests import children, pretended_compiler, pretended_gpu, state_machines
from tests.failure_reports import (  # noqa: F401  (a hook and a fixture)
    pytest_runtest_makereport,
    seed_of,
    state_machines_hold,
)
from tests.interleavings.explore import Settings
from tests.leftovers import leftovers
from thalweg._src.base import entropy
from thalweg._src.runtime import executable
from thalweg._src.runtime.eager.mode import eager_graph, eager_mode
from thalweg._src.runtime.resources import accelerators

# Kernels are compared with exact float32; by default a GPU's products round their factors to 10 bits.
accelerators.enable_tensor_float_32_execution(False)
# Every graph that a test runs is checked after every pass.
os.environ["THALWEG_LINT"] = "1"
# No background compilation in long tests.
executable.COMPILE_AFTER_SECONDS = math.inf


_KEPT_BYTES = 2 << 30


def pytest_addoption(parser):
    parser.addoption("--pretend-gpu", action="store_true", help="run on the GPU of tests/pretended_gpu.py")
    parser.addoption("--late", action="store_true", help="with --pretend-gpu: its kernels run behind the host")
    parser.addoption("--schedules", type=int, help="the number of schedules that each test of interleavings explores")
    parser.addoption("--first-seed", type=int, default=0, help="the seed of the first of them")
    parser.addoption("--schedule", help="the one schedule to run, as a report shows it")


def pytest_configure(config):
    state_machines.install()
    Settings.schedules, Settings.first_seed = config.getoption("--schedules"), config.getoption("--first-seed")
    Settings.schedule = config.getoption("--schedule")
    if config.getoption("--pretend-gpu"):
        pretended_gpu.install(late=config.getoption("--late"))


def pytest_collection_finish():
    """Leaves the collected tests, most of what a run keeps in memory, out of every later garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def nothing_is_left(tmp_path_factory):
    """Fails the run if its tests, or those of one of its workers, leave processes, threads or temporary files."""
    threads, folder = threading.enumerate(), tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr("tempfile.tempdir", None)
        patch.setenv("THALWEG_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
        gc.unfreeze()
        left = leftovers(threads, folder)
        children.end_templates()
        if left:
            pytest.fail("tests left behind:\n" + "\n".join(left), pytrace=False)


@pytest.fixture(autouse=True, scope="module")
def collections_are_short():
    """Leaves what the files of tests before this one keep in memory out of garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture(autouse=True)
def deterministic(request, monkeypatch):
    """Draws the same random numbers in every run of a test, whatever ran before it."""
    seed = seed_of(request.node.nodeid)
    random.seed(seed)
    np.random.seed(seed)
    monkeypatch.setattr(entropy, "source", random.Random(seed))
    eager_graph().seed = None  # generators start again


@pytest.fixture(autouse=True)
def cpu_only(request, monkeypatch):
    """Hides the GPUs of the machine from tests that are marked so."""
    if request.node.get_closest_marker("cpu_only"):
        monkeypatch.setattr(accelerators, "_accelerators", {})


@pytest.fixture(autouse=True)
def gpu_memory_is_shared():
    """Returns what torch's allocator keeps of a GPU's memory after a test, for the processes that test beside this."""
    yield
    if torch.cuda.is_initialized() and torch.cuda.memory_reserved() > _KEPT_BYTES:
        torch.cuda.empty_cache()


@pytest.fixture
def eager():
    with eager_mode():
        yield


@pytest.fixture
def fresh():
    """Executes eagerly, with names, collections and the global step that start anew."""
    graph = eager_graph()
    for key in graph.get_all_collection_keys():
        graph.clear_collection(key)
    graph._singletons.clear()
    with eager_mode():
        yield


@pytest.fixture
def as_library(pytestconfig):
    """Returns a function that makes of a traced graph what a compiler would make of it."""
    make = pretended_compiler.Library if pytestconfig.getoption("--pretend-gpu") else lambda function: function
    return lambda graph: make(lambda values: graph(*values))


@pytest.fixture
def start_child():
    """Starts child processes, which end with the test."""
    with contextlib.ExitStack() as ends:

        def start(command, **options):
            process = children.start(command, **options)
            ends.callback(children.end, process)
            return process

        yield start


@pytest.fixture
def register(monkeypatch):
    """Registers device types for one test."""
    monkeypatch.setattr(accelerators, "_accelerators", dict(accelerators._accelerators))
    return accelerators.register_accelerator
