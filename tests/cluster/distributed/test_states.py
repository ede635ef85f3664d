"""The state machines of workers, masters, liveness and flow control, without threads and sockets."""

import pytest

import thalweg as tf
from thalweg._src.cluster.distributed.flow_control import SendWindow
from thalweg._src.cluster.distributed.limits import MAX_EARLY_STEPS
from thalweg._src.cluster.distributed.liveness import Liveness
from thalweg._src.cluster.distributed.master_state import MasterStep
from thalweg._src.cluster.distributed.worker_state import EARLY_SECONDS, WorkerSteps

LOST = tf.errors.UnavailableError(None, None, "lost")


def steps():
    return WorkerSteps(lambda step: [step], early_bytes=1 << 20)


class TestWorker:
    def test_a_tensor_may_come_before_its_step(self):
        worker = steps()
        early = worker.mailbox(1, 0.0)
        assert worker.start(1, "run", ["other"], 0.0) is early
        assert worker.mailbox(1, 0.0) is early and worker.runs() == {1: "run"}

    def test_a_tensor_of_a_failed_step_is_dropped(self):
        worker = steps()
        worker.start(1, "run", [], 0.0)
        worker.end(1, LOST)
        assert worker.mailbox(1, 0.0) is None and not worker.runs()

    def test_an_abort_may_come_before_its_step(self):
        worker = steps()
        worker.mailbox(1, 0.0)
        assert worker.abort(1, LOST) is None
        assert worker.start(1, "run", [], 0.0) is LOST

    def test_an_abort_ends_the_run(self):
        worker = steps()
        worker.start(1, "run", [], 0.0)
        assert worker.abort(1, LOST) == "run"
        assert worker.runs() == {1: "run"}, "it is forgotten when it has ended"

    def test_a_step_starts_once(self):
        worker = steps()
        worker.start(1, "run", [], 0.0)
        assert isinstance(worker.start(1, "again", [], 0.0), ValueError)

    def test_a_lost_task_ends_its_steps_alone(self):
        worker = steps()
        for step, tasks in enumerate((["a"], ["b"], ["a", "b"])):
            worker.start(step, f"run {step}", tasks, 0.0)
        assert worker.peer_lost("a") == ["run 0", "run 2"]

    def test_tensors_of_steps_that_have_not_started_are_limited_for_each_sender(self):
        worker = steps()
        for _ in range(2):
            worker.mailbox(1, 0.0, "a", 500_000)
        with pytest.raises(ValueError, match="for 1 steps that have not started"):
            worker.mailbox(2, 0.0, "a", 100_000)
        assert worker.mailbox(2, 0.0, "b", 500_000) is not None
        worker.start(1, "run", ["a"], 0.0)
        assert worker.mailbox(2, 0.0, "a", 500_000) is not None

    def test_steps_that_have_not_started_are_limited_for_each_sender(self):
        worker = steps()
        for step in range(MAX_EARLY_STEPS):
            worker.mailbox(step, 0.0, "a")
        worker.mailbox(0, 0.0, "a")
        with pytest.raises(ValueError, match=f"for {MAX_EARLY_STEPS} steps"):
            worker.mailbox(MAX_EARLY_STEPS, 0.0, "a")
        worker.peer_lost("a")
        assert worker.mailbox(MAX_EARLY_STEPS, 0.0, "a") is not None

    def test_tensors_of_a_step_that_never_starts_expire(self):
        worker = steps()
        worker.mailbox(1, 0.0)
        worker.mailbox(2, EARLY_SECONDS)
        worker.start(3, "run", [], 0.0)
        assert worker.expire(EARLY_SECONDS + 1) == [1]
        assert worker.runs() == {3: "run"}

    def test_the_memory_of_failed_steps_is_bounded(self):
        worker = steps()
        for step in range(10_000):
            worker.end(step, LOST)
        assert len(worker._failed) < 5000 and worker.mailbox(9999, 0.0) is None


class TestMaster:
    def test_values_are_put_in_the_places_of_the_fetches(self):
        step = MasterStep({"a": [2, 0], "b": [1]}, 3)
        step.replied("a", ["third", "first"])
        step.replied("b", ["second"])
        assert step.result() == ["first", "second", "third"]

    def test_the_first_error_counts_and_aborts_the_others(self):
        step = MasterStep({"a": [], "b": [], "c": []}, 0)
        step.replied("b", [])
        assert step.failed(LOST) == ["a", "c"], "b has finished its part"
        assert step.failed(ValueError()) == []
        with pytest.raises(tf.errors.UnavailableError):
            step.result()

    def test_a_wrong_number_of_values_is_an_error(self):
        step = MasterStep({"a": [0, 1]}, 2)
        with pytest.raises(tf.errors.InternalError, match="1 values instead of 2"):
            step.replied("a", ["one"])


class TestLiveness:
    def test_a_silent_task_is_lost(self):
        liveness = Liveness(limit=8)
        liveness.seen("a", 0.0)
        for now in range(0, 9, 2):
            assert not liveness.expired(now)
        assert liveness.expired(10.0) == {"a": 10.0}

    def test_a_process_that_slept_gives_others_their_time_again(self):
        liveness = Liveness(limit=8)
        liveness.seen("a", 0.0)
        liveness.expired(2.0)
        assert not liveness.expired(100.0)
        liveness.expired(102.0), liveness.expired(104.0), liveness.expired(106.0), liveness.expired(108.0)
        assert liveness.expired(110.0)

    def test_a_forgotten_task_is_never_lost(self):
        liveness = Liveness(limit=1)
        liveness.seen("a", 0.0)
        liveness.forget("a")
        assert not liveness.expired(0.5) and not liveness.expired(1.5)


class TestFlowControl:
    def test_tensors_are_sent_up_to_the_limit(self):
        window = SendWindow(100)
        assert window.admit(1, "a", 60) and window.admit(1, "b", 40) and not window.admit(1, "c", 1)
        window.consumed(60)
        assert window.admit(1, "c", 60)

    def test_values_of_a_key_keep_their_order(self):
        window = SendWindow(100)
        assert not window.admit(1, "a", 200)
        first = window.offer(1, "a", "first")
        assert not window.admit(1, "a", 1), "an offered value of this key comes first"
        assert window.admit(1, "b", 1) and window.admit(2, "a", 1)
        second = window.offer(1, "a", "second")
        assert [window.take(1, second), window.take(1, first)] == ["second", "first"]
        assert window.admit(1, "a", 1)

    def test_a_failed_step_keeps_nothing(self):
        window = SendWindow(0)
        dropped, number = window.offer(1, "a", "x"), window.offer(2, "a", "y")
        window.forget(1)
        with pytest.raises(KeyError):
            window.take(1, dropped)
        assert window.take(2, number) == "y"

    def test_more_cannot_be_consumed_than_was_sent(self):
        window = SendWindow(100)
        window.admit(1, "a", 10)
        with pytest.raises(ValueError, match="11 bytes"):
            window.consumed(11)
