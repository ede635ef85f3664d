"""The manifest of Kubernetes, run by virtual hosts: names from a name server, and pods that come back elsewhere.

A pod is a host. Its container is the command of the manifest, with the variables that Kubernetes sets and the names
that a headless service gives. What the image and the volume would provide are folders of this machine.
"""

import contextlib
import json
import os
import re
import sys
from pathlib import Path

import pytest
import yaml

from tests import children
from tests.hosts.network import Host, Network, Process, wait

pytestmark = pytest.mark.timeout(400)
FOLDER = Path(__file__).parents[2] / "examples" / "launchers"
PROGRAMS = Path(__file__).parent / "programs"
DOMAIN = "default.svc.cluster.local"
PORT = 2222
STEPS = 2500  # of all workers: 25 seconds and more, in which pods are lost
LIMIT = 15.0  # seconds from a pod that is ready to training that goes on


class Manifest:
    """What the manifest says: the service, the number of pods and the container of each workload, and open ports."""

    def __init__(self):
        self.workloads = {}
        for document in yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text()):
            kind, spec = document["kind"], document["spec"]
            if kind in ("StatefulSet", "Job"):
                (container,) = spec["template"]["spec"]["containers"]
                service = spec.get("serviceName") or spec["template"]["spec"]["subdomain"]
                count = spec.get("replicas") or spec["completions"]
                self.workloads[document["metadata"]["name"]] = service, count, container
            elif kind == "NetworkPolicy":
                (ingress,) = spec["ingress"]
                self.ports = [port["port"] for port in ingress["ports"]]


class Pod:
    """A pod and its container, which may be started again on another host."""

    def __init__(self, kubernetes, workload, index):
        self.kubernetes, self.workload, self.index = kubernetes, workload, index
        self.service, _, self.container = kubernetes.manifest.workloads[workload]
        self.name = f"{workload}-{index}"
        self.host = None

    def schedule(self):
        """Gives the pod a host with a new address, without a name yet."""
        self.host = self.kubernetes.new_host()
        self.host.admit_only(*self.kubernetes.manifest.ports)
        # As kubelet writes it: the own name means the address of the pod.
        self.host.names([(self.host.address, f"{self.name}.{self.service}.{DOMAIN}\t{self.name}")])
        self.host.run("hostname", self.name)
        search = f"search {DOMAIN} svc.cluster.local cluster.local"
        server = self.kubernetes.name_server.address
        (self.host.folder / "resolv.conf").write_text(f"nameserver {server}\n{search}\noptions ndots:5\n")

    def publish(self):
        """Has the headless service name the pod."""
        self.kubernetes.set_name(f"{self.name}.{self.service}.{DOMAIN}", self.host.address)

    def run(self):
        """Starts the container."""
        variables = {}
        for entry in self.container["env"]:
            value = entry.get("value")
            if value is None:
                source = entry["valueFrom"]
                value = str(self.index) if "fieldRef" in source else self.kubernetes.token
            # $(NAME) stands for a variable that comes before.
            variables[entry["name"]] = re.sub(r"\$\((\w+)\)", lambda match: variables[match[1]], value)
        command = [word.replace("/checkpoints", str(self.kubernetes.checkpoints)) for word in self.container["command"]]
        if "/app/train.py" in command:
            image = command.index("/app/train.py")
            command[image : image + 1] = [str(PROGRAMS / "steps.py"), str(FOLDER / "train.py")]
            command += ["--steps", str(STEPS)]
        path = f"{self.kubernetes.programs}:{os.environ['PATH']}"
        environment = children.environment(**variables, OMP_NUM_THREADS="1", PATH=path)
        log = self.host.folder / "log"
        with log.open("w") as file:
            process = children.start([*self.host.entering, *command], env=environment, stdout=file, stderr=file)
        self.host.processes["container"] = Process(process, log)

    def start(self):
        self.schedule()
        self.publish()
        self.run()

    def is_ready(self):
        """Returns whether the container listens, as the probe of the manifest asks."""
        return bool(self.host.run("ss", "-Hltn", f"sport = :{PORT}").stdout)

    def lose(self):
        """Ends the pod with its node: no other pod hears of it."""
        self.host.power_off()

    def steps(self):
        """Returns how many steps the container has made."""
        return len(self.host.processes["container"].lines("made a step"))

    def text(self):
        return self.host.processes["container"].text()

    def ended(self):
        return self.host.processes["container"].poll() is not None


class Kubernetes(contextlib.AbstractContextManager):
    """The pods of the manifest, and the name server that they ask."""

    def __init__(self, folder, families):
        self.manifest = Manifest()
        self.token = "a-token-of-the-secret-thalweg"
        self.checkpoints, self.programs = folder / "checkpoints", folder / "bin"
        self._names, self._zone = {}, folder / "names.json"
        for path in (self.checkpoints, self.programs):
            path.mkdir()
        (self.programs / "thalweg").write_text(f'#!/bin/sh\nexec {sys.executable} -m thalweg "$@"\n')
        (self.programs / "thalweg").chmod(0o755)
        self._zone.write_text("{}")
        with contextlib.ExitStack() as ends:
            self._network = ends.enter_context(Network(hosts=1, families=families, folder=folder))
            (self.name_server,) = self._network.hosts
            ends.callback(lambda: [host.close() for host in self._hosts])
            self._hosts = []
            server = self.name_server.start(
                PROGRAMS / "name_server.py", self._zone, name="names", python=sys.executable
            )
            wait(lambda: server.lines("serves"), 20, "the name server")
            self.pods = {
                f"{workload}-{index}": Pod(self, workload, index)
                for workload, (_, count, _) in self.manifest.workloads.items()
                for index in range(count)
            }
            self._ends = ends.pop_all()

    def __exit__(self, *error):
        for name, pod in self.pods.items():
            if pod.host is not None:
                print(f"--- {name}", *(line for line in pod.text().split("\n") if line != "made a step"), sep="\n")
        self._ends.close()

    def new_host(self):
        self._hosts.append(Host(self._network, 2 + len(self._hosts)))
        return self._hosts[-1]

    def set_name(self, name, address):
        self._names[name] = address
        changed = self._zone.with_suffix(".new")
        changed.write_text(json.dumps(self._names))
        changed.rename(self._zone)

    def workers(self):
        return [pod for pod in self.pods.values() if pod.workload == "worker"]

    def check_end(self):
        """Waits until all workers have trained to the end."""
        wait(lambda: all(pod.ended() for pod in self.workers()), 240, "the end of all workers")
        for pod in self.workers():
            (end,) = re.findall(rf"worker {pod.index}: loss [\d.]+ after (\d+) steps", pod.text())
            assert int(end) >= STEPS


@pytest.fixture(params=[(4, 6), (6,)], ids=["IPv4", "IPv6"])
def kubernetes(tmp_path, request):
    with Kubernetes(tmp_path, request.param) as kubernetes:
        yield kubernetes


def await_steps(pods, seconds, what):
    """Waits until each of some workers has made a step more."""
    before = {pod: pod.steps() for pod in pods}
    wait(lambda: all(pod.steps() > steps for pod, steps in before.items()), seconds, what)


@pytest.mark.parametrize("name", ["ps-0", "worker-0", "worker-2"])
def test_a_pod_that_comes_back_under_another_address(kubernetes, name):
    for pod in kubernetes.pods.values():
        pod.start()
    await_steps(kubernetes.workers(), 60, "the first steps")
    wait(lambda: list(kubernetes.checkpoints.glob("model/model.ckpt-*.index")), 60, "the first checkpoint")
    pod = kubernetes.pods[name]
    concerned = [pod] if pod.workload == "worker" else kubernetes.workers()
    for _ in range(2):  # the second time, names were looked up not long ago
        before = pod.host.address
        pod.lose()
        pod.start()
        assert pod.host.address != before
        wait(pod.is_ready, 60, f"{name} is ready")
        await_steps(concerned, LIMIT, f"training with {name} elsewhere")
    kubernetes.check_end()


def test_names_that_appear_late(kubernetes):
    for pod in kubernetes.pods.values():
        pod.schedule()
        if pod.workload == "worker":
            pod.publish()
        pod.run()
    wait(lambda: all(pod.is_ready() for pod in kubernetes.pods.values()), 60, "all listen")
    assert not any(pod.steps() for pod in kubernetes.workers())
    for pod in kubernetes.pods.values():
        pod.publish()
    await_steps(kubernetes.workers(), LIMIT, "training after the parameter servers have names")
    kubernetes.check_end()
