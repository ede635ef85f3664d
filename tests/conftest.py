"""Each test builds in a graph of its own."""

import pytest
import torch

import thalweg as tf

# Kernels are compared with exact float32; by default a GPU's convolutions round their inputs to 10 bits.
torch.backends.cudnn.allow_tf32 = False


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph
