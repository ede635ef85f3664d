"""Signals that are read from a pipe."""

import os
import signal

import pytest

from thalweg._src.tools.cli.signal_pipe import signal_pipe

NUMBERS = (signal.SIGUSR1, signal.SIGUSR2)


@pytest.fixture
def pipe():
    """The pipe of two signals, of which the second one is ignored by this process."""
    before = [signal.signal(number, handler) for number, handler in zip(NUMBERS, (signal.SIG_DFL, signal.SIG_IGN))]
    reader = signal_pipe(*NUMBERS)
    yield reader
    os.close(signal.set_wakeup_fd(-1))
    os.close(reader)
    for number, handler in zip(NUMBERS, before):
        signal.signal(number, handler)


def test_signals_are_read_in_their_order_and_ignored_ones_are_not(pipe):
    with pytest.raises(BlockingIOError):
        os.read(pipe, 1)
    for number in (signal.SIGUSR2, signal.SIGUSR1, signal.SIGUSR1):
        signal.raise_signal(number)
    assert os.read(pipe, 10) == bytes([signal.SIGUSR1] * 2)
