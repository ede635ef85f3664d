"""Effective time under failures, compared with closed forms."""

import math

import pytest

from thalweg._src.tools.simulate.failures import effective_time
from thalweg._src.tools.simulate.run import simulate
from thalweg._src.tools.simulate.scenario import Failures, Scenario

DAY = 86400.0


def test_lost_members_of_an_all_reduce_cost_the_progress_since_the_checkpoint():
    failures = Failures(DAY, detection=10.0, recovery=50.0, interval=600.0)
    rate = 100 / DAY
    kept = 600 / (math.exp(rate * 600) - 1)  # of the time between two failures
    expected = kept / (1 / rate + 60)
    assert effective_time(Scenario("all_reduce", 100), failures) == pytest.approx(expected, rel=0.01)


def test_saving_costs_its_share():
    failures = Failures(1e12, interval=90.0, saving=10.0)
    assert effective_time(Scenario("all_reduce", 2), failures) == pytest.approx(0.9)


def test_a_lost_worker_costs_its_own_share_or_stops_all():
    rare = Failures(10 * DAY, detection=30.0, recovery=270.0, interval=1e-3)
    asynchronous = effective_time(Scenario("async", 100), rare)
    assert asynchronous == pytest.approx(1 - 2 * 300 / (10 * DAY), abs=1e-4)  # a worker, and the parameter server
    synchronous = effective_time(Scenario("sync", 100), rare)
    assert synchronous == pytest.approx(1 / (1 + 101 * 300 / (10 * DAY)), rel=0.02)
    assert synchronous < effective_time(Scenario("sync", 100, backups=2), rare) <= asynchronous + 1e-3


def test_throughput_is_that_of_the_effective_time():
    job = Scenario(workers=10, batch=3)
    result = simulate(job, failures=Failures(3600.0))
    row = result.as_dict()
    assert 0 < result.effective < 1
    assert row["effective_throughput"] == pytest.approx(result.effective * simulate(job).throughput)
