"""Each test builds in a graph of its own."""

import pytest

import thalweg as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph
