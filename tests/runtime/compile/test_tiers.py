"""Execution tiers: sequences of events and the resulting actions."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from thalweg._src.runtime.compile import tiers
from thalweg._src.runtime.compile.tiers import (
    MAX_CAPTURES,
    MAX_LAYOUTS,
    REMEMBERED,
    TIMED_CALLS,
    CaptureTiers,
    Launch,
    Stale,
    StepTiers,
    Tier,
    Tiers,
    TrialTiers,
)


def test_the_machines_are_pure() -> None:
    tree = ast.parse(Path(tiers.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported == {"__future__", "enum", "collections.abc", "statistics", "threading"}
    threading = {
        n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "threading"
    }
    assert threading == {"Lock"}


def test_a_small_program_runs_generated_code_at_once() -> None:
    step = StepTiers(is_large=False, compiles=False)
    assert [step.called() for _ in range(3)] == [Tier.RUN] * 3


def test_a_large_program_is_interpreted_once_then_generated() -> None:
    step = StepTiers(is_large=True, compiles=False)
    assert [step.called() for _ in range(4)] == [Tier.INTERPRET, Tier.GENERATE, Tier.RUN, Tier.RUN]


def test_a_hot_step_is_compiled_once() -> None:
    machine = Tiers()
    machine.step = StepTiers(is_large=False, compiles=True)
    assert [machine.step_ran(4.0, 10.0) for _ in range(5)] == [False, False, True, False, False]
    assert not machine.step.compiles


def test_compilation_can_be_disabled() -> None:
    machine = Tiers()
    assert not any(machine.step_ran(100.0, 10.0) for _ in range(3))


@pytest.mark.parametrize(("plain", "compiled", "kept"), [(2.0, 1.0, True), (1.0, 2.0, False), (1.0, 1.0, False)])
def test_a_trial_keeps_the_faster_function(plain: float, compiled: float, kept: bool) -> None:
    trial = TrialTiers()
    decided = []
    for _ in range(14):
        call, is_compiled = trial.called()
        loading = 100.0 if call < 2 else 0.0  # the first call of each does not count
        decided.append(trial.timed(call, loading + (compiled if is_compiled else plain)))
    assert decided.index(True) == 11 and decided.count(True) == 1
    assert trial.winner is kept


def test_a_trial_of_several_threads_ends_once() -> None:
    trial = TrialTiers()
    calls = [trial.called() for _ in range(20)]  # all start before the first one ends
    decided = [trial.timed(call, 1.0) for call, _ in reversed(calls)]
    assert decided.count(True) == 1


def launches(capture: CaptureTiers, signature: str, count: int) -> list[Launch]:
    found = []
    for _ in range(count):
        launch, _ = capture.called(signature)
        if launch is Launch.CAPTURE:
            capture.captured(signature)
        found.append(launch)
    return found


WARM = [Launch.EAGER, Launch.EAGER, Launch.WATCHED, Launch.CAPTURE]


def test_a_signature_warms_up_is_captured_and_replayed() -> None:
    assert launches(CaptureTiers(), "a", 6) == [*WARM, Launch.REPLAY, Launch.REPLAY]


def test_each_signature_warms_up_by_itself() -> None:
    capture = CaptureTiers()
    assert launches(capture, "a", 4) == WARM
    assert launches(capture, "b", 4) == WARM
    assert launches(capture, "a", 1) == [Launch.REPLAY]


def test_the_number_of_captures_is_limited() -> None:
    capture = CaptureTiers()
    for number in range(MAX_CAPTURES):
        assert launches(capture, str(number), 4) == WARM
    assert launches(capture, "one more", 9) == [Launch.EAGER] * 9


def test_a_capture_prevented_by_a_reference_is_retried() -> None:
    capture = CaptureTiers()
    assert [capture.called("a")[0] for _ in range(4)] == WARM
    capture.postponed("a")
    assert launches(capture, "a", 4) == WARM


def test_changed_cluster_functions_drop_all_captures() -> None:
    capture = CaptureTiers()
    launches(capture, "a", 5)
    assert not capture.clusters_changed(0)
    assert capture.clusters_changed(1) and not capture.clusters_changed(1)
    assert launches(capture, "a", 4) == WARM


def test_what_cannot_be_captured_runs_eagerly() -> None:
    capture = CaptureTiers()
    assert capture.called(None) == (Launch.EAGER, False)
    launches(capture, "a", 5)
    capture.failed = True
    assert launches(capture, "a", 3) == [Launch.EAGER] * 3


def test_rare_signatures_are_forgotten() -> None:
    capture = CaptureTiers()
    assert not any(capture.called(str(number))[1] for number in range(REMEMBERED))
    assert capture.called("one more") == (Launch.EAGER, True)
    assert launches(capture, "0", 4) == WARM


# -- the machine of a step --------------------------------------------------------------------------------------------


def decide(machine: Tiers, cluster: str, layout: str, plain: float, compiled: float) -> list[bool | None]:
    """Runs a trial to its end; returns what each call decided."""
    decisions = []
    for _ in range(2 * TIMED_CALLS + 2):
        call, is_compiled = machine.trial_called(cluster, layout)
        decisions.append(machine.trial_timed(cluster, layout, call, compiled if is_compiled else plain))
    return decisions


def test_a_cluster_is_compiled_once_per_layout_and_for_few() -> None:
    machine = Tiers()
    assert [machine.layout_seen("a", layout) for layout in "xxyx"] == [True, False, True, False]
    assert [machine.layout_seen("b", layout) for layout in "xyzuvw"] == [True] * MAX_LAYOUTS + [False] * 2


def test_no_segment_is_captured_during_a_trial() -> None:
    machine = Tiers()
    machine.library_arrived("cluster", "layout")
    assert {machine.segment_called("segment", "a") for _ in range(9)} == {(Launch.EAGER, Stale.NOTHING)}
    assert decide(machine, "cluster", "layout", plain=2.0, compiled=1.0)[-1] is True
    assert machine.segment_called("segment", "a") == (Launch.EAGER, Stale.ALL)
    assert [machine.segment_called("segment", "a")[0] for _ in range(3)] == [
        Launch.EAGER,
        Launch.WATCHED,
        Launch.CAPTURE,
    ]


def test_captures_are_dropped_when_a_cluster_changes_its_function() -> None:
    machine = Tiers()
    while machine.segment_called("segment", "a")[0] is not Launch.CAPTURE:
        pass
    machine.segment_captured("segment", "a")
    assert machine.segment_called("segment", "a") == (Launch.REPLAY, Stale.NOTHING)
    machine.library_arrived("cluster", "layout")
    assert machine.segment_called("segment", "a") == (Launch.EAGER, Stale.NOTHING)
    assert decide(machine, "cluster", "layout", plain=1.0, compiled=2.0)[-1] is False
    assert machine.segment_called("segment", "a") == (Launch.EAGER, Stale.ALL)


def test_segments_are_captured_apart() -> None:
    machine = Tiers()
    machine.segment_called("failed", "a")
    machine.capture_failed("failed")
    assert machine.is_eager("failed") and not machine.is_eager("other")
    assert [machine.segment_called("other", "a")[0] for _ in range(4)][-1] is Launch.CAPTURE
    machine.capture_postponed("other", "a")
    assert machine.segment_called("other", "a") == (Launch.EAGER, Stale.NOTHING)
    assert {machine.segment_called("failed", "a")[0] for _ in range(6)} == {Launch.EAGER}


def test_copies_are_dropped_with_their_signatures() -> None:
    machine = Tiers()
    stale = [machine.segment_called("segment", number)[1] for number in range(REMEMBERED + 1)]
    assert stale == [Stale.NOTHING] * REMEMBERED + [Stale.COPIES]


def test_a_step_is_interpreted_compiled_tried_and_captured() -> None:
    machine = Tiers()
    machine.step = StepTiers(is_large=True, compiles=True)
    assert [machine.step_called() for _ in range(3)] == [Tier.INTERPRET, Tier.GENERATE, Tier.RUN]
    assert [machine.step_ran(6.0, 10.0) for _ in range(3)] == [False, True, False] and not machine.step.compiles
    assert machine.layout_seen("cluster", "layout")
    machine.library_arrived("cluster", "layout")
    assert decide(machine, "cluster", "layout", plain=2.0, compiled=1.0)[-1] is True
    launches = [machine.segment_called("segment", "a")[0] for _ in range(4)]
    assert launches == [Launch.EAGER, Launch.EAGER, Launch.WATCHED, Launch.CAPTURE]


def test_threads_end_a_trial_once() -> None:
    machine = Tiers()
    machine.library_arrived("cluster", "layout")
    with ThreadPoolExecutor(8) as pool:
        trials = [pool.submit(decide, machine, "cluster", "layout", 2.0, 1.0) for _ in range(8)]
    assert [decision for trial in trials for decision in trial.result() if decision is not None] == [True]
