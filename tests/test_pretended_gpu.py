"""Whole programs and random ones on the pretended GPU, in processes of their own: torch cannot lose a device again.

`make test-pretended-gpu` runs all other tests there too.
"""

import sys
from pathlib import Path

import pytest

from tests import children
from tests.control_flow.programs import COUNT

ROOT = Path(__file__).parents[1]
RANDOM = "tests/control_flow/test_random_programs.py::test_engines_agree"
RUNS = {
    "device": ["tests/test_away_tensors.py"],
    "types": ["tests/kernels/test_types.py"],
    "programs": ["tests/test_programs.py", "tests/place/test_towers.py"],
    "random programs": [f"{RANDOM}[{seed}]" for seed in range(0, COUNT, 3)],
    "eager": ["tests/eager", "--ignore=tests/eager/test_cases.py"],
    "values that arrays keep": ["tests/contrib/test_integrate.py"],
}


@pytest.mark.parametrize("tests", RUNS.values(), ids=RUNS)
def test_on_a_gpu(tests, pytestconfig, tmp_path):
    if pytestconfig.getoption("--pretend-gpu"):
        pytest.skip("these tests run there already")
    options = ["-n0", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'child'}", "--tb=short", "--pretend-gpu"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    done = children.run(command, check=False, cwd=ROOT, env=children.environment(OMP_NUM_THREADS="1"))
    assert done.returncode == 0, done.stdout[-4000:]
    assert "passed" in done.stdout
