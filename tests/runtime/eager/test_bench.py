"""The benchmark of eager execution: each row builds and runs in Thalweg and in torch, with equal results."""

from pathlib import Path

import pytest

import thalweg as tf
from thalweg._src.runtime.eager.mode import eager_mode

BENCH = Path(__file__).parent.parent.parent.parent / "bench"
CALLS = 3
SHARED = [
    *("op_add", "op_mul", "op_operator", "op_number", "op_matmul", "op_sum", "op_reshape", "op_index", "op_cast"),
    *("op_concat", "tape_add", "tape_mul", "tape_operator", "gradient", "mlp", "cnn"),
]


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    from workloads import data, eager_programs

    monkeypatch.setattr(data, "EAGER_CALLS", CALLS)
    monkeypatch.setattr(data, "MLP_BATCH", 4)
    monkeypatch.setattr(data, "CNN_BATCH", 2)
    monkeypatch.setattr(eager_programs, "WARM_SECONDS", 0.0)


@pytest.mark.parametrize("name", SHARED)
def test_rows_have_the_results_of_torch(name):
    from workloads import eager_programs, eager_torch

    with eager_mode():
        step = eager_programs.PROGRAMS[name](tf)
        ours = [float(step()) for _ in range(3)]
    step = eager_torch.PROGRAMS[name]()
    assert ours == pytest.approx([step() for _ in range(3)], rel=1e-4)


def test_calls_of_functions():
    from workloads import eager_programs

    with eager_mode():
        assert float(eager_programs.PROGRAMS["function_add"](tf)()) == 14.0


@pytest.mark.parametrize("name", ["mlp_function", "cnn_function"])
def test_functions_and_sessions_run(name):
    from workloads import eager_programs

    with eager_mode():
        assert eager_programs.PROGRAMS[name](tf)() is None
        assert eager_programs.REFERENCES[name](tf)() is None


def test_each_row_has_its_programs():
    import rows
    from workloads import eager_programs, eager_torch

    for row in rows.EAGER:
        assert row.workload in eager_programs.PROGRAMS
        assert "torch" not in row.peers or row.workload in eager_torch.PROGRAMS
        assert "thalweg_reference" not in row.peers or row.workload in eager_programs.REFERENCES
