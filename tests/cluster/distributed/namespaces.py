"""Two network namespaces that are connected like two hosts: tests run in one, and the servers of `ps` in the other.

Run by `unshare --map-root-user --net python -m tests.cluster.distributed.namespaces`, with the arguments of pytest.
"""

import os
import shutil
import sys

from tests import children

OTHER = "THALWEG_TESTS_NAMESPACE"  # the process whose namespace is the other one
HERE, THERE = "10.77.0.1", "10.77.0.2"


def missing():
    """Returns why this machine cannot make namespaces, or an empty text."""
    if not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        return "the commands unshare, nsenter and ip are not installed"
    made = children.run([*outside(), shutil.which("ip"), "link", "add", "type", "veth"], check=False)
    return f"namespaces cannot be made: {made.stderr.strip()}" if made.returncode else ""


def outside():
    """Returns the start of a command that runs in a namespace of its own."""
    return [shutil.which("unshare"), "--map-root-user", "--net"]


def entering():
    """Returns the start of a command that runs in the other namespace."""
    return [shutil.which("nsenter"), f"--target={os.environ[OTHER]}", "--net"]


def main():
    command = [shutil.which("unshare"), "--net", "/bin/sh", "-c", "echo made; exec sleep 3600"]
    other = children.start(command, stdout=-1)
    try:
        assert other.stdout.readline() == b"made\n"
        os.environ[OTHER] = str(other.pid)
        _ip("link", "add", "here", "type", "veth", "peer", "name", "there")
        _ip("link", "set", "there", "netns", str(other.pid))
        for start, name, address in (([], "here", HERE), (entering(), "there", THERE)):
            _ip("link", "set", "lo", "up", start=start)
            _ip("addr", "add", f"{address}/24", "dev", name, start=start)
            _ip("link", "set", name, "up", start=start)
        done = children.run([sys.executable, "-m", "pytest", *sys.argv[1:]], check=False)
        print(done.stdout, done.stderr)
        return done.returncode
    finally:
        children.end(other)


def _ip(*arguments, start=()):
    children.run([*start, shutil.which("ip"), *arguments])


if __name__ == "__main__":
    sys.exit(main())
