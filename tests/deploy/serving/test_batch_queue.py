"""The scheduling of batches, on a clock that the tests move: sizes, timeouts, deadlines and limits."""

import pytest
from hypothesis import given, strategies as st

from thalweg._src.base import errors
from thalweg._src.deploy.serving.batch_queue import Average, BatchQueues, Duration, Request
from thalweg._src.deploy.serving.config import BatchingParameters


def lasting(seconds):
    """Returns a duration of batches of any size, measured just now."""
    duration = Duration()
    duration.measured = 0.0
    duration.add(4, seconds)
    return duration


def _queues(**parameters):
    return BatchQueues(BatchingParameters(**{"max_batch_size": 4, "batch_timeout_micros": 1_000_000, **parameters}))


def _add(queues, *sizes, key="k", now=0.0, **options):
    requests = [Request(key, size, now, **options) for size in sizes]
    for request in requests:
        queues.add(request, now)
    return requests


def test_a_full_batch_is_due_at_once_and_others_after_the_timeout():
    queues = _queues()
    first, second, third = _add(queues, 2, 2, 1)
    assert queues.take(0.0).requests == [first, second]
    assert queues.take(0.9) is None and queues.next_due() == 1.0
    assert queues.take(1.0).requests == [third]
    assert queues.next_due() is None and queues.take(9.0) is None


def test_a_request_that_does_not_fit_starts_the_next_batch():
    queues = _queues()
    first, second = _add(queues, 3, 2)
    assert queues.take(0.0).requests == [first]
    assert queues.take(0.0) is None
    assert queues.take(0.0, early=True).requests == [second]


def test_only_requests_of_one_key_share_a_batch_and_the_oldest_goes_first():
    queues = _queues()
    (old,) = _add(queues, 1, key="a", now=0.0)
    (new,) = _add(queues, 1, key="b", now=0.5)
    assert queues.take(2.0).requests == [old]
    assert queues.take(2.0).requests == [new]


def test_a_full_queue_is_refused_with_a_hint_when_to_repeat():
    queues = _queues(max_enqueued_batches=2, num_batch_threads=1)
    duration = lasting(0.25)
    _add(queues, 4, 4, duration=duration)
    with pytest.raises(errors.UnavailableError, match="2 batches are enqueued") as caught:
        _add(queues, 1, duration=duration)
    assert caught.value.retry_after == 0.5


def test_a_request_that_would_be_late_is_refused_at_once():
    queues = _queues(num_batch_threads=1)
    duration = lasting(0.25)
    _add(queues, 4, duration=duration)
    _add(queues, 1, duration=duration, deadline=0.5)
    with pytest.raises(errors.DeadlineExceededError, match=r"deadline is in 400\.0 ms, the answer in 750\.0 ms"):
        _add(queues, 4, duration=duration, deadline=0.4)
    batch = queues.take(0.0)  # is still being computed
    with pytest.raises(errors.DeadlineExceededError):
        _add(queues, 1, duration=duration, deadline=0.4)
    batch.seconds = 0.25
    queues.finish(batch)
    _add(queues, 1, duration=duration, deadline=0.5)


def test_what_took_too_long_is_tried_again_after_a_second():
    queues, duration = _queues(num_batch_threads=1), lasting(0.25)
    with pytest.raises(errors.DeadlineExceededError):
        _add(queues, 1, now=0.9, duration=duration, deadline=1.0)
    (sample,) = _add(queues, 1, now=1.0, duration=duration, deadline=1.1)
    with pytest.raises(errors.DeadlineExceededError):
        _add(queues, 1, now=1.0, duration=duration, deadline=1.1)
    batch = queues.take(1.0)
    assert batch.requests == [sample]
    for _ in range(20):
        duration.add(4, 0.01)
    batch.seconds = 0.01
    queues.finish(batch)
    _add(queues, 1, now=1.1, duration=duration, deadline=1.2)


def test_one_long_batch_among_many_does_not_keep_others_out():
    average = Average(0.1)
    average.add(10.0)
    assert average.expected < 0.2


def test_a_request_that_has_become_late_is_never_computed():
    queues = _queues()
    (late,) = _add(queues, 1, deadline=1.5, duration=lasting(1.0))
    (patient,) = _add(queues, 1)
    batch = queues.take(1.0)
    assert (batch.requests, batch.late) == ([patient], [late])


def test_a_batch_is_closed_before_its_first_deadline():
    queues = _queues()
    _add(queues, 1, deadline=0.8, duration=lasting(0.1))
    assert queues.next_due() == pytest.approx(0.6)


def test_cancelled_requests_are_dropped():
    queues = _queues()
    first, second = _add(queues, 1, 1)
    first.is_cancelled = True
    assert queues.take(1.0).requests == [second]


def test_durations_are_averaged():
    average = Average(1.0)
    average.add(2.0)
    assert (average.mean, average.deviation) == (pytest.approx(1.2), pytest.approx(0.2))
    assert average.expected == pytest.approx(1.6)


def test_durations_of_sizes_that_were_not_computed_follow_from_others():
    duration = Duration()
    assert duration.seconds(3) == 0
    duration.add(2, 0.2)
    duration.add(8, 0.4)
    assert [duration.seconds(size) for size in (1, 2, 5, 8, 16)] == [0.2, 0.2, 0.4, 0.4, 0.8]


def test_a_batch_is_no_larger_than_its_deadlines_allow():
    queues, duration = _queues(max_batch_size=8, allowed_batch_sizes=(1, 2, 4, 8), num_batch_threads=1), Duration()
    for size in (1, 2, 4, 8):
        duration.add(size, 0.1 * size)
    requests = _add(queues, 1, 1, 1, 1, 1, duration=duration, deadline=0.9)  # two batches of 4 take 0.8
    with pytest.raises(errors.DeadlineExceededError, match=r"in 850\.0 ms, the answer in 900\.0 ms"):
        _add(queues, 4, duration=duration, deadline=0.85)
    assert queues.take(0.0, early=True).requests == requests[:4]
    assert queues.take(0.0, early=True).requests == requests[4:]


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from("ab"), st.floats(0, 1)), max_size=30))
def test_every_request_is_in_one_batch_in_order_and_no_batch_is_too_large(given_requests):
    queues, added, now = _queues(max_enqueued_batches=100), {"a": [], "b": []}, 0.0
    taken = {"a": [], "b": []}

    def take(early):
        while (batch := queues.take(now, early)) is not None:
            assert 0 < sum(request.size for request in batch.requests) <= 4
            taken[batch.requests[0].key] += batch.requests
            queues.finish(batch)

    for size, key, pause in given_requests:
        now += pause
        added[key] += _add(queues, size, key=key, now=now)
        take(early=False)
    take(early=True)
    assert taken == added


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"max_batch_size": 0}, "max_batch_size: expected 1 or more"),
        ({"batch_timeout_micros": -1}, "batch_timeout_micros: expected 0 or more"),
        ({"allowed_batch_sizes": (4, 2)}, "expected ascending sizes"),
        ({"allowed_batch_sizes": (2, 3)}, "the last one of which is max_batch_size"),
    ],
)
def test_wrong_parameters(parameters, words):
    with pytest.raises(errors.InvalidArgumentError, match=words):
        BatchingParameters(**{"max_batch_size": 4, **parameters})
