"""All-reduce, compared with the formula of the ring."""

from dataclasses import replace

import pytest

from thalweg._src.compiler.place.cost import Link
from thalweg._src.tools.simulate.all_reduce import reduce_seconds
from thalweg._src.tools.simulate.run import simulate
from thalweg._src.tools.simulate.scenario import Compute, Scenario

JOB = Scenario("all_reduce", workers=8, shards=(1e8,), batch=4, compute=Compute(0.5), link=Link(1e-4, 1e9))


def test_a_ring_moves_each_part_twice():
    assert reduce_seconds(JOB, 1e8) == pytest.approx(2 * 7 / 8 * 0.1 + 2 * 7 * 1e-4)
    assert simulate(JOB).median == pytest.approx(0.5 + 2 * 7 / 8 * 0.1 + 14e-4)
    assert simulate(replace(JOB, workers=1)).median == pytest.approx(0.5)
    assert simulate(JOB).as_dict()["bytes"] == pytest.approx(4 * 7 / 8 * 1e8)


def test_hosts_reduce_among_themselves_first():
    job = replace(JOB, per_host=4, local_bandwidth=1e10)
    assert reduce_seconds(job, 1e8) == pytest.approx(2 * 3 / 4 * 0.01 + 2 * 1 / 2 * 0.1 + 2 * 1e-4)


def test_buckets_are_reduced_during_the_backward_pass():
    job = replace(JOB, buckets=4)
    piece = reduce_seconds(job, 2.5e7)
    assert simulate(job).median == pytest.approx(0.5 + piece)  # the others are hidden
    slow = replace(job, link=Link(0.0, 1e8))
    assert simulate(slow).median == pytest.approx(0.5 * (1 / 3 + 2 / 3 / 4) + 4 * reduce_seconds(slow, 2.5e7))


def test_all_wait_for_the_slowest():
    job = replace(
        JOB, workers=20, shards=(0.0,), link=Link(0.0, 1e9), compute=Compute(0.0, straggler=1.0, mean_delay=1.0)
    )
    expected = sum(1 / i for i in range(1, 21))
    assert simulate(job, steps=4000).steps.mean() == pytest.approx(expected, rel=0.02)


def test_workers_on_one_host_share_its_cores():
    job = replace(JOB, shards=(0.0,), link=Link(0.0, 1e9), host_cores=2)
    assert simulate(job).median == pytest.approx(0.5 * 8 / 2)
