"""Training with parameter servers, compared with what can be computed by hand."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg._src.compiler.place.cost import Link
from thalweg._src.tools.simulate.run import simulate, sweep
from thalweg._src.tools.simulate.scenario import Compute, Scenario, even_shards

JOB = Scenario(
    shards=even_shards(100.0, 4),
    batch=8,
    compute=Compute(2.0),
    link=Link(0.01, 50.0),
    ps_link=Link(0.0, 20.0, 0.1),
    apply=250.0,
    accumulate=500.0,
)
EXPONENTIAL = Scenario(mode="sync", compute=Compute(0.0, straggler=1.0, mean_delay=1.0))


def harmonic(number):
    return sum(1 / i for i in range(1, number + 1))


def test_one_worker_takes_the_sum_of_all_parts():
    moved = 25 / min(20, 50 / 4)  # of one shard, limited by the worker's quarter of its own link
    result = simulate(JOB)
    assert result.steps == pytest.approx(4 * 0.01 + 2 * 0.1 + 2 * moved + 2.0 + 25 / 250)
    assert result.throughput == pytest.approx(8 / result.median)
    assert not result.staleness.any()
    sync = simulate(replace(JOB, mode="sync"))
    assert sync.steps == pytest.approx(4 * 0.01 + 2 * 0.1 + 2 * moved + 2.0 + 25 / 500 + 25 / 250)


@pytest.mark.parametrize("sharing", ["fair", "fifo"])
def test_many_workers_are_bound_by_the_bandwidth_of_the_servers(sharing):
    job = replace(JOB, workers=200, sharing=sharing, ps_link=Link(0.0, 20.0), apply=float("inf"))
    result = simulate(job, steps=20)
    assert result.median == pytest.approx(200 * 25 / 20, rel=0.02)
    assert result.throughput == pytest.approx(8 * 20 / 25, rel=0.02)
    assert result.utilization["send"] > 0.95


def test_many_workers_are_bound_by_the_updates_of_a_server():
    job = replace(JOB, workers=100, link=Link(0.0, 1e9), ps_link=Link(0.0, 1e9))
    assert simulate(job, steps=20).throughput == pytest.approx(8 * 250 / 25, rel=0.02)
    assert simulate(replace(job, ps_cores=2), steps=20).throughput == pytest.approx(2 * 8 * 250 / 25, rel=0.02)


def test_the_largest_shard_is_the_bottleneck():
    job = replace(JOB, workers=200, shards=(70.0, 10.0, 10.0, 10.0), ps_link=Link(0.0, 20.0), sharing="fifo")
    assert simulate(job, steps=10).median == pytest.approx(200 * 70 / 20, rel=0.02)


def test_a_synchronous_step_waits_for_the_slowest_worker():
    steps = simulate(replace(EXPONENTIAL, workers=20), steps=2000).steps
    assert steps.mean() == pytest.approx(harmonic(20), rel=0.03)


def test_a_step_with_backup_workers_ends_with_the_first_gradients():
    job = replace(EXPONENTIAL, workers=16, backups=4)
    first = [simulate(job, steps=1, seed=seed).steps[0] for seed in range(500)]
    assert np.mean(first) == pytest.approx(harmonic(20) - harmonic(4), rel=0.05)


def test_a_late_worker_finishes_its_step_and_its_gradient_is_dropped():
    slow = Compute(samples=(1.0, 1.0, 1.0, 5.0))
    result = simulate(Scenario(mode="sync", workers=3, backups=1, compute=slow), steps=400, seed=3)
    assert set(np.round(result.steps, 9)) <= set(np.round(np.arange(0.0, 6.0, 1.0), 9))
    assert 0.05 < result.dropped < 0.3
    assert simulate(Scenario(mode="sync", workers=4, compute=slow), steps=50).dropped == 0


def test_staleness_is_the_number_of_other_workers_if_all_are_equal():
    result = simulate(replace(JOB, workers=9), steps=50)
    assert result.staleness.mean() == pytest.approx(8, abs=0.2)


def test_buckets_overlap_transfers_with_computing():
    alone = simulate(JOB).median
    pieces = [simulate(replace(JOB, buckets=k)).median for k in (2, 4, 8)]
    assert alone > pieces[0] > pieces[1] > pieces[2] > 2.0
    # Only the first parameters and the last gradients are not hidden if computing takes long.
    job = replace(JOB, buckets=4, compute=Compute(100.0), link=Link(0.0, 1e9), ps_link=Link(0.0, 20.0), apply=1e9)
    assert simulate(job).median == pytest.approx(100 + 2 * 25 / 4 / 20, rel=1e-6)


def test_workers_on_one_host_share_its_cores():
    job = Scenario(compute=Compute(1.0), ps_link=Link(0.0, float("inf"), 0.05), shards=(0.0, 0.0), host_cores=2)
    steps = [simulate(replace(job, workers=n)).steps.mean() for n in (1, 2, 4, 8)]
    assert steps[0] == pytest.approx(1.1)
    assert steps[2:] == pytest.approx([4 * 1.2 / 2, 8 * 1.2 / 2], rel=0.02)  # 0.2 s at the servers
    assert simulate(replace(job, workers=8, background=0.2)).steps.mean() == pytest.approx(8 * 1.4 / 2, rel=0.02)


def test_steps_that_end_at_the_same_time_end_the_simulation():
    never = float("inf")
    job = Scenario(
        workers=8,
        compute=Compute(0.002),
        link=Link(0.0003, never),
        ps_link=Link(0.0, never, 0.0008),
        shards=(0.0, 0.0),
        host_cores=2,
    )
    result = simulate(job, 200)
    assert len(result.steps) == len(result.staleness) <= 8 * 200
    assert result.steps.mean() == pytest.approx(8 * (0.002 + 4 * 0.0008) / 2, rel=0.1)


def test_a_worker_does_not_begin_a_step_before_it_is_done_with_the_last_one():
    job = Scenario(workers=2, compute=Compute(0.1), shards=(0.0,), host_cores=2, background=5.0)
    assert simulate(job).steps.mean() == pytest.approx(5.0, rel=0.03)


def test_the_same_seed_gives_the_same_result():
    job = replace(JOB, workers=7, compute=Compute(1.0, sigma=0.3, straggler=0.1, factor=3.0))
    first, second, other = (simulate(job, seed=seed).steps for seed in (5, 5, 6))
    assert np.array_equal(first, second) and not np.array_equal(first, other)


@pytest.mark.parametrize(
    "change",
    [
        {"shards": even_shards(200.0, 4)},
        {"link": Link(0.1, 50.0)},
        {"link": Link(0.01, 25.0)},
        {"ps_link": Link(0.0, 10.0, 0.1)},
        {"ps_link": Link(0.0, 20.0, 0.2)},
        {"accumulate": 100.0},
        {"apply": 100.0},
        {"compute": Compute(3.0)},
    ],
    ids=str,
)
def test_each_cost_makes_a_step_longer(change):
    job = replace(JOB, mode="sync")
    assert simulate(replace(job, **change)).median > simulate(job).median


def test_more_workers_and_more_spread_make_a_step_longer_and_backups_make_it_shorter():
    job = replace(JOB, mode="sync", workers=6, compute=Compute(50.0, sigma=0.1))
    step = simulate(job).median
    assert simulate(replace(job, workers=12)).median > step
    assert simulate(replace(job, compute=Compute(50.0, sigma=0.2))).median > step
    assert simulate(replace(job, backups=2)).median < step


def test_a_sweep_has_a_row_for_each_number_of_workers_and_backups():
    results = sweep(JOB, (1, 2), ("async", "sync", "all_reduce"), (0, 1), steps=5)
    found = [(each.scenario.mode, each.scenario.workers, each.scenario.backups) for each in results]
    assert found == [
        *(("async", n, 0) for n in (1, 2)),
        *(("sync", n, b) for n in (1, 2) for b in (0, 1)),
        *(("all_reduce", n, 0) for n in (1, 2)),
    ]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mode", ["async", "sync"])
def test_ten_thousand_workers(mode):
    job = replace(JOB, mode=mode, workers=10_000, shards=even_shards(100.0, 20), ps_link=Link(0.0, 20.0))
    directions = 1 if mode == "async" else 2  # synchronous workers pull at the same time, and then push
    assert simulate(job, steps=50).throughput == pytest.approx(8 * 20 / 5 / directions, rel=0.05)
