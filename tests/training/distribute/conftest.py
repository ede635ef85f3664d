"""Closes the event files of monitored sessions."""

import pytest

import thalweg as tf


@pytest.fixture(autouse=True)
def closed_writers():
    yield
    tf.summary.FileWriterCache.clear()
