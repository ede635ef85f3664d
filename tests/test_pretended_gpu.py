"""Whole programs and random ones on the pretended GPU, in processes of their own: torch cannot lose a device again.

`make test-pretended-gpu` runs all other tests there too.
"""

import sys
from pathlib import Path

import pytest

from tests import children
from tests.graph.control_flow.programs import COUNT

ROOT = Path(__file__).parents[1]
RANDOM = "tests/graph/control_flow/test_random_programs.py::test_engines_agree"
STREAMS = (
    "tests/runtime/kernels/test_streams.py",
    "tests/compiler/place/test_towers.py",
    "tests/graph/control_flow/test_memory.py",
)
STREAMS += (
    "tests/training/variables/test_other_memory.py",
    "tests/runtime/execute",
    "tests/runtime/eager/test_placement.py",
    "tests/runtime/function",
    "tests/test_away_tensors.py",
)
EAGER_PROGRAMS = (
    "tests/runtime/eager/test_control_flow.py",
    "tests/runtime/eager/test_programs.py",
    "tests/runtime/eager/test_bench.py",
)
RUNS = {
    "device": ["tests/test_away_tensors.py"],
    "types": ["tests/runtime/kernels/test_types.py"],
    "programs": ["tests/test_programs.py", "tests/compiler/place/test_towers.py"],
    "random programs": [f"{RANDOM}[{seed}]" for seed in range(0, COUNT, 9)],
    "eager": [
        "tests/runtime/eager",
        "--ignore=tests/runtime/eager/test_cases.py",
        *(f"--ignore={file}" for file in EAGER_PROGRAMS),
    ],
    "values that arrays keep": ["tests/compat/contrib/test_integrate.py"],
    "late kernels": ["--late", *STREAMS],
    "clusters": ["tests/runtime/compile/test_clusters.py", "-m", "not slow"],
}
SLOW_RUNS = {
    "compiled clusters": ["tests/runtime/compile/test_clusters.py", "-m", "slow", "-k", "compiled"],
    "programs with late kernels": ["--late", "tests/test_programs.py"],
    "random programs with late kernels": ["--late", *(f"{RANDOM}[{seed}]" for seed in range(0, COUNT, 9))],
    "more random programs": [f"{RANDOM}[{seed}]" for seed in range(0, COUNT, 3) if seed % 9],
    "eager programs": list(EAGER_PROGRAMS),
}
PARAMETERS = [
    *(pytest.param(tests, id=name) for name, tests in RUNS.items()),
    *(pytest.param(tests, id=name, marks=pytest.mark.slow) for name, tests in SLOW_RUNS.items()),
]


@pytest.mark.parametrize("tests", PARAMETERS)
def test_on_a_gpu(tests, pytestconfig, tmp_path):
    if pytestconfig.getoption("--pretend-gpu"):
        pytest.skip("these tests run there already")
    options = ["-n0", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'child'}", "--tb=short", "--pretend-gpu"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    done = children.run(command, check=False, cwd=ROOT, env=children.environment(OMP_NUM_THREADS="1"))
    assert done.returncode == 0, done.stdout[-4000:]
    assert "passed" in done.stdout
