"""Virtual hosts: network namespaces with addresses, names and firewalls of their own, and cables to one switch.

    with Network(hosts=3, folder=tmp_path) as network:
        ps, worker, _ = network.hosts
        process = worker.start(program, "worker", name="worker0")
        worker.pull()  # its cable

It works as root, and for other users where they may make user namespaces; `missing()` says what this machine lacks.
"""

import contextlib
import functools
import os
import shlex
import shutil
import struct
import sys
import time
from pathlib import Path

from tests import children

_OWN = ("--net", "--mount", "--uts")  # the namespaces of a host
_COMMANDS = ("unshare", "nsenter", "ip", "nft", "ss", "mount", "sysctl", "hostname")
_SEARCHED = os.pathsep.join(filter(None, [os.environ.get("PATH"), "/usr/sbin:/sbin"]))
_LIMIT = 10  # seconds of a command of this file
_TRY = """
ip link add name bridge type bridge && ip link add name one type veth peer name two &&
nft 'table inet tried { chain input { type filter hook input priority 0; ct state established accept; }; }' &&
mount --bind /etc/hosts /etc/hosts
"""
_HOLD = """
mount --bind {folder}/hosts /etc/hosts
if [ -e /etc/resolv.conf ]; then mount --bind {folder}/resolv.conf /etc/resolv.conf; fi
hostname {name}
ip link set lo up
sysctl -qw net.netfilter.nf_conntrack_tcp_loose=0
echo ready
exec sleep 86400
"""
# Deletes all entries of the table of connections: a message of netlink (IPCTNL_MSG_CT_DELETE) without a filter.
_FORGET = """
import socket
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)  # NETLINK_NETFILTER
netlink.send(bytes.fromhex("{message}"))
assert netlink.recv(64)[16:20] == bytes(4)
""".format(message=struct.pack("=IHHIIBBH", 20, 1 << 8 | 2, 5, 1, 0, 0, 0, 0).hex())


def missing():
    """Returns a sentence that says why this machine cannot make virtual hosts, or an empty text."""
    if sys.platform != "linux":
        return "Other systems than Linux have no network namespaces."
    if lacking := [name for name in _COMMANDS if shutil.which(name, path=_SEARCHED) is None]:
        return f"These commands are not installed: {', '.join(lacking)}."
    unshare = _unshare()
    return "" if isinstance(unshare, tuple) else f"Neither root nor this user can make namespaces here: {unshare}."


@functools.cache
def _unshare():
    """Returns the start of a command that runs in namespaces of its own, or a text that says why there is none."""
    for user in ((), ("--map-root-user",)):
        command = (_path("unshare"), *user, *_OWN)
        done = children.run([*command, "/bin/sh", "-c", _TRY], check=False, env=_environment(), timeout=_LIMIT)
        if done.returncode == 0:
            return command
    return done.stderr.strip().replace("\n", "; ")


def _path(name):
    return shutil.which(name, path=_SEARCHED)


def _environment(**variables):
    return children.environment(**{"PATH": _SEARCHED, **variables})


class Namespace:
    """The namespaces of a host or of the switch, which exist while a process in them does."""

    def __init__(self, command, script):
        self.holder = children.start([*command, "/bin/sh", "-ec", script], stdout=-1, stderr=-1, env=_environment())
        if self.holder.stdout.readline() != b"ready\n":
            self.holder.kill()
            raise OSError(self.holder.stderr.read().decode())

    @property
    def entering(self):
        """The start of a command that runs here."""
        user = ["--user", "--preserve-credentials"] if "--map-root-user" in _unshare() else []
        return [_path("nsenter"), f"--target={self.holder.pid}", *user, *(option for option in _OWN)]

    def run(self, *command, **options):
        return children.run([*self.entering, *command], env=_environment(), timeout=_LIMIT, **options)

    def ip(self, text):
        self.run("ip", *text.split())

    def nft(self, rules):
        self.run("nft", rules)

    def sysctl(self, **values):
        self.run("sysctl", "-qw", *(f"{name.replace('__', '.')}={value}" for name, value in values.items()))

    def close(self):
        children.end(self.holder)


class Process:
    """A program that runs at a host, and the whole lines that it has written, to both streams."""

    def __init__(self, process, log):
        self._process, self._log = process, log
        self._lines, self._offset = [], 0

    def lines(self, start=""):
        """Returns the lines that the program, and those before it of its name, have written, or those that start so."""
        with self._log.open("rb") as file:
            file.seek(self._offset)
            whole = file.read().rpartition(b"\n")[0]
        if whole:
            self._offset += len(whole) + 1
            self._lines += whole.decode(errors="replace").split("\n")
        return [line for line in self._lines if line.startswith(start)]

    def text(self):
        return "\n".join(self.lines())

    def poll(self):
        return self._process.poll()

    def end(self):
        children.end(self._process)


class Host(Namespace):
    """A host: `address` (the IPv4 one, if it has one), `address6`, `name`, and the processes that run there."""

    def __init__(self, network, number):
        self.network, self.number = network, number
        self.name = f"host{number}"
        self.address6 = f"fd00:77::{number}"
        self.address = f"10.77.0.{number}" if 4 in network.families else self.address6
        self.folder = network.folder / self.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.processes = {}
        self.names()
        (self.folder / "resolv.conf").write_text("options timeout:1 attempts:1\n")
        self.power_on()

    def url(self, port):
        """Returns an address with a port, as clusters list them."""
        return f"[{self.address}]:{port}" if ":" in self.address else f"{self.address}:{port}"

    # -- names and processes --------------------------------------------------------------------------------------

    def names(self, names=()):
        """Sets what names mean here: pairs of an address and a name, besides localhost."""
        lines = [("127.0.0.1", "localhost"), ("::1", "localhost ip6-localhost"), *names]
        # Rewritten in place: /etc/hosts is this file, and not its name.
        (self.folder / "hosts").write_text("".join(f"{address}\t{name}\n" for address, name in lines))

    def start(self, program, *arguments, name, python=None, **variables):
        """Starts a Python program, as `thalweg run` would, or with another Python.

        name: of the process, unique on this host while it runs
        variables: of its environment, without a value if None
        """
        log = self.folder / f"{name}.log"
        environment = _environment(OMP_NUM_THREADS="1", PYTHONUNBUFFERED="1", **{"THALWEG_LINT": None, **variables})
        environment = {key: value for key, value in environment.items() if value is not None}
        arguments = [str(program), *map(str, arguments)]
        if python is None:
            command = [sys.executable, "-m", "tests.hosts.enter", self.holder.pid, self.folder, *arguments]
        else:
            environment.pop("PYTHONPATH")
            command = [*self.entering, "env", "-C", self.folder, python, *arguments]
        with log.open("a") as file:
            process = children.start(command, forked=python is None, env=environment, stdout=file, stderr=file)
        if name in self.processes:
            self.processes[name].end()
        self.processes[name] = Process(process, log)
        return self.processes[name]

    # -- power and cable ------------------------------------------------------------------------------------------

    def power_on(self):
        super().__init__(self.network.entering_user, _HOLD.format(folder=shlex.quote(str(self.folder)), name=self.name))
        self.network.cables.connect(self)
        self.ip("link set eth0 up")
        for address in {self.address, self.address6}:
            self.ip(f"addr add {address}/64 dev eth0 nodad" if ":" in address else f"addr add {address}/24 dev eth0")

    def power_off(self):
        """Ends all at once: no other host hears of it."""
        self.network.cables.disconnect(self)
        self.close()

    def close(self):
        for process in self.processes.values():
            process.end()
        super().close()

    def pull(self):
        """Pulls the cable; the host and the switch lose the carrier."""
        self.network.cables.set(self, "down")

    def plug(self):
        self.network.cables.set(self, "up")

    # -- firewalls ------------------------------------------------------------------------------------------------

    def admit_only(self, *ports):
        """Drops connections of others to ports other than these."""
        self.nft(f"""table inet ports {{ chain input {{ type filter hook input priority 0; policy drop;
            iifname lo accept; ct state established,related accept; meta l4proto {{ icmp, icmpv6 }} accept;
            tcp dport {{ {", ".join(map(str, ports))} }} accept; }}; }}""")

    def refuse(self, *ports):
        """Answers connections of others to these ports with a reset."""
        self.nft(f"""table inet refusals {{ chain input {{ type filter hook input priority 0;
            iifname != lo tcp dport {{ {", ".join(map(str, ports))} }} reject with tcp reset; }}; }}""")

    def forward(self, outside, to, inside):
        """Makes this host a gateway: connections to its port `outside` go to the port `inside` of another host."""
        family, address = ("ip6", f"[{to.address}]") if ":" in to.address else ("ip", to.address)
        self.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1)
        self.nft(f"""table {family} forwarded{outside} {{
            chain arriving {{ type nat hook prerouting priority -100;
                tcp dport {outside} dnat to {address}:{inside}; }};
            chain leaving {{ type nat hook postrouting priority 100; ct status dnat masquerade; }}; }}""")

    def remember_for(self, seconds):
        """Sets a firewall before the host that forgets connections without packets for so long, and drops theirs."""
        self.sysctl(net__netfilter__nf_conntrack_tcp_timeout_established=seconds)
        self.nft("""table inet states {
            chain arriving { type filter hook input priority 0; iifname != lo ct state invalid drop; };
            chain leaving { type filter hook postrouting priority 0; oifname != lo ct state invalid drop; }; }""")

    def forget(self):
        """Makes that firewall forget all connections, as when it restarts."""
        self.run(sys.executable, "-ISc", _FORGET)

    def reset(self):
        """Resets all connections of the host with others: both sides hear of it."""
        self.run("ss", "-K", "-t", "dst", "10.77.0.0/24", "or", "dst", "fd00:77::/64")

    def drop(self, *sources, fraction=1.0):
        """Drops packets that come from these hosts, all of them or a fraction, until `drop_nothing`."""
        some = "" if fraction == 1 else f"numgen random mod 1000 < {round(1000 * fraction)}"
        addresses = {address for host in sources for address in (host.address, host.address6)}
        rules = [f"{'ip6' if ':' in address else 'ip'} saddr {address} {some} drop;" for address in sorted(addresses)]
        self.nft(
            f"table inet losses {{ chain input {{ type filter hook prerouting priority -300; {' '.join(rules)} }}; }}"
        )

    def drop_nothing(self):
        self.nft("table inet losses; delete table inet losses")


class Bridge:
    """A switch without delay, rate or loss: a bridge of the system, with a cable (a veth pair) to each host."""

    def __init__(self, switch):
        self._switch = switch
        switch.ip("link add name bridge type bridge mcast_snooping 0")
        switch.ip("link set bridge up")

    def connect(self, host):
        """Gives a host its `eth0`, with the same hardware address each time."""
        peer = f"peer name eth0 netns {host.holder.pid} address 02:00:00:00:77:{host.number:02x}"
        self._switch.ip(f"link add name port{host.number} type veth {peer}")
        self._switch.ip(f"link set port{host.number} master bridge up")

    def disconnect(self, host):
        self._switch.ip(f"link del port{host.number}")

    def set(self, host, state):
        """state: up or down"""
        self._switch.ip(f"link set port{host.number} {state}")

    def close(self):
        """Leaves the bridge to the end of its namespace."""


class Network(contextlib.AbstractContextManager):
    """Hosts that one switch connects.

    families: (4, 6), or (6,) for a network without IPv4
    folder: of the files of the hosts: names, and what their processes write
    cables: makes the switch in a namespace; `Bridge` says what it does
    """

    def __init__(self, hosts=6, families=(4, 6), *, folder, cables=Bridge):
        self.families, self.folder = families, Path(folder)
        self._ends = contextlib.ExitStack()
        with contextlib.ExitStack() as ends:
            switch = ends.enter_context(contextlib.closing(Namespace(_unshare(), "echo ready; exec sleep 86400")))
            self.entering_user = [_path("unshare"), *_OWN]
            if "--map-root-user" in _unshare():
                user = ["--user", "--preserve-credentials"]
                self.entering_user = [_path("nsenter"), f"--target={switch.holder.pid}", *user, *self.entering_user]
            self.cables = ends.enter_context(contextlib.closing(cables(switch)))
            self.hosts = [ends.enter_context(contextlib.closing(Host(self, 1 + number))) for number in range(hosts)]
            self._ends = ends.pop_all()

    def __exit__(self, *error):
        self._ends.close()

    def partition(self, *sets):
        """Lets each set of hosts reach its own hosts only."""
        for hosts in sets:
            others = [host for other in sets if other is not hosts for host in other]
            for host in hosts:
                host.drop(*others)

    def heal(self):
        """Ends all losses and partitions."""
        for host in self.hosts:
            host.drop_nothing()


def wait(condition, seconds, what):
    """Returns the first true value of a condition, and ends with an error if it has none in time."""
    until = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > until:
            raise TimeoutError(f"not within {seconds} s: {what}")
        time.sleep(0.05)
    return value
