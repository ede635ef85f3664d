"""tensorflow.python.framework.test_util."""

import unittest

import numpy as np
import pytest
from thalweg.python.framework import test_util

import thalweg as tf


class Case(test_util.TensorFlowTestCase):
    @test_util.run_in_graph_and_eager_modes
    def test_both(self):
        self.assertAllClose(self.evaluate(tf.constant([1.0])), [1.0])

    @test_util.run_in_graph_and_eager_modes(use_gpu=False)
    def test_both_with_arguments(self):
        self.assertFalse(tf.executing_eagerly())

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
