"""The script of Slurm, run by virtual hosts as nodes, whose own names mean 127.0.1.1 as on Debian."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests import children
from tests.hosts.network import Network

FOLDER = Path(__file__).parents[2] / "examples" / "launchers"
SCRIPT = FOLDER / "slurm.sh"
# Starts tasks on all nodes, with the variables that Slurm sets for the tasks of a step; ends with the first that fails.
SRUN = """#!{python}
import os, subprocess, sys
arguments = sys.argv[1:]
command = arguments[next(i for i, word in enumerate(arguments) if not word.startswith("-")):]
nodes = {nodes!r}
tasks = int(os.environ["SLURM_NTASKS"])
on_each = tasks // len(nodes)
step = dict(SLURM_STEP_ID="0", SLURM_STEP_NUM_TASKS=str(tasks), SLURM_STEP_NODELIST=os.environ["SLURM_JOB_NODELIST"],
            SLURM_STEP_TASKS_PER_NODE=f"{{on_each}}(x{{len(nodes)}})")
started = []
for rank in range(tasks):
    node, place = divmod(rank, on_each)
    own = dict(SLURM_PROCID=str(rank), SLURM_NODEID=str(node), SLURM_LOCALID=str(place))
    started.append(subprocess.Popen([*nodes[node], *command], env={{**os.environ, **step, **own}}))
for _ in started:
    _, status = os.wait()
    if status:
        for process in started:
            process.kill()
        sys.exit(1)
"""


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.timeout(600)
def test_the_script_trains_on_two_nodes_and_resumes(tmp_path):
    directives = dict(re.findall(r"^#SBATCH --([\w-]+)=(\S+)$", SCRIPT.read_text(), re.MULTILINE))
    programs = tmp_path / "bin"
    programs.mkdir()
    with Network(hosts=int(directives["nodes"]), folder=tmp_path) as network:
        for host in network.hosts:
            others = [(other.address, other.name) for other in network.hosts if other is not host]
            host.names([("127.0.1.1", host.name), *others])
        executable(programs / "srun", SRUN.format(python=sys.executable, nodes=[h.entering for h in network.hosts]))
        executable(programs / "thalweg", f'#!/bin/sh\nexec {sys.executable} -m thalweg "$@"\n')
        environment = children.environment() | {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "SLURM_JOB_ID": "4711",
            "SLURM_JOB_NAME": directives["job-name"],
            "SLURM_JOB_NODELIST": f"host[1-{directives['nodes']}]",
            "SLURM_NTASKS": directives["ntasks"],
            "SLURM_NTASKS_PER_NODE": directives["ntasks-per-node"],
            "SLURM_CPUS_PER_TASK": "1",
            "PROGRAM": str(FOLDER / "train.py"),
            "CHECKPOINTS": str(tmp_path / "model"),
        }
        script = [*network.hosts[0].entering, "/bin/bash", str(SCRIPT)]
        for steps in ("200", "1"):  # the second run begins where the first one has ended
            done = children.run(script, env={**environment, "STEPS": steps}, timeout=240)
            ends = re.findall(r"worker (\d): loss [\d.]+ after (\d+) steps", done.stdout)
            assert sorted(worker for worker, _ in ends) == ["0", "1", "2"]
            assert all(int(count) >= 200 for _, count in ends)
