"""Invalid input: every operation returns values that match static inference, or an error that names node and line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from tests.sandbox import Case, Sandbox
from tests.strategies import spoiled, valid
from tests.valid_calls.values import X, floats, held, ints, longs, texts
from thalweg._src.graph.function import FUNCTIONAL
from thalweg._src.graph.op_def import OPS

# Operations that no user builds: the executor puts them into a step, together with what they need.
EXEMPT = {
    "_Arg": "stands for a fed value, which the step brings; it has no kernel",
    **dict.fromkeys(("_Recv", "_RecvMany"), "waits for a send of another device, which would wait for ever here"),
    **dict.fromkeys(
        ["CollectiveBcastRecv", "_CollectiveBegin", "_CollectiveStart", "_CollectiveWait"],
        "takes part in what several devices or tasks do",
    ),
    **dict.fromkeys(
        ["EmptyTensorList", "_ListRows", *(name for name in OPS if name.startswith("TensorList"))],
        "is, or takes, a value that only other operations can read",
    ),
    **dict.fromkeys(FUNCTIONAL, "calls functions of the graph's library"),
    "MutexLock": "is a value that only ConsumeMutexLock can read",
    **dict.fromkeys(
        [f"_{what}Transaction" for what in ("Begin", "Prepare", "Commit", "End", "Release")],
        "takes part in what several tasks do",
    ),
    "_ClaimUpdates": "gives another claim each time",
    "_Dataset": "is a value that only iterators can read",
    **dict.fromkeys(
        ["OptionalFromValue", "OptionalNone", "IteratorGetNextAsOptional"],
        "is a value that only OptionalGetValue and OptionalHasValue can read",
    ),
    **dict.fromkeys(
        ["ResourceAccumulatorTakeGradient", "SparseAccumulatorTakeGradient"],
        "waits for as many gradients as it is asked for",
    ),
    **dict.fromkeys(
        ["Unstage", "StagePeek"]
        + [f"{kind}{what}" for kind in ("Map", "OrderedMap") for what in ("Unstage", "UnstageNoKey", "Peek")],
        "waits for what another step leaves",
    ),
    "_AsNumber": "gives a Python number, for a loop to count with",
    "_AsTensor": "takes a Python number",
    "_Alive": "stands behind a fetch, with the predicates that it checks",
    "_Choose": "comes from a Merge whose predicate is known",
    "_While": "is made of a loop, with its body inside",
    "_Cluster": "is made of other nodes, and bound with them",
}
# Operations whose valid call ends with an error.
_REFERENCES = "forwards references, which has its meaning in a graph with control flow"
NEVER_RUNS = {
    **dict.fromkeys(("RefEnter", "RefExit", "RefMerge", "RefNextIteration", "RefSwitch", "RefIdentity"), _REFERENCES),
    "Variable": "has no value",
    "VariableV2": "has no value",
    "Enter": "returns a value inside a loop, which cannot be fetched",
    "Exit": "leaves a loop, and alone there is none",
    "LoopCond": "decides whether a loop goes on, and alone there is none",
    "Placeholder": "must be fed, and then does not run",
    "Switch": "has an output that is dead, whichever it is",
    **dict.fromkeys(
        (
            f"TensorArray{name}V3"
            for name in ["Close", "Concat", "Gather", "Grad", "Read", "Scatter", "Size", "Split", "Write"]
        ),
        "takes the handle of an array of the same step",
    ),
    **dict.fromkeys(
        (f"Stack{name}V2" for name in ["Close", "Pop", "Push"]), "takes the handle of a stack of the same step"
    ),
    **dict.fromkeys(["GetSessionTensor", "DeleteSessionTensor"], "takes the handle of a value of the same session"),
    "_OneShotIterator": "takes the token of a dataset that the process made before",
    "IteratorFromStringHandleV2": "takes the handle of an iterator of the same session",
    "_RestoreIterator": "takes what _IteratorState gave",
}
NAMES = sorted(set(OPS) - set(EXEMPT))

# Every kind of input that once went wrong.
ONCE_WRONG = [
    Case("AccumulateNV2", ([floats(2, 2)],), {"shape": (2, 3)}),
    Case("Assert", (np.array(True), [])),
    Case("AssignVariableOp", (held(texts("a")), floats(1))),
    Case("BroadcastArgs", (longs(2), longs(1, 3))),
    Case("Complex", (X, X), {"Tout": "complex128"}),
    Case("ConcatV2", ([texts("a", "b"), texts("c")], ints(-(2**31)))),
    Case("Const", (), {"value": X, "dtype": "bfloat16"}),
    Case("Diag", (np.zeros((0, 2**40), np.float32),)),
    Case("Fill", (ints(2), np.array(1.0))),
    Case("Fill", (longs(2**20, 2**20), np.array(1.0))),
    Case("Fill", (longs(2**40, 2**40), np.array(1.0))),
    Case("GatherNd", (np.arange(6, dtype=np.uint16).reshape(2, 3), ints([[0, 1], [1, 2]]))),
    Case("GatherV2", (X, np.array([0, 1], np.int16), ints(1))),
    Case("LRNGrad", (floats(1, 4, 1, 2), floats(1, 4, 5, 2), floats(1, 4, 5, 2))),
    Case("Rank", (held(X),)),
    Case("ReverseSequence", (texts("a", "b").reshape(2, 1), ints(1, 1)), {"seq_dim": 1}),
    Case("ResourceCountUpTo", (held(ints([3])),), {"limit": 5, "T": "int32"}),
    Case("ResourceGatherNd", (held(X), ints([[0, 1]])), {"dtype": "int64"}),
    Case("ResourceStridedSliceAssign", (held(X), ints(0, 2), ints(2, 0), ints([[1, -1]]), floats(2, 2))),
    Case("Shape", (np.zeros((0, 2**40), np.float32),)),
    Case("SigmoidGrad", (floats(2, 1), floats(2, 3))),
    Case("Split", (np.zeros((2, 0), np.int32), X), {"num_split": 2}),
    Case("Tile", (floats(2), longs(1, 1))),
    Case("Transpose", (X, np.zeros((0, 2), np.int32))),
    Case("Unpack", (X,), {"num": 2**40}),
    Case("Unpack", (X,), {"num": 2**70}),
    Case(
        "_MaxPoolIndexedGrad",
        (floats(1, 2, 2, 1), longs([[[[2**31]]]]), floats(1, 1, 1, 1)),
        {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
    ),
]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with contextlib.closing(Sandbox()) as box:
        yield box


def test_every_operation_runs(sandbox: Sandbox) -> None:
    """The unmodified calls are valid: each operation is reached behind its first check."""
    failed = {name for name in NAMES if not sandbox.run(valid(name)).succeeded}
    assert failed == set(NEVER_RUNS)
    assert len(failed) <= 0.1 * len(NAMES)


def spoil(sandbox: Sandbox, name: str, examples: int) -> None:
    @settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=examples,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def survives(data: st.DataObject) -> None:
        report = sandbox.run(data.draw(spoiled(name)))
        assert not report.problems, "\n".join(report.problems)

    survives()


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_survives_invalid_input(sandbox: Sandbox, name: str) -> None:
    spoil(sandbox, name, examples=8)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_operation_survives_more_invalid_input(sandbox: Sandbox, name: str) -> None:
    spoil(sandbox, name, examples=32)


@pytest.mark.parametrize("case", ONCE_WRONG, ids=lambda case: case.op)
def test_regressions(sandbox: Sandbox, case: Case) -> None:
    report = sandbox.run(case)
    assert not report.problems, "\n".join(report.problems)


def test_every_exemption_is_needed() -> None:
    assert set(EXEMPT) | set(NEVER_RUNS) <= set(OPS)


def test_sandbox_survives_what_it_runs() -> None:
    """A case that kills or stops the process is reported, and the next one runs."""
    with contextlib.closing(Sandbox(seconds=3)) as box:
        assert "kills the process" in box.run(Case("PyFunc", ([],), {"token": "abort", "Tout": []})).problems[0]
        assert "hangs" in box.run(Case("PyFunc", ([],), {"token": "hang", "Tout": []})).problems[0]
        assert box.run(valid("Add")).succeeded
