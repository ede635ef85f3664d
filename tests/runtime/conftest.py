"""A function that tests of running steps block in."""

import threading

import numpy as np
import pytest

PATIENCE = 60.0


class Gate:
    """A Python function that blocks until it is opened."""

    def __init__(self):
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self, *_):
        self.reached.set()
        assert self.open.wait(PATIENCE)
        return np.float32(1)


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open.set()
