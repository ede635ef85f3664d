"""tf.test: the assertions of TestCase, its sessions, and what else tests use."""

import os
import sys
import threading
import unittest

import numpy as np
import pytest
import torch

import thalweg as tf
from tests import children


def case(method=None):
    """Returns a TestCase that is set up."""

    class Case(tf.test.TestCase):
        def runTest(self):
            if method is not None:
                method(self)

    return Case()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_TMPDIR", str(tmp_path))


@pytest.fixture
def t():
    test = case()
    test.setUp()
    yield test
    test.tearDown()
    test.doCleanups()


def outcome(method):
    result = unittest.TestResult()
    case(method).run(result)
    return result


def test_sessions(t):
    v = tf.get_variable("v", initializer=3.0)
    with t.cached_session() as session:
        session.run(v.initializer)
    with t.test_session() as again:
        assert again is session and t.evaluate(v) == 3.0
    with t.session() as other:
        assert other is not session
        with pytest.raises(tf.errors.FailedPreconditionError):
            other.run(v)
    with t.session(graph=tf.Graph()) as session:
        assert session.graph is tf.get_default_graph()
    with pytest.raises(ValueError, match="graph"), t.cached_session(graph=tf.Graph()):
        pass


def test_a_test_that_starts_anew_forgets_the_graphs_around_it():
    def again(self):
        with tf.Graph().as_default():
            self.setUp()
            with self.test_session():
                assert self.evaluate(tf.constant(2.0)) == 2.0

    assert outcome(again).wasSuccessful()


def test_each_test_starts_with_an_empty_graph_and_fixed_seeds():
    values = []

    def draw(self):
        assert not tf.get_default_graph().get_operations()
        values.append((self.evaluate(tf.random_normal([2])).tolist(), np.random.rand()))

    for _ in range(2):
        assert outcome(draw).wasSuccessful()
    assert values[0] == values[1]


PASSES = [
    lambda t: t.assertAllClose(1.0, 1.0 + 1e-7),
    lambda t: t.assertAllClose({"a": [1.0, 2.0]}, {"a": np.array([1.0, 2.0])}),
    lambda t: t.assertAllClose([[1.0], [2.0, 3.0]], [[1.0], [2.0, 3.0]]),
    lambda t: t.assertAllClose(tf.constant([1.0]), [1.0]),
    lambda t: t.assertAllClose([1.0], [1.1], atol=0.2),
    lambda t: t.assertAllCloseAccordingToType(np.float16([1.0]), np.float16([1.001])),
    lambda t: t.assertNotAllClose([1.0], [2.0]),
    lambda t: t.assertAllEqual([1, 2], tf.constant([1, 2])),
    lambda t: t.assertAllEqual([np.nan], [np.nan]),
    lambda t: t.assertAllEqual(["a"], [b"a"]),
    lambda t: t.assertNotAllEqual([1], [2]),
    lambda t: t.assertAllGreater([2, 3], 1),
    lambda t: t.assertAllLess([2, 3], 4),
    lambda t: t.assertAllGreaterEqual([1, 3], 1),
    lambda t: t.assertAllLessEqual([2, 3], 3),
    lambda t: t.assertAllInRange([1, 3], 1, 3),
    lambda t: t.assertAllInSet([1, 3], {1, 2, 3}),
    lambda t: t.assertDTypeEqual(np.float32(1), tf.float32),
    lambda t: t.assertNear(1.0, 1.05, 0.1),
    lambda t: t.assertArrayNear([1.0, 2.0], [1.05, 2.0], 0.1),
    lambda t: t.assertNDArrayNear(np.ones(2), np.ones(2) + 0.01, 0.1),
    lambda t: t.assertShapeEqual(np.ones((2, 3)), tf.zeros([2, 3])),
    lambda t: t.assertDeviceEqual("/cpu:0", "/device:CPU:0"),
    lambda t: t.assertProtoEquals("node { name: 'a' }", tf.GraphDef(node=[tf.NodeDef(name="a")])),
    lambda t: t.assertStartsWith("abc", "ab"),
    lambda t: t.assertItemsEqual([1, 2], [2, 1]),
]
FAILS = [
    lambda t: t.assertAllClose(1.0, 1.1),
    lambda t: t.assertAllClose([1.0], [1.0, 2.0]),
    lambda t: t.assertAllClose({"a": 1}, {"b": 1}),
    lambda t: t.assertAllClose({"a": 1}, [1]),
    lambda t: t.assertNotAllClose([1.0], [1.0]),
    lambda t: t.assertAllEqual([1, 2], [1, 3]),
    lambda t: t.assertAllEqual([1], [[1]]),
    lambda t: t.assertNotAllEqual([1], [1]),
    lambda t: t.assertAllGreater([1, 3], 1),
    lambda t: t.assertAllInRange([1, 3], 1, 3, open_upper_bound=True),
    lambda t: t.assertAllInSet([4], {1}),
    lambda t: t.assertDTypeEqual(np.float64(1), tf.float32),
    lambda t: t.assertNear(1.0, 1.2, 0.1),
    lambda t: t.assertArrayNear([1.0], [1.0, 2.0], 0.1),
    lambda t: t.assertNDArrayNear(np.ones(2), np.ones(2) + 1, 0.1),
    lambda t: t.assertShapeEqual(np.ones((2, 3)), tf.zeros([3, 2])),
    lambda t: t.assertDeviceEqual("/cpu:0", "/cpu:1"),
    lambda t: t.assertProtoEquals("node { name: 'b' }", tf.GraphDef(node=[tf.NodeDef(name="a")])),
]


@pytest.mark.parametrize("check", PASSES, ids=range(len(PASSES)))
def test_assertions_that_hold(t, check):
    check(t)


@pytest.mark.parametrize("check", FAILS, ids=range(len(FAILS)))
def test_assertions_that_fail(t, check):
    with pytest.raises(AssertionError):
        check(t)


def test_expected_errors(t):
    fails = tf.check_numerics(tf.constant(np.nan), "bad value")
    with t.assertRaisesOpError("bad value"):
        t.evaluate(fails)
    with t.assertRaisesWithPredicateMatch(tf.errors.InvalidArgumentError, lambda e: "bad" in str(e)):
        t.evaluate(fails)
    with pytest.raises(AssertionError), t.assertRaisesOpError("another text"):
        t.evaluate(fails)
    with pytest.raises(AssertionError), t.assertRaisesOpError("none"):
        pass


def test_threads_are_checked():
    def good(self):
        done = threading.Event()
        thread = self.checkedThread(target=done.set)
        thread.start()
        thread.join()
        assert done.is_set()

    def raising(self):
        thread = self.checkedThread(target=lambda: 1 // 0)
        thread.start()
        thread.join()

    def forgotten(self):
        self.checkedThread(target=lambda: None).start()

    assert outcome(good).wasSuccessful()
    assert "ZeroDivisionError" in outcome(raising).failures[0][1]
    assert "never joined" in outcome(forgotten).failures[0][1]


def test_folder_of_the_process_is_new_and_removed_at_exit():
    program = "import os, thalweg as tf; path = tf.test.get_temp_dir(); os.mkdir(path + '/made'); print(path)"
    folders = [children.run([sys.executable, "-c", program], forked=True).stdout.strip() for _ in range(2)]
    assert folders[0] != folders[1] and not any(map(os.path.exists, folders))


def test_folders_and_streams(t):
    assert os.path.isdir(t.get_temp_dir()) and t.get_temp_dir() == t.get_temp_dir()
    assert t.get_temp_dir().startswith(tf.test.get_temp_dir())
    with open(os.path.join(t.get_temp_dir(), "stream"), "w") as stream, t.captureWritesToStream(stream) as captured:
        print("text", file=stream)
        assert captured.contents() == "text\n"


def test_main_runs_the_tests_of_a_program():
    program = (
        "import thalweg as tf\nclass T(tf.test.TestCase):\n  def test_a(self):\n    self.assertAllEqual({}, [1])\n"
    )
    for value, status in (("[1]", 0), ("[2]", 1)):
        text = program.format(value) + "tf.test.main()"
        done = children.run([sys.executable, "-c", text], check=False, forked=True)
        assert done.returncode == status
        assert "Ran 2 tests" in done.stderr and "skipped=1" in done.stderr  # test_session is no test


def test_machine():
    assert tf.test.is_gpu_available() == bool(tf.test.gpu_device_name())
    assert tf.test.is_built_with_cuda() == (torch.version.cuda is not None)
    assert not tf.test.is_gpu_available(min_cuda_compute_capability=(99, 0))
    assert os.path.isabs(tf.test.test_src_dir_path("x"))
    assert tf.test.mock is unittest.mock


def test_graph_defs_are_compared_node_by_node():
    with tf.Graph().as_default() as graph:
        tf.constant(1, name="a")
        before = graph.as_graph_def()
        tf.constant(2, name="b")
    tf.test.assert_equal_graph_def(before, before)
    with pytest.raises(AssertionError, match="unexpected nodes: b"):
        tf.test.assert_equal_graph_def(graph.as_graph_def(), before)
    with pytest.raises(AssertionError, match="missing nodes: b"):
        tf.test.assert_equal_graph_def(before, graph.as_graph_def())
    changed = graph.as_graph_def()
    changed.node[1].device = "/cpu:0"
    with pytest.raises(AssertionError, match="different nodes: b"):
        tf.test.assert_equal_graph_def(graph.as_graph_def(), changed)
    with pytest.raises(TypeError):
        tf.test.assert_equal_graph_def(graph, before)


def test_stubs_are_restored():
    class Base:
        value = 1

    class Derived(Base):
        pass

    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(Base, "value", 2)
        stubs.SmartSet(Derived, "value", 3)
        assert Base.value == 3
        with pytest.raises(AttributeError):
            stubs.SmartSet(Derived, "none", 3)
    assert Base.value == 1 and "value" not in vars(Derived)


def test_benchmarks_run_an_operation():
    with tf.Graph().as_default(), tf.Session(config=tf.test.benchmark_config()) as session:
        x = tf.placeholder(tf.float32, [])
        result = tf.test.Benchmark().run_op_benchmark(
            session, x + 1, {x: 1.0}, min_iters=3, name="add", extras={"n": 1}
        )
    assert result["iters"] == 3 and result["wall_time"] > 0 and result["extras"]["n"] == 1
