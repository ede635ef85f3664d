"""Descriptions of jobs: random computing times, and what is refused."""

import math

import numpy as np
import pytest

from thalweg._src.base.errors import InvalidArgumentError
from thalweg._src.compiler.place.cost import Link
from thalweg._src.tools.simulate.run import simulate
from thalweg._src.tools.simulate.scenario import Compute, Failures, Scenario, even_shards

NUMBER = 200_000


def draw(compute):
    return compute.draw(np.random.default_rng(0), NUMBER)


def test_computing_times_have_their_distribution():
    assert set(draw(Compute(3.0))) == {3.0}
    times = draw(Compute(3.0, sigma=0.5))
    assert np.median(times) == pytest.approx(3.0, rel=0.01) and np.log(times).std() == pytest.approx(0.5, rel=0.01)
    measured = draw(Compute(samples=(1.0, 2.0, 2.0)))
    assert set(measured) == {1.0, 2.0} and measured.mean() == pytest.approx(5 / 3, rel=0.01)


def test_stragglers_are_slowed_down():
    times = draw(Compute(2.0, straggler=0.1, factor=3.0, delay=1.0))
    assert set(times) == {2.0, 7.0} and (times == 7.0).mean() == pytest.approx(0.1, rel=0.05)
    assert draw(Compute(2.0, straggler=0.5, mean_delay=4.0)).mean() == pytest.approx(4.0, rel=0.02)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Scenario("ring"), "expected: one of async, sync, all_reduce\n  received: 'ring'"),
        (lambda: Scenario(workers=0), "workers .*\n  expected: an integer, at least 1\n  received: 0"),
        (lambda: Scenario(workers=2.0), "received: 2.0"),
        (lambda: Scenario(backups=1), "expected: 0 in mode 'async'"),
        (lambda: Scenario(shards=()), "at least one parameter server"),
        (lambda: Scenario(shards=(-1.0,)), "shards .*\n  expected: bytes, at least 0"),
        (lambda: Scenario(link=Link(-1.0, 1.0)), "link.latency"),
        (lambda: Scenario(ps_link=Link(0.0, 0.0)), "ps_link.bandwidth"),
        (lambda: Scenario(apply=0.0), "apply .*\n  expected: more than 0"),
        (lambda: Scenario(sharing="none"), "one of fair, fifo"),
        (lambda: Scenario(forward=2.0), "forward"),
        (lambda: Scenario(host_cores=0), "host_cores"),
        (lambda: Compute(math.nan), "median"),
        (lambda: Compute(straggler=1.5), "a probability, from 0 to 1\n  received: 1.5"),
        (lambda: Compute(samples=(1.0, -2.0)), "samples"),
        (lambda: Failures(0.0), "between"),
        (lambda: Failures(1.0, interval=0.0), "interval"),
        (lambda: even_shards(1.0, 0), "ps .*at least 1|expected: an integer"),
        (lambda: simulate(Scenario(), steps=0), "needs steps"),
    ],
)
def test_impossible_jobs_are_refused(make, words):
    with pytest.raises(InvalidArgumentError, match=words):
        make()
