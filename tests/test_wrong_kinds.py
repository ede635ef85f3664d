"""Arguments of wrong kinds: every public function and class accepts them or raises a typed error, in both modes."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import pytest

from tests.public_calls import LEFT_OUT, public
from tests.sandbox import Case, Sandbox
from thalweg._src.tools.cli.names import PublicNames

NAMES = list(public())
SPACES = sorted({name.rpartition(".")[0] for name in NAMES})


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with contextlib.closing(Sandbox(seconds=100, examiner="tests.public_calls")) as box:
        yield box


def called(sandbox: Sandbox, names: list[str], share: float) -> None:
    problems = [problem for name in names for problem in sandbox.run(Case(name, (), {"share": share})).problems]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("first", range(10))
def test_some_arguments_of_wrong_kinds_are_accepted_or_typed_errors(sandbox: Sandbox, first: int) -> None:
    called(sandbox, NAMES[first::50], share=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES, ids=lambda space: space or "tf")
def test_all_arguments_of_wrong_kinds_are_accepted_or_typed_errors(sandbox: Sandbox, space: str) -> None:
    called(sandbox, [name for name in NAMES if name.rpartition(".")[0] == space], share=1.0)


def test_most_functions_are_called_with_valid_arguments_too(sandbox: Sandbox) -> None:
    some = NAMES[::25]
    assert sum(sandbox.run(Case(name, (), {"share": 0.0})).succeeded for name in some) > 0.6 * len(some)


@pytest.mark.parametrize("reason", LEFT_OUT)
def test_every_rule_leaves_something_out(reason: str) -> None:
    assert any(re.match(LEFT_OUT[reason], ".".join(path)) for path in PublicNames().all())
