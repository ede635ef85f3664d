"""Simulates scenarios: one, or one for each number of workers and backup workers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from thalweg._src.base.errors import describe, invalid
from thalweg._src.tools.simulate.all_reduce import simulate_all_reduce
from thalweg._src.tools.simulate.failures import effective_time
from thalweg._src.tools.simulate.parameter_servers import ParameterServers
from thalweg._src.tools.simulate.result import Result
from thalweg._src.tools.simulate.scenario import Failures, Scenario


def simulate(scenario: Scenario, steps: int = 50, seed: int = 0, failures: Failures | None = None) -> Result:
    """Simulates a training job; the same seed gives the same result.

    steps: of each worker on average, of which the first fifth is not counted with parameter servers
    failures: how often tasks fail; None if they do not
    """
    if steps < 1:
        raise invalid(describe("a simulation needs steps", expected="at least 1", received=str(steps)))
    if scenario.mode == "all_reduce":
        result = simulate_all_reduce(scenario, steps, seed)
    else:
        result = ParameterServers(scenario, steps, seed).run()
    return result if failures is None else replace(result, effective=effective_time(scenario, failures, seed))


def sweep(
    scenario: Scenario,
    workers: Iterable[int],
    modes: Iterable[str] = (),
    backups: Iterable[int] = (0,),
    steps: int = 50,
    seed: int = 0,
    failures: Failures | None = None,
) -> list[Result]:
    """Simulates a job with each number of workers in each mode, the synchronous one with each number of backups."""
    results = []
    numbers, spares = tuple(workers), tuple(backups)
    for mode in modes or (scenario.mode,):
        for number in numbers:
            for spare in spares if mode == "sync" else (0,):
                variation = replace(scenario, mode=mode, workers=number, backups=spare)
                results.append(simulate(variation, steps, seed, failures))
    return results
