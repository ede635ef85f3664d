"""The settings of a process last as long as its servers."""

import gc
import sys

import pytest

from thalweg._src.deploy.serving.process_settings import ProcessSettings


@pytest.fixture
def other_settings():
    """Settings other than those of the servers that other tests share."""
    before = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(0.004)
    gc.set_threshold(600, 5, 5)
    yield
    sys.setswitchinterval(before[0])
    gc.set_threshold(*before[1])


def test_settings_are_restored_after_the_last_server(other_settings):
    before, settings = (sys.getswitchinterval(), gc.get_threshold()), ProcessSettings()
    settings.acquire()
    settings.acquire()
    settings.release()
    assert sys.getswitchinterval() < before[0] and gc.get_threshold() > before[1]
    settings.release()
    assert (sys.getswitchinterval(), gc.get_threshold()) == before
