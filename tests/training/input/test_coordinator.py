"""The coordinator stops threads together, raises the first real error, and never waits for ever."""

import sys
import threading
import time

import pytest

import thalweg as tf


def start(function, *args):
    thread = threading.Thread(target=function, args=args, daemon=True)
    thread.start()
    return thread


def test_threads_stop_together():
    coord = tf.train.Coordinator()

    def work(stops):
        for _ in range(10**6):
            if coord.should_stop():
                return
            if stops:
                coord.request_stop()
            time.sleep(0.001)

    threads = [start(work, i == 3) for i in range(5)]
    coord.join(threads)
    assert coord.should_stop() and coord.joined and not any(thread.is_alive() for thread in threads)


def test_join_returns_when_all_have_ended_without_a_stop():
    coord = tf.train.Coordinator()
    thread = start(time.sleep, 0.05)
    coord.join([thread])
    assert not thread.is_alive() and not coord.should_stop()


def test_the_first_error_is_raised_with_its_traceback():
    coord = tf.train.Coordinator()
    raised = threading.Event()

    def first():
        with coord.stop_on_exception():
            raised.set()
            raise KeyError("first")

    def second():
        with coord.stop_on_exception():
            raised.wait()
            coord.wait_for_stop()
            raise ValueError("a consequence")

    threads = [start(second), start(first)]
    with pytest.raises(KeyError, match="first") as caught:
        coord.join(threads)
    assert any(entry.name == "first" for entry in caught.traceback)
    with pytest.raises(KeyError):
        coord.raise_requested_exception()


def test_the_end_of_the_input_is_not_an_error():
    coord = tf.train.Coordinator()
    with coord.stop_on_exception():
        raise tf.errors.OutOfRangeError(None, None, "end")
    coord.join([])
    coord = tf.train.Coordinator(clean_stop_exception_types=(KeyError,))
    coord.request_stop(KeyError())
    coord.join()
    coord = tf.train.Coordinator(clean_stop_exception_types=())
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "end"))
    with pytest.raises(tf.errors.OutOfRangeError):
        coord.join()


def test_exc_info_and_invalid_arguments():
    coord = tf.train.Coordinator()
    try:
        raise RuntimeError("told by exc_info")
    except RuntimeError:
        coord.request_stop(sys.exc_info())
    with pytest.raises(RuntimeError, match="told"):
        coord.join()
    with pytest.raises(TypeError):
        tf.train.Coordinator().request_stop("text")


def test_running_threads_are_named_after_the_grace_period():
    coord, release = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=release.wait, name="stubborn", daemon=True)
    thread.start()
    coord.register_thread(thread)
    coord.request_stop()
    with pytest.raises(RuntimeError, match="stubborn"):
        coord.join(stop_grace_period_secs=0.05)
    coord.join([thread], stop_grace_period_secs=0.05, ignore_live_threads=True)
    release.set()


def test_an_error_takes_precedence_over_running_threads():
    coord, release = tf.train.Coordinator(), threading.Event()
    coord.request_stop(KeyError("cause"))
    with pytest.raises(KeyError, match="cause"):
        coord.join([start(release.wait)], stop_grace_period_secs=0.05)
    release.set()


def test_a_coordinator_may_be_used_again():
    coord = tf.train.Coordinator()
    coord.request_stop(KeyError())
    coord.clear_stop()
    assert not coord.should_stop() and not coord.wait_for_stop(0.001)
    coord.join([])
    with pytest.raises(ValueError):
        coord.request_stop(ValueError("after join"))


def test_looper():
    coord, calls = tf.train.Coordinator(), []

    def call(number, step=0):
        calls.append(number + step)
        if len(calls) == 3:
            raise KeyError("three")

    looper = tf.train.LooperThread.loop(coord, 0.001, call, args=(1,), kwargs={"step": 2})
    with pytest.raises(KeyError, match="three"):
        coord.join()
    assert calls == [3, 3, 3] and not looper.is_alive()
    coord = tf.train.Coordinator()
    tf.train.LooperThread.loop(coord, None, coord.request_stop)
    coord.join()
    with pytest.raises(ValueError):
        tf.train.LooperThread("none", 1)
