"""Shared resources, compared with closed forms of queueing theory."""

import numpy as np
import pytest

from thalweg._src.tools.simulate.events import Clock, Pool, Queue

JOBS = 20_000


def ends(resource, jobs):
    """Returns when jobs of (arrival, work) end."""
    clock = resource._clock
    found = {}
    for i, (arrival, work) in enumerate(jobs):
        clock.after(
            arrival, lambda each: resource.add(each[1], lambda i: found.setdefault(i, clock.now), each[0]), (i, work)
        )
    clock.run()
    return [found[i] for i in range(len(jobs))]


def test_calls_at_the_same_time_keep_their_order():
    clock, made = Clock(), []
    for number in (1, 2, 3):
        clock.after(0.5, made.append, number)
    clock.after(0.25, made.append, 0)
    clock.run()
    assert made == [0, 1, 2, 3] and clock.now == 0.5


def test_jobs_of_a_pool_share_its_capacity():
    # The first is alone for 1 s; both share until the second, shorter one ends; the first has 1 of 4 left.
    assert ends(Pool(Clock(), 2.0), [(0.0, 4.0), (1.0, 1.0)]) == pytest.approx([2.5, 2.0])


def test_a_job_of_a_pool_gets_its_limit_at_most():
    assert ends(Pool(Clock(), 2.0, 1.0), [(0.0, 4.0), (1.0, 1.0), (1.0, 1.0)]) == pytest.approx([4.5, 2.5, 2.5])


def test_jobs_of_a_queue_follow_one_another():
    assert ends(Queue(Clock(), 1, 2.0), [(0.0, 4.0), (1.0, 1.0), (5.0, 2.0)]) == pytest.approx([2.0, 2.5, 6.0])
    assert ends(Queue(Clock(), 2, 1.0), [(0.0, 4.0), (1.0, 1.0), (1.0, 1.0)]) == pytest.approx([4.0, 2.0, 3.0])


def test_a_job_of_a_queue_ends_no_earlier_than_its_limit_allows():
    assert ends(Queue(Clock(), 1, 2.0, 1.0), [(0.0, 4.0), (0.0, 4.0)]) == pytest.approx([4.0, 6.0])


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_random_arrivals_wait_as_in_theory(load):
    arrivals = np.cumsum(np.random.default_rng(1).exponential(1 / load, JOBS))
    queued = np.subtract(ends(Queue(Clock(), 1, 1.0), [(each, 1.0) for each in arrivals]), arrivals)
    assert queued.mean() == pytest.approx(1 + load / (2 * (1 - load)), rel=0.05)  # M/D/1
    shared = np.subtract(ends(Pool(Clock(), 1.0), [(each, 1.0) for each in arrivals]), arrivals)
    assert shared.mean() == pytest.approx(1 / (1 - load), rel=0.05)  # M/G/1, processor sharing


def test_utilization_is_the_share_of_the_capacity():
    for resource in (Pool(Clock(), 2.0, 1.0), Queue(Clock(), 2, 1.0)):
        assert resource.utilization() == 0.0
        ends(resource, [(0.0, 1.0), (3.0, 1.0)])
        assert resource.utilization() == pytest.approx(2 / (2 * 4))
