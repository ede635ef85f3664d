"""The variables of Slurm, and the cluster that they describe."""

from __future__ import annotations

import os
from typing import Any

import pytest

import thalweg as tf
from thalweg._src.cluster.resolvers.slurm import expand_counts, expand_hosts

STEP = {
    "SLURM_PROCID": "3",
    "SLURM_NTASKS": "5",
    "SLURM_STEP_NUM_TASKS": "5",
    "SLURM_JOB_NODELIST": "node[1-4]",
    "SLURM_TASKS_PER_NODE": "4(x4)",
    "SLURM_STEP_NODELIST": "node[2-3,7]",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2),1",
}
ADDRESSES = ["node2:8888", "node2:8889", "node3:8888", "node3:8889", "node7:8888"]


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a resolver in an environment with some variables."""
    for name in [name for name in os.environ if name.startswith(("SLURM_", "OMPI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "before")

    def resolve(variables: dict[str, str], *args: Any, **options: Any) -> Any:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return tf.distribute.cluster_resolver.SlurmClusterResolver(*args, **options)

    return resolve


@pytest.mark.parametrize(
    ("hosts", "names"),
    [
        ("node", ["node"]),
        ("node1,node3", ["node1", "node3"]),
        ("node[1-3,7],gpu-0[01-02]", ["node1", "node2", "node3", "node7", "gpu-001", "gpu-002"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("n[7-8].cluster.org,m", ["n7.cluster.org", "n8.cluster.org", "m"]),
        ("rack[0-1]n[3,5]", ["rack0n3", "rack0n5", "rack1n3", "rack1n5"]),
    ],
)
def test_expressions_of_hosts(hosts: str, names: list[str]) -> None:
    assert expand_hosts(hosts) == names


@pytest.mark.parametrize("hosts", ["", ",", "a,", "a[1-", "a[]", "a[1-2", "a]", "a[1-2]]", "a[x]", "a[1,]", "a b"])
def test_other_expressions_of_hosts_are_refused(hosts: str) -> None:
    with pytest.raises(ValueError, match="is not a list of hosts as Slurm writes it"):
        expand_hosts(hosts)


def test_expressions_of_counts() -> None:
    assert expand_counts("3(x2),1,12(x1)") == [3, 3, 1, 12]
    for wrong in ("", "2(x)", "2x3", "(x3)", "1,"):
        with pytest.raises(ValueError, match="is not a list of tasks per node as Slurm writes it"):
            expand_counts(wrong)


def test_tasks_of_a_step_are_divided_among_jobs(resolve: Any) -> None:
    resolver = resolve(STEP, {"worker": 3, "ps": 2}, gpus_per_node=4, gpus_per_task=2)
    assert resolver.get_task_info() == ("worker", 1)
    assert resolver.cluster_spec().as_dict() == {"ps": ADDRESSES[:2], "worker": ADDRESSES[2:]}
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert resolver.num_accelerators() == {"GPU": 2}
    assert resolver.master() == "grpc://node3:8889"
    assert resolver.master("ps", 0, rpc_layer="tcp") == "tcp://node2:8888"


def test_all_tasks_are_workers_by_default(resolve: Any) -> None:
    resolver = resolve(STEP, port_base=9000, gpus_per_node=0, gpus_per_task=0, auto_set_gpu=False, rpc_layer=None)
    assert resolver.cluster_spec().job_tasks("worker") == [
        *("node2:9000", "node2:9001", "node3:9000", "node3:9001", "node7:9000")
    ]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "before"
    assert resolver.get_task_info() == ("worker", 3)
    assert resolver.master() == "node3:9001"


def test_a_task_without_gpus_sees_none(resolve: Any) -> None:
    resolve(STEP, gpus_per_node=0, gpus_per_task=0).cluster_spec()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""


@pytest.mark.parametrize(
    "variables",
    [
        {"SLURM_PROCID": "1", "SLURM_NTASKS": "3", "SLURM_JOB_NODELIST": "a[1-3]", "SLURM_NTASKS_PER_NODE": "1"},
        {"SLURM_PROCID": "1", "SLURM_NTASKS": "3", "SLURM_NODELIST": "a[1-3]", "SLURM_TASKS_PER_NODE": "1(x3)"},
        {
            **{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"},
            **{"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_STEP_NODELIST": "a[2-3]"},
            **{"SLURM_STEP_TASKS_PER_NODE": "1(x2)", "SLURM_JOB_NODELIST": "a[1-3]", "SLURM_TASKS_PER_NODE": "1(x3)"},
        },
    ],
)
def test_variables_of_jobs_and_of_mpirun(resolve: Any, variables: dict[str, str]) -> None:
    resolver = resolve(variables, {"ps": 1, "worker": 2})
    assert resolver.cluster_spec().as_dict() == {"ps": ["a1:8888"], "worker": ["a2:8888", "a3:8888"]}
    assert resolver.get_task_info() == ("worker", 0)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"


def test_tasks_per_node_override_those_of_slurm(resolve: Any) -> None:
    resolver = resolve(STEP, gpus_per_node=3, tasks_per_node=3)
    assert resolver.cluster_spec().job_tasks("worker")[2:4] == ["node2:8890", "node3:8888"]
    resolver = resolve(STEP, gpus_per_node=4, tasks_per_node={"b": 1, "a": 4})
    assert resolver.cluster_spec().job_tasks("worker")[:2] == ["b:8888", "a:8888"]


@pytest.mark.parametrize(
    ("variables", "options", "words"),
    [
        ({}, {}, "Requested more GPUs per node than available: 2 tasks with 1 GPUs each, of 1"),
        ({}, {"jobs": {"worker": 4}}, "`jobs` have 4 tasks in all, but Slurm has started 5"),
        ({}, {"tasks_per_node": 1}, "Task 3 of 5 does not fit the tasks of the hosts"),
        ({"SLURM_PROCID": "5"}, {"gpus_per_node": 2}, "Task 5 of 5 does not fit the tasks of the hosts"),
        ({"SLURM_STEP_TASKS_PER_NODE": "2,3"}, {}, "Slurm names 3 hosts, .* but the tasks of 2"),
        ({"SLURM_PROCID": ""}, {}, "SLURM_PROCID is not set in the environment"),
        ({"SLURM_STEP_NUM_TASKS": "", "SLURM_NTASKS": ""}, {}, "SLURM_STEP_NUM_TASKS or SLURM_NTASKS is not set"),
    ],
)
def test_errors_name_what_is_wrong(resolve: Any, variables: Any, options: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        resolve({**STEP, **variables}, **options)
