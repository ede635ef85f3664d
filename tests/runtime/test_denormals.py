"""Denormal numbers are zero in a step and nowhere else."""

import numpy as np
import pytest
import torch

import thalweg as tf


@pytest.mark.parametrize("devices", [1, 2])
def test_a_step_flushes_denormals_and_the_caller_keeps_them(devices):
    x = tf.placeholder(tf.float32, [64])
    with tf.device(f"/cpu:{devices - 1}"):
        y = x * 0.5
    smallest = np.finfo(np.float32).tiny
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": devices, "GPU": 0})) as sess:
        assert not sess.run(y, {x: np.full(64, smallest)}).any()
    assert np.float32(smallest) * np.float32(0.5) != 0


def test_flush_mode_of_the_caller_is_restored():
    x = tf.placeholder(tf.float32, [])
    torch.set_flush_denormal(True)
    try:
        with tf.Session() as sess:
            sess.run(x * 1.0, {x: 1.0})
        assert torch.tensor(1e-39) * 0.5 == 0
    finally:
        torch.set_flush_denormal(False)
