"""What clients of `thalweg serve` notice while things change (see README.md).

    python bench/serving_live.py [--parts reload,bound,memory] [--model resnet] [--seconds 300] [--save]

reload: latencies while a version is loaded. bound: latencies with --latency-bound, while a version is loaded and while
another process keeps a core busy. memory: its peak while a second version is loaded.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any, NamedTuple, Self

import environments
import h2load
from workloads.serving_models import save

COMMAND = [sys.executable, "-m", "thalweg._src.tools.cli.main", "serve"]
RATES = {"mlp": 500, "resnet": 15}  # requests per second, about half of what a server of two cores answers
BEFORE_SECONDS, AFTER_SECONDS, POLL_SECONDS, PATIENCE_SECONDS = 10.0, 10.0, 0.05, 60.0
BOUND_MS, SHARE_OF_PLAN, BUSY_SECONDS = 5.0, 0.7, 20.0
RELOAD_TARGET, MEMORY_TARGET = 1.5, 1.1
RESULTS = environments.ROOT / "bench" / "results" / "serving_live.json"
Row = dict[str, Any]


class Server:
    """The command `thalweg serve` with one model, as a process."""

    def __init__(self, model: str, base: Path, *options: str) -> None:
        self.model, self.base = model, base
        command = [*COMMAND, "--port=0", "--rest_api_port=0", *options]
        variables = environments.variables("thalweg")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.match(r"serving gRPC at \S+:(\d+), REST at (\S+)", line):
                self.port, self._address = int(found[1]), found[2]
                return
        raise RuntimeError("the server does not start")

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://{self._address}{path}") as answer:
            return str(answer.read().decode())

    def states(self) -> dict[int, str]:
        """Returns the states of all versions, none if there are no versions."""
        try:
            found = json.loads(self.get(f"/v1/models/{self.model}"))["model_version_status"]
        except urllib.error.HTTPError:
            return {}
        return {int(each["version"]): each["state"] for each in found}

    def reload(self, version: int, leaves: bool) -> tuple[float, float]:
        """Adds a copy of version 1; returns when its load began, and when it was in service.

        leaves: whether the version before it is unloaded, until when this waits too
        """
        add_version(self.base, version)
        end = time.monotonic() + PATIENCE_SECONDS
        start = now = time.monotonic()
        while now < end:
            states, now = self.states(), time.monotonic()
            if version not in states:
                start = now
            if states.get(version) == "AVAILABLE" and (not leaves or states[version - 1] == "END"):
                return start, now
            time.sleep(POLL_SECONDS)
        raise TimeoutError(f"version {version} is not in service after {PATIENCE_SECONDS} s: {self.states()}")

    def resident(self, peak: bool = False) -> float:
        """Returns the memory of the process in MB, or its peak since `reset_peak`."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        found = re.search(rf"{'VmHWM' if peak else 'VmRSS'}:\s+(\d+) kB", text)
        assert found is not None
        return int(found[1]) / 1024

    def reset_peak(self) -> None:
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5", encoding="ascii")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()


class Answer(NamedTuple):
    """A call: when it was sent, on the monotonic clock, its latency, and whether the answer was a result."""

    sent: float
    milliseconds: float
    is_result: bool


class Load:
    """Calls at random times, by another process."""

    def __init__(self, server: Server, requests: h2load.Requests, rate: float, seconds: float) -> None:
        program = str(environments.ROOT / "bench" / "open_loop.py")
        command = [sys.executable, program, str(server.port), str(requests.files["grpc"]), str(rate), str(seconds)]
        self._output = tempfile.TemporaryFile("w+", prefix="bench-")  # noqa: SIM115 - read after the process has ended
        self._process = subprocess.Popen(command, stdout=self._output)

    def answers(self) -> list[Answer]:
        """Waits for the end, and returns all calls."""
        assert self._process.wait() == 0
        self._output.seek(0)
        lines = (line.split() for line in self._output)
        return [Answer(float(sent), float(latency), is_result == "1") for sent, latency, is_result in lines]


def add_version(base: Path, version: int) -> None:
    """Makes a copy of version 1 appear whole, by renaming its folder."""
    copy = base.with_name(f"{base.name}-copy")
    shutil.copytree(base / "1", copy)
    copy.rename(base / str(version))


def percentile(values: Sequence[float], percent: float) -> float:
    """Returns what this share of the values does not exceed; nan without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else float("nan")


def percentiles(answers: Sequence[Answer]) -> Row:
    """Returns the number of results and percentiles of their latencies."""
    values = [each.milliseconds for each in answers if each.is_result]
    at = {f"p{percent:g}": percentile(values, percent) for percent in (50, 99, 99.9, 100)}
    return {"results": len(values), **at}


def between(answers: Sequence[Answer], start: float, end: float) -> list[Answer]:
    """Returns the calls that were answered or waited in a time."""
    return [each for each in answers if each.sent < end and each.sent + each.milliseconds / 1e3 > start]


def measure_reload(folder: Path, options: argparse.Namespace) -> list[Row]:
    """Measures latencies before, during and after the load of a version, several times."""
    model, base = options.model, folder / options.model
    save(model, base / "1")
    requests = h2load.Requests(model, folder)
    found: list[Row] = []
    during: list[Answer] = []
    with Server(model, base, f"--model={model}={base}") as server:
        requests.check("grpc", server.port)
        Load(server, requests, RATES[model], BEFORE_SECONDS / 2).answers()
        for version in range(2, 2 + options.repeats):
            load = Load(server, requests, RATES[model], BEFORE_SECONDS + AFTER_SECONDS)
            time.sleep(BEFORE_SECONDS)
            start, end = server.reload(version, leaves=True)
            answers = load.answers()
            first, last = answers[0].sent, answers[-1].sent
            assert end < last, "the load took longer than clients called"
            phases = {"before": (first, start), "during": (start, end), "after": (end, last)}
            row: Row = {name: percentiles(between(answers, *times)) for name, times in phases.items()}
            row |= {"seconds": end - start, "errors": sum(not each.is_result for each in answers)}
            found.append({**row, "ratio": row["during"]["p99"] / row["before"]["p99"]})
            during += between(answers, start, end)
        statuses = codes(server.get("/metrics"))
    print(f"reload of {model} at {RATES[model]} requests/s: {median(each['seconds'] for each in found):.2f} s")
    for name in ("before", "during", "after"):
        values = (f"{p} {median(each[name][p] for each in found):.2f} ms" for p in ("p50", "p99"))
        print(f"  {name:8}" + ", ".join(values))
    print(f"  p99 of all calls during a load: {percentiles(during)['p99']:.2f} ms; statuses {statuses}")
    show("reload_p99_ratio", median(each["ratio"] for each in found), f"<= {RELOAD_TARGET}")
    return found


def planned(model: str, base: Path) -> float:
    """Returns the requests per second that `thalweg serve --plan` prints."""
    command = [*COMMAND, f"--model={model}={base}", "--port=0", "--rest_api_port=0"]
    done = subprocess.run(
        [*command, f"--latency-bound={BOUND_MS:g}ms", "--plan"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environments.variables("thalweg"),
    ).stdout
    rate = re.search(r"planned load: (\d+) requests/s", done)
    if rate is None:
        sys.exit(f"the bound cannot be kept:\n{done}")
    return float(rate[1])


def measure_bound(folder: Path, options: argparse.Namespace) -> Row:
    """Measures latencies with a bound, with a reload and a busy neighbour in the time."""
    model, base = "mlp", folder / "bounded"
    save(model, base / "1")
    requests = h2load.Requests(model, folder)
    plan = planned(model, base)
    rate = plan * SHARE_OF_PLAN
    busy_seconds = min(BUSY_SECONDS, options.seconds / 6)
    with Server(model, base, f"--model={model}={base}", f"--latency-bound={BOUND_MS:g}ms") as server:
        load = Load(server, requests, rate, options.seconds)
        time.sleep(options.seconds / 3)
        reload = server.reload(2, leaves=True)
        time.sleep(options.seconds / 3)
        neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        busy = time.monotonic()
        time.sleep(busy_seconds)
        neighbour.kill()
        neighbour.wait()
        answers = load.answers()
        metrics = server.get("/metrics")
    refused = sum(not each.is_result for each in answers) / len(answers)
    late = sum(each.is_result and each.milliseconds > BOUND_MS for each in answers) / len(answers)
    row: Row = {"plan": plan, "rate": rate, "refused": refused, "late": late}
    times = {"all": (0.0, math.inf), "reload": reload, "busy": (busy, busy + busy_seconds)}
    row |= {name: percentiles(between(answers, *each)) for name, each in times.items()}
    row |= {"server_p99.9": server_percentile(metrics, 99.9), "codes": codes(metrics)}
    print(f"bound of {BOUND_MS:g} ms: {rate:.0f} requests/s, planned {plan:.0f}")
    for name in times:
        print(f"  {name:8}" + ", ".join(f"{p} {row[name][p]:.2f} ms" for p in ("p50", "p99", "p99.9", "p100")))
    print(f"  refused {refused:.4%}, late {late:.4%}; statuses {row['codes']}")
    print(f"  p99.9 in the server, of results and refusals: <= {row['server_p99.9']:.2f} ms")
    show("bound_p99.9_ms", row["all"]["p99.9"], f"<= {BOUND_MS:g}")
    return row


def server_percentile(metrics: str, percent: float) -> float:
    """Returns the limit, in milliseconds, that this share of the calls does not exceed by the server's histogram."""
    found = re.findall(r':request_latency_bucket\{.*API="Predict".*le="([\d.+Inf]+)"\} (\d+)', metrics)
    total = int(found[-1][1])
    return next(float(limit) / 1e3 for limit, below in found if int(below) >= total * percent / 100)


def codes(metrics: str) -> dict[str, int]:
    return {code: int(count) for code, count in re.findall(r':request_count\{.*status="(\w+)"\} (\d+)', metrics)}


def measure_memory(folder: Path, options: argparse.Namespace) -> Row:
    """Measures the memory of a server without a version, with one, with two, and its peak in between."""
    model, base = "wide", folder / "wide"
    save(model, folder / "saved")
    base.mkdir()
    (folder / "models").write_text(
        f'model_config_list {{ config {{ name: "{model}" base_path: "{base}" model_platform: "tensorflow" '
        "model_version_policy { all {} } } }"
    )
    requests = h2load.Requests(model, folder)
    row: Row = {}
    with Server(model, base, f"--model_config_file={folder / 'models'}") as server:
        row["none"] = server.resident()
        (folder / "saved").rename(base / "1")
        while server.states().get(1) != "AVAILABLE":
            time.sleep(POLL_SECONDS)
        requests.check("grpc", server.port)
        row["one"] = server.resident()
        server.reset_peak()
        server.reload(2, leaves=False)
        requests.check("grpc", server.port)
        row["both"] = server.resident()
        row["peak"] = server.resident(peak=True)
    row["sum"] = row["none"] + 2 * (row["one"] - row["none"])
    print("memory, MB: " + ", ".join(f"{name} {value:.0f}" for name, value in row.items()))
    row["ratio"] = row["peak"] / row["sum"]
    show("memory_peak_ratio", row["ratio"], f"<= {MEMORY_TARGET}")
    return row


def show(name: str, value: float, target: str) -> None:
    print(f"{name:24}{value:10.2f}   {target}", flush=True)


PARTS: dict[str, Callable[[Path, argparse.Namespace], Any]] = {
    "reload": measure_reload,
    "bound": measure_bound,
    "memory": measure_memory,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--model", choices=RATES, default="resnet", help="of the part reload")
    parser.add_argument("--repeats", type=int, default=7, help="of the part reload")
    parser.add_argument("--seconds", type=float, default=300, help="of the part bound")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    environments.two_cores()
    results = {}
    for part in options.parts.split(","):
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            results[part] = PARTS[part](Path(folder), options)
    if options.save:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
