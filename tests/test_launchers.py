"""The files in examples/launchers: their parts agree, and describe clusters as the resolvers read them."""

import copy
import json
import os
import re
import sys
from pathlib import Path

import pytest
import yaml

import thalweg as tf
from tests import children

FOLDER = Path(__file__).parents[1] / "examples" / "launchers"
DOCUMENTS = list(yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text()))
(TFJOB,) = yaml.safe_load_all((FOLDER / "tfjob.yaml").read_text())
SRUN = """#!/bin/bash
# Starts tasks on this machine, with the variables that Slurm sets for the tasks of a step.
while [[ $1 == -* ]]; do shift; done
export SLURM_STEP_ID=0 SLURM_STEP_NODELIST=localhost SLURM_STEP_NUM_TASKS=$SLURM_NTASKS
export SLURM_STEP_TASKS_PER_NODE=$SLURM_NTASKS SLURM_NODEID=0
for ((rank = 0; rank < SLURM_NTASKS; rank++)); do
  SLURM_PROCID=$rank SLURM_LOCALID=$rank "$@" &
done
for ((rank = 0; rank < SLURM_NTASKS; rank++)); do
  wait -n || { status=$?; kill $(jobs -p); exit $status; }
done
"""


def _find(kind, name):
    return next(each for each in DOCUMENTS if (each["kind"], each["metadata"]["name"]) == (kind, name))


def _container(workload):
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    return container


def _read(text, monkeypatch):
    """Returns the cluster and the task that a program reads from a TF_CONFIG."""
    monkeypatch.setenv("TF_CONFIG", text)
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    return resolver.cluster_spec(), resolver.task_type, resolver.task_id


WORKLOADS = {
    "ps": (_find("StatefulSet", "ps"), "metadata.labels['apps.kubernetes.io/pod-index']"),
    "worker": (_find("Job", "worker"), "metadata.annotations['batch.kubernetes.io/job-completion-index']"),
}
COUNTS = {"ps": WORKLOADS["ps"][0]["spec"]["replicas"], "worker": WORKLOADS["worker"][0]["spec"]["completions"]}


# -- Kubernetes -------------------------------------------------------------------------------------------------------


def test_manifests_fit_the_schemas_of_kubernetes():
    package = "kubernetes_validate"  # 110 MB of schemas: not in the extra `test`, but installed by `make test-hosts`
    schemas = pytest.importorskip(package, reason="pip install kubernetes-validate")
    for version in ("1.28", schemas.latest_version()):
        for document in DOCUMENTS:
            assert schemas.validate(document, version, strict=True)
    mistaken = copy.deepcopy(_find("StatefulSet", "ps"))
    mistaken["spec"]["replica"] = mistaken["spec"].pop("replicas")
    with pytest.raises(schemas.ValidationError, match="replica"):
        schemas.validate(mistaken, "1.28", strict=True)


@pytest.mark.parametrize("job", WORKLOADS)
def test_the_addresses_are_those_of_pods_and_services(job, monkeypatch):
    workload, index_path = WORKLOADS[job]
    index, config, token = _container(workload)["env"]  # what $(INDEX) stands for comes before its use
    assert index == {"name": "INDEX", "valueFrom": {"fieldRef": {"fieldPath": index_path}}}
    assert config["name"] == "TF_CONFIG" and token["name"] == "THALWEG_CLUSTER_TOKEN"
    for number in range(COUNTS[job]):
        cluster, task_type, task_id = _read(config["value"].replace("$(INDEX)", str(number)), monkeypatch)
        assert (task_type, task_id) == (job, number)
        for each, count in COUNTS.items():
            (port,) = _find("Service", each)["spec"]["ports"]
            own = WORKLOADS[each][0]["metadata"]["name"]
            assert cluster.job_tasks(each) == [f"{own}-{n}.{each}:{port['port']}" for n in range(count)]


@pytest.mark.parametrize("job", WORKLOADS)
def test_services_find_the_pods(job):
    workload, service = WORKLOADS[job][0], _find("Service", job)
    template = workload["spec"]["template"]
    labels, (port,) = template["metadata"]["labels"], _container(workload)["ports"]
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["selector"].items() <= labels.items()
    assert {"name": port["name"], "port": port["containerPort"]} == service["spec"]["ports"][0]
    assert job == (workload["spec"].get("serviceName") or template["spec"]["subdomain"])
    policy = _find("NetworkPolicy", "thalweg")["spec"]
    (ingress,) = policy["ingress"]
    allowed = ingress["from"][0]["podSelector"]
    assert ingress["ports"] == [{"port": port["containerPort"]}]
    assert policy["podSelector"] == allowed and allowed["matchLabels"].items() <= labels.items()
    selector = workload["spec"].get("selector", {"matchLabels": labels})
    assert selector["matchLabels"] == labels


def test_workers_are_numbered_and_run_at_once():
    spec = WORKLOADS["worker"][0]["spec"]
    assert spec["completionMode"] == "Indexed" and spec["parallelism"] == spec["completions"]


def _templates():
    yield from (workload["spec"]["template"] for workload, _ in WORKLOADS.values())
    yield from (replica["template"] for replica in TFJOB["spec"]["tfReplicaSpecs"].values())


@pytest.mark.parametrize("template", list(_templates()))
def test_pods_have_the_token_and_the_folder_of_checkpoints(template):
    (container,) = template["spec"]["containers"]
    variables = {each["name"]: each for each in container["env"]}
    assert variables["THALWEG_CLUSTER_TOKEN"]["valueFrom"] == {"secretKeyRef": {"name": "thalweg", "key": "token"}}
    (mount,), (volume,) = container["volumeMounts"], template["spec"]["volumes"]
    assert mount["name"] == volume["name"]
    command = container["command"]
    if command != ["thalweg", "server"]:
        assert command[command.index("--checkpoints") + 1].startswith(f"{mount['mountPath']}/")


def test_the_operator_makes_a_cluster_of_the_tfjob(monkeypatch):
    replicas = TFJOB["spec"]["tfReplicaSpecs"]
    cluster = {}
    for job, replica in replicas.items():
        (container,) = replica["template"]["spec"]["containers"]
        (port,) = container["ports"]
        assert (container["name"], port["name"]) == ("tensorflow", "tfjob-port")
        name = f"{TFJOB['metadata']['name']}-{job.lower()}"
        hosts = [f"{name}-{number}.default.svc" for number in range(replica["replicas"])]
        cluster[job.lower()] = [f"{host}:{port['containerPort']}" for host in hosts]
    task = {"type": "worker", "index": 2}
    text = json.dumps({"cluster": cluster, "task": task, "environment": "cloud"})
    spec, job, index = _read(text, monkeypatch)
    assert (job, index) == ("worker", 2) and spec.task_address("worker", 2) == "thalweg-worker-2.default.svc:2222"
    assert {job: spec.num_tasks(job) for job in spec.jobs} == COUNTS


# -- Slurm ------------------------------------------------------------------------------------------------------------


def _directives():
    return dict(re.findall(r"^#SBATCH --([\w-]+)=(\S+)$", (FOLDER / "slurm.sh").read_text(), re.MULTILINE))


def test_all_tasks_of_slurm_have_a_place():
    wanted = {name: int(value) for name, value in _directives().items() if value.isdecimal()}
    assert wanted["ntasks"] == wanted["nodes"] * wanted["ntasks-per-node"]


def _execute(folder, name, text):
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_script_of_slurm_trains_and_resumes(tmp_path):
    programs, directives = tmp_path / "bin", _directives()
    programs.mkdir()
    _execute(programs, "srun", SRUN)
    _execute(programs, "thalweg", f'#!/bin/sh\nexec {sys.executable} -m thalweg "$@"\n')
    environment = children.environment()
    environment |= {
        "PATH": f"{programs}:{environment['PATH']}",
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_JOB_NAME": directives["job-name"],
        "SLURM_JOB_NODELIST": "localhost",
        "SLURM_NTASKS": directives["ntasks"],
        "SLURM_NTASKS_PER_NODE": directives["ntasks"],
        "SLURM_TASKS_PER_NODE": directives["ntasks"],
        "SLURM_CPUS_PER_TASK": "1",
        "PROGRAM": str(FOLDER / "train.py"),
        "CHECKPOINTS": str(tmp_path / "model"),
    }
    for steps in (200, 1):  # the second run begins where the first one has ended
        done = children.run(["/bin/bash", FOLDER / "slurm.sh"], env={**environment, "STEPS": str(steps)}, timeout=140)
        ends = re.findall(r"worker (\d): loss [\d.]+ after (\d+) steps", done.stdout)
        assert sorted(worker for worker, _ in ends) == ["0", "1", "2"]
        assert all(int(made) >= 200 for _, made in ends)
