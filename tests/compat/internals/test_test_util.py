"""tensorflow.python.framework.test_util."""

import unittest

import numpy as np
import pytest
from thalweg.python.framework import test_util

import thalweg as tf


class Case(test_util.TensorFlowTestCase):
    modes = []

    def setUp(self):
        super().setUp()
        self.set_up = tf.executing_eagerly()

    @test_util.run_in_graph_and_eager_modes
    def test_both(self):
        self.assertAllClose(self.evaluate(tf.constant([1.0])), [1.0])

    @test_util.run_in_graph_and_eager_modes(use_gpu=False)
    def test_both_with_arguments(self):
        self.assertEqual(self.set_up, tf.executing_eagerly())
        self.modes.append(tf.executing_eagerly())
        sparse = tf.SparseTensor([[0, 1]], [2.0], [1, 2])
        slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
        variable = tf.get_variable("v", initializer=3.0, use_resource=True)
        with self.cached_session() as session:
            session.run([] if tf.executing_eagerly() else variable.initializer)
            self.assertEqual(session.run({"v": variable + 1.0}), {"v": 4.0})
            self.assertEqual(self.evaluate(sparse).values.tolist(), [2.0])
            self.assertEqual(self.evaluate(slices).indices.tolist(), [0])
        self.assertAllEqual(tf.constant([1, 2]), [1, 2])

    @test_util.run_deprecated_v1
    def test_graph(self):
        with self.test_session():
            self.assertEqual(tf.constant(2).eval(), 2)

    @test_util.run_v1_only("reasons")
    def test_v1(self):
        with test_util.use_gpu(), test_util.force_cpu():
            self.assertEqual(tf.constant(2).device, "/device:CPU:0")

    @test_util.run_v2_only
    def test_v2(self):
        raise AssertionError

    @test_util.skip_if(lambda: True)
    def test_skipped(self):
        raise AssertionError


def test_decorators_choose_what_runs():
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    assert not result.failures and not result.errors
    # A TestCase has a method test_session, which is skipped as a test.
    skipped = {test._testMethodName for test, _ in result.skipped} - {"test_session"}
    assert skipped == {"test_v2", "test_skipped"}
    assert Case.modes[-2:] == [False, True]


def test_a_case_in_both_modes():
    modes = []

    @test_util.run_all_in_graph_and_eager_modes
    class Both(test_util.TensorFlowTestCase):
        def test_mode(self):
            modes.append(tf.executing_eagerly())
            self.assertAllClose(tf.random_uniform([2], seed=1) * 0.0, [0.0, 0.0])

        def test_skipped_in_graphs(self):
            if not tf.executing_eagerly():
                self.skipTest("graphs")
            modes.append("skipped")

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Both).run(result)
    assert not result.failures and not result.errors
    assert modes == [False, True, "skipped"]


def test_operations_are_found():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="x")
    assert test_util.assert_ops_in_graph({"x": "Const"}, graph)["x"].op == "Const"
    with pytest.raises(ValueError, match="not Add"):
        test_util.assert_ops_in_graph({"x": "Add"}, graph)
    with pytest.raises(ValueError, match="no operation 'y'"):
        test_util.assert_ops_in_graph({"y": "Add"}, graph)


def test_layouts():
    array = np.zeros([2, 3, 4, 5])
    assert test_util.NHWCToNCHW(array).shape == (2, 5, 3, 4)
    assert test_util.NCHWToNHWC(test_util.NHWCToNCHW(array)).shape == array.shape
    assert test_util.NHWCToNCHW([2, 3, 4, 5]) == [2, 5, 3, 4]
