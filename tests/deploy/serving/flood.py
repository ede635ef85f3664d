"""A model server during a flood of strangers, as a program (`make flood`): its memory, and the latency of a client.

    python -m tests.deploy.serving.flood [--seconds 300] [--connections 5000] [--steps 2500] [--save FILE]

The server runs as a process with a token. A client that has it makes requests at a steady rate over REST and gRPC,
first alone and then beside `attacker.py`; one in ten uses a new connection. The program fails if the server takes 100
MB more than before, if the 99th percentile of the latency is more than three times that of the quiet server, or if a
request fails.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import grpc
import numpy as np

from tests import children
from tests.deploy.serving import models
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.tensors import write_tensor

TOKEN = "0123456789abcdef"
MOST_BYTES, MOST_TIMES = 100 << 20, 3.0
REQUESTS_PER_SECOND = 100
NEW_CONNECTIONS = 20  # two of so many requests have one
METHOD = "/tensorflow.serving.PredictionService/Predict"


@contextmanager
def served(folder):
    """Runs a server; gives its process and the ports of gRPC and REST."""
    command = [
        sys.executable,
        "-m",
        "thalweg",
        "serve",
        "--model",
        f"m={folder}",
        "--port",
        "0",
        "--rest_api_port",
        "0",
    ]
    variables = children.environment(OMP_NUM_THREADS="1", THALWEG_SERVING_TOKEN=TOKEN)
    process = children.start(command, stdout=subprocess.PIPE, text=True, env=variables)
    try:
        while not (line := process.stdout.readline()).startswith("serving gRPC at"):
            assert line, "the server does not start"
        ports = [int(word.rpartition(":")[2]) for word in line.replace(",", "").split() if ":" in word]
        yield process, ports[0], ports[1]
    finally:
        children.end(process)


@contextmanager
def flooded(rest_port, grpc_port, connections, steps, counts):
    """Runs the attacker, and puts what it did into `counts`."""
    program = Path(__file__).with_name("attacker.py")
    process = children.start(
        [sys.executable, program, rest_port, grpc_port, connections, steps],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield
        counts |= json.loads(process.communicate("end\n")[0])
    finally:
        children.end(process)


def memory(process, field="VmRSS"):
    """Returns a size from the status of a process, in bytes."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{field}:"))


def cpu_seconds(process):
    words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Client:
    """Makes requests over both protocols."""

    def __init__(self, grpc_port, rest_port):
        self._grpc_port, self._rest_port = grpc_port, rest_port
        request = message_class("PredictRequest")()
        request.model_spec.name = "m"
        write_tensor(np.ones((1, 3), np.float32), request.inputs["x"])
        self._message = request.SerializeToString()
        self._body = json.dumps({"instances": [[1, 1, 1]]})
        self._metadata = (("authorization", f"Bearer {TOKEN}"),)
        self._rest, self._grpc = self._new_rest(), self._new_grpc()
        self.failures = []

    def _new_rest(self):
        return http.client.HTTPConnection("127.0.0.1", self._rest_port, timeout=60)

    def _new_grpc(self):
        return grpc.insecure_channel(f"127.0.0.1:{self._grpc_port}", [("grpc.use_local_subchannel_pool", 1)])

    def _ask_rest(self, connection):
        headers = {"authorization": f"Bearer {TOKEN}"}
        connection.request("POST", "/v1/models/m:predict", self._body, headers)
        response = connection.getresponse()
        content = response.read()
        assert response.status == 200, content

    def _ask_grpc(self, channel):
        channel.unary_unary(METHOD)(self._message, 60, self._metadata)

    def _ask_new_rest(self):
        connection = self._new_rest()
        self._ask_rest(connection)
        connection.close()

    def _ask_new_grpc(self):
        with self._new_grpc() as channel:
            self._ask_grpc(channel)

    def run(self, is_over):
        """Returns the seconds of requests at a steady rate, by kind."""
        kinds = {
            "REST": lambda: self._ask_rest(self._rest),
            "gRPC": lambda: self._ask_grpc(self._grpc),
            "new REST": self._ask_new_rest,
            "new gRPC": self._ask_new_grpc,
        }
        times = {kind: [] for kind in kinds}
        due = time.perf_counter()
        number = 0
        while not is_over():
            number += 1
            is_new = number % NEW_CONNECTIONS < 2
            kind = ("new " if is_new else "") + ("REST", "gRPC")[number % 2]
            start = time.perf_counter()
            try:
                kinds[kind]()
                times[kind].append(time.perf_counter() - start)
            except Exception as error:
                self.failures.append(f"{kind}: {type(error).__name__}: {error}")
                if kind == "REST":
                    self._rest.close()
            due = max(due + 1 / REQUESTS_PER_SECOND, time.perf_counter())
            time.sleep(max(0.0, due - time.perf_counter()))
        return times

    def close(self):
        self._rest.close()
        self._grpc.close()


def percentile(times, percent):
    return sorted(times)[len(times) * percent // 100] * 1e3 if times else float("nan")


def after(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--quiet", type=float, help="seconds of the client alone; a tenth of the others, 20 at least")
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    counts = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="flood-")))
        models.save(folder / "m" / "1")
        process, grpc_port, rest_port = stack.enter_context(served(folder / "m"))
        client = Client(grpc_port, rest_port)
        stack.callback(client.close)
        client.run(after(3))
        quiet = client.run(after(options.quiet or max(20, options.seconds / 10)))
        assert not client.failures, client.failures
        before, most, ends = memory(process), [0], threading.Event()

        def watch():
            while not ends.wait(0.2):
                most[0] = max(most[0], memory(process))

        watching = threading.Thread(target=watch)
        watching.start()
        with flooded(rest_port, grpc_port, options.connections, options.steps, counts):
            used = cpu_seconds(process)
            loud = client.run(after(options.seconds))
            used = cpu_seconds(process) - used
        ends.set()
        watching.join()
    more = most[0] - before
    report = {"bytes_before": before, "bytes_more": more, "failures": len(client.failures), "attacker": counts}
    report["cpu_seconds"] = used
    fails = [f"{len(client.failures)} requests failed: {client.failures[:3]}"] if client.failures else []
    fails += [f"the server takes {more >> 20} MB more"] if more > MOST_BYTES else []
    print(f"{'':10}{'requests':>9}{'quiet p50':>11}{'p99 ms':>9}{'flood p50':>11}{'p99 ms':>9}{'times':>7}")
    for kind in quiet:
        row = [percentile(times, percent) for times in (quiet[kind], loud[kind]) for percent in (50, 99)]
        times = row[3] / row[1]
        report[kind] = {"requests": len(loud[kind]), "milliseconds": row}
        print(f"{kind:10}{len(loud[kind]):9}{row[0]:11.2f}{row[1]:9.2f}{row[2]:11.2f}{row[3]:9.2f}{times:7.1f}")
        fails += [f"{kind}: p99 is {times:.1f} times that of the quiet server"] if times > MOST_TIMES else []
    print(f"memory {before >> 20} MB, at most {more >> 20} MB more; failures {len(client.failures)}")
    print(f"the server used {used:.1f} s of CPU; attacker: {counts}")
    if options.save is not None:
        options.save.write_text(json.dumps(report, indent=1) + "\n")
    sys.exit("\n".join(fails) or None)


if __name__ == "__main__":
    main()
