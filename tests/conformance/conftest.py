"""Writes TensorFlow's answers down when `make conformance` has asked for them."""

import pytest

from tests.conformance.recorded import RECORD, RECORDINGS


@pytest.fixture(scope="session", autouse=True)
def recordings():
    yield
    for recording in RECORDINGS if RECORD else ():
        recording.write()
