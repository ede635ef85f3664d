"""Mutants of real graphs are refused, or their steps run or end with typed errors, in bounded time and memory."""

from __future__ import annotations

import builtins
import random
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import thalweg as tf
from tests.graph.mutations import mutant

MEMORY = 3 << 29
TRACED = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)  # by the interpreter instead of generated code
UNTYPED = (tf.errors.InternalError, tf.errors.UnknownError)


@pytest.fixture
def limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Limits the memory that a test may take; no text of a graph may run as code."""
    called: list[int] = []
    monkeypatch.setattr(builtins, "thalweg_canary", lambda: called.append(1), raising=False)
    monkeypatch.chdir(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)
    assert called == []


def run(graph: Any, seed: int) -> None:
    """Runs some of the operations; only the compilation of a step may end with another error than OpError."""
    r = random.Random(seed)
    elements = [e for o in graph.get_operations() for e in (o, *o.outputs[:2])]
    config = tf.ConfigProto(operation_timeout_in_ms=300)
    with tf.Session(config=config) as session:
        initial = [o for o in graph.get_operations() if o.type in ("AssignVariableOp", "LookupTableImportV2")]
        for element in [*initial, *r.sample(elements, min(12, len(elements)))]:
            try:
                step = session.make_callable(element, accept_options=True)
            except UNTYPED:
                raise
            except (tf.errors.OpError, ValueError, TypeError):
                continue
            try:
                step(options=r.choice((None, TRACED)), run_metadata=tf.RunMetadata())
            except UNTYPED:
                raise
            except tf.errors.OpError:
                pass


def check(seeds: range) -> None:
    imported = 0
    for seed in seeds:
        with tf.Graph().as_default() as graph:
            try:
                tf.import_graph_def(mutant(seed), name="")
            except ValueError:
                assert not graph.get_operations()
                continue
            except Exception as error:
                raise AssertionError(f"the import of mutant {seed} ends with an untyped error") from error
            imported += 1
            try:
                run(graph, seed)
            except Exception as error:
                raise AssertionError(f"a step of mutant {seed} ends with an untyped error") from error
    assert imported > len(seeds) // 3, "most mutants are refused: the steps are not tested"


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("part", range(10))
def test_mutants_end_with_typed_errors(part: int) -> None:
    check(range(part * 50, part * 50 + 50))


@pytest.mark.slow
@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("part", range(40))
def test_many_mutants_end_with_typed_errors(part: int) -> None:
    check(range(1000 + part * 250, 1250 + part * 250))
