"""Starting a cluster over hosts in right and wrong ways: each must train, or say what is wrong, within ten seconds.

A case arranges hosts, addresses and firewalls, starts the tasks of a cluster of one parameter server and two workers,
and says what must be seen: steps of all workers, or a message that names what is wrong.
"""

import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests import children
from tests.hosts.clusters import PORT, PROGRAMS, Cluster
from tests.hosts.network import Network, wait

SECONDS = 10
TASKS = ("ps0", "worker0", "worker1")
CASES = {}


@dataclass(frozen=True)
class Start:
    """A way to start a cluster.

    says: what a message must have instead of training, as regular expressions, by the task that writes it
    own: whether it is about what TensorFlow does not have
    """

    name: str
    arrange: Callable
    says: dict
    families: tuple = (4, 6)
    tasks: tuple = TASKS
    program: str = "parameter_servers.py"
    own: bool = False
    within: float = SECONDS

    @property
    def must(self):
        return f"{' and '.join(self.says)} {'say' if len(self.says) > 1 else 'says'} it" if self.says else "trains"


def start(name, says=None, **options):
    """Registers a case; its function gets the cluster, and returns since when the time counts, if not its own end."""

    def register(arrange):
        CASES[name] = Start(name, arrange, says or {}, **options)
        return arrange

    return register


def run(case, folder, python=None, seconds=SECONDS):
    """Runs a case and returns the seconds until it trained or said what is wrong; else TimeoutError tells why not."""
    with Network(len(case.tasks) + 2, case.families, folder=folder) as network:
        arguments = ["--folder", folder / "model"] if case.program != "client.py" else []
        cluster = Cluster(network, *case.tasks, program=case.program, arguments=arguments, python=python)
        since = case.arrange(cluster) or time.monotonic()
        if not case.says:
            return cluster.wait_trained(since, seconds, count=3)
        silent = dict(case.says)

        def all_say():
            for task, pattern in list(silent.items()):
                if re.search(pattern, cluster.processes[task].text(), re.S):
                    del silent[task]
            return not silent

        try:
            wait(all_say, seconds, f"a message of {', '.join(silent)}")
        except TimeoutError as error:
            trains = "; it trains" if cluster.trained(since) else ""
            raise TimeoutError(f"{error}{trains}\n{cluster.report()}") from None
        return time.monotonic() - since


# -- what trains ------------------------------------------------------------------------------------------------------


@start("addresses")
def _(cluster):
    cluster.start()


@start("names")
def _(cluster):
    cluster.name_hosts()
    cluster.start()


@start("IPv6 addresses")
def _(cluster):
    cluster.addresses = {task: f"[{host.address6}]:{PORT}" for task, host in cluster.hosts.items()}
    cluster.start()


@start("names of IPv6 addresses alone, without IPv4", families=(6,))
def _(cluster):
    cluster.name_hosts()
    cluster.start()


@start("names that appear after 5 s")
def _(cluster):
    cluster.name_hosts()
    for host in cluster.network.hosts:
        host.names()
    cluster.start()
    time.sleep(5)
    cluster.name_hosts()


@start("a parameter server starts after 5 s")
def _(cluster):
    cluster.start("worker0", "worker1")
    time.sleep(5)
    cluster.start("ps0")


@start("the chief starts after 5 s")
def _(cluster):
    cluster.start("ps0", "worker1")
    time.sleep(5)
    cluster.start("worker0")


@start("each task calls itself localhost")
def _(cluster):
    for task in cluster.hosts:
        cluster.start(task, addresses={task: f"localhost:{PORT}"})


@start("each task calls itself 0.0.0.0")
def _(cluster):
    for task in cluster.hosts:
        cluster.start(task, addresses={task: f"0.0.0.0:{PORT}"})


def _name_as_debian(cluster):
    """Each host takes its own name for 127.0.1.1."""
    cluster.name_hosts()
    for task, host in cluster.hosts.items():
        others = [(other.address, f"{name}.test") for name, other in cluster.hosts.items() if other is not host]
        host.names([("127.0.1.1", f"{task}.test {host.name}"), *others])


@start("each host's own name is 127.0.1.1")
def _(cluster):
    _name_as_debian(cluster)
    cluster.start()


@start("firewalls with one open port")
def _(cluster):
    for host in cluster.hosts.values():
        host.admit_only(PORT)
    cluster.start()


@start("the parameter server behind a gateway, at another port")
def _(cluster):
    gateway, ps = cluster.spare[0], cluster.hosts["ps0"]
    gateway.forward(30022, ps, PORT)
    ps.admit_only(PORT)
    cluster.start("ps0")
    cluster.addresses["ps0"] = gateway.url(30022)
    cluster.start("worker0", "worker1")


@start("an Estimator", tasks=("ps0", "chief0", "worker0"), program="estimator.py")
def _(cluster):
    cluster.start()


@start("an Estimator that reduces among workers", tasks=("chief0", "worker0"), program="estimator.py")
def _(cluster):
    cluster.arguments.append("--all_reduce")
    cluster.start()


@start("a Keras model that workers fit", tasks=("worker0", "worker1"), program="keras.py")
def _(cluster):
    cluster.start(arguments=[])


@start(
    "collectives where each host's own name is 127.0.1.1",
    tasks=("worker0", "worker1"),
    program="all_reduce.py",
    own=True,
)
def _(cluster):
    _name_as_debian(cluster)
    for host in cluster.hosts.values():
        host.admit_only(PORT)
    cluster.start()


@start("a task is killed and started again")
def _(cluster):
    cluster.start()
    cluster.wait_trained(time.monotonic(), 60, count=3)
    cluster.processes["worker1"].end()
    cluster.start("worker1")


@start("a client of another host", tasks=("ps0", "worker0"), program="client.py")
def _(cluster):
    cluster.start(program="parameter_servers.py", arguments=["--serve"])
    cluster.trainers = ["client0"]
    cluster.start("client0", host=cluster.spare[0], arguments=[f"grpc://{cluster.addresses['worker0']}"])


@start("variables of an HTTP proxy")
def _(cluster):
    proxy = "http://10.77.0.250:3128"
    cluster.start(http_proxy=proxy, https_proxy=proxy, HTTP_PROXY=proxy, HTTPS_PROXY=proxy, all_proxy=proxy)


# -- what is wrong and said -------------------------------------------------------------------------------------------

_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=cluster")
_NOT_REACHED = "(cannot be reached|[Uu]nreachable|[Nn]o route|timed out|[Dd]eadline)"
_PS, _WORKER = r"10\.77\.0\.1:2222", r"10\.77\.0\.3"


@start("another token at a worker", {"worker1": rf"{_PS}.{{,300}}token", "ps0": rf"{_WORKER}.{{,300}}token"}, own=True)
def _(cluster):
    cluster.start("ps0", "worker0")
    cluster.start("worker1", THALWEG_CLUSTER_TOKEN="another token than the others have")


@start("no token at a worker", {"worker1": r"10\.77\.0\.\d.{,600}THALWEG_CLUSTER_TOKEN"}, own=True)
def _(cluster):
    cluster.start("ps0", "worker0")
    cluster.start("worker1", THALWEG_CLUSTER_TOKEN=None)


@start("a port where nothing listens", {"worker1": r"10\.77\.0\.1:2223.{,200}[Rr]efused"})
def _(cluster):
    cluster.start("ps0", "worker0")
    cluster.start("worker1", addresses={"ps0": cluster.hosts["ps0"].url(2223)})


@start("an address that no host has", {"worker1": rf"10\.77\.0\.99:2222.{{,300}}{_NOT_REACHED}"})
def _(cluster):
    cluster.start("ps0", "worker0")
    cluster.start("worker1", addresses={"ps0": f"10.77.0.99:{PORT}"})


@start("two tasks have each other's addresses", {"worker0": r"task:1.{,50}10\.77\.0\.3:2222.{,50}/job:ps"})
def _(cluster):
    cluster.start("ps0", "worker1")
    cluster.start("worker0", addresses={"ps0": cluster.addresses["worker1"], "worker1": cluster.addresses["ps0"]})


@start("a second process of a task, at its host", {"double": r"2222.{,300}in use"})
def _(cluster):
    cluster.start()
    cluster.wait_trained(time.monotonic(), 60, count=3)
    cluster.start("worker1", name="double")


@start(
    "a second process of a task, at another host",
    {"double": r"(two processes|another process).{,300}10\.77\.0\.3.{,300}10\.77\.0\.4"},
)
def _(cluster):
    cluster.start()
    cluster.wait_trained(time.monotonic(), 60, count=3)
    double = cluster.spare[0]
    cluster.start("worker1", name="double", host=double, addresses={"worker1": double.url(PORT)})


@start("a task counts more parameter servers than there are", {"worker1": r"ps.{,20}task:1.{,300}10\.77\.0\.99"})
def _(cluster):
    cluster.start("ps0", "worker0")
    cluster.start("worker1", addresses={"ps1": f"10.77.0.99:{PORT}"})


@start("TLS at a worker alone", {"worker1": rf"{_PS}.{{,500}}(TLS|certificate)"}, own=True)
def _(cluster):
    cluster.start("ps0", "worker0")
    key, certificate = (cluster.network.folder / name for name in ("key.pem", "certificate.pem"))
    addresses = "subjectAltName=" + ",".join(f"IP:{host.address}" for host in cluster.hosts.values())
    children.run(
        [shutil.which("openssl"), "req", "-x509", *_CURVE, "-keyout", key, "-out", certificate, "-addext", addresses]
    )
    files = {"TLS_CERT": certificate, "TLS_KEY": key, "TLS_CA": certificate}
    cluster.start("worker1", **{f"THALWEG_CLUSTER_{name}": str(file) for name, file in files.items()})


@start("a port in use", {"worker1": r"2222.{,300}in use"})
def _(cluster):
    cluster.start("ps0", "worker0")
    other = cluster.hosts["worker1"].start(PROGRAMS / "listen.py", PORT, name="other")
    wait(lambda: other.lines("listens"), SECONDS, "the other program")
    cluster.start("worker1")
