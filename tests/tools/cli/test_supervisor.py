"""The processes of a cluster on one machine: their log, and how they end together."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests import children

DRIVER = """
import json, os, sys
from thalweg._src.tools.cli import supervisor
supervisor._TERMINATE_SECONDS, supervisor._EVALUATE_SECONDS = 1.0, 1.0
commands = [supervisor.Command(job, index, [sys.executable, "-ISuc", code], dict(os.environ))
            for job, index, code in json.loads(sys.argv[1])]
sys.exit(supervisor.Supervisor(commands, *map(int, sys.argv[2:])).run())
"""
WAITS = "import time; print('waits'); time.sleep(1000)"
LIMIT = 60


def command(*tasks):
    """Returns the command that runs tasks, each with a job, an index and the code of a program."""
    return [sys.executable, "-c", DRIVER, json.dumps(tasks)]


def run(*tasks):
    return children.run(command(*tasks), env=children.environment(), check=False, timeout=LIMIT, forked=True)


@pytest.fixture
def start(start_child):
    def start(*tasks, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        return start_child(command(*tasks), env=children.environment(), forked=True, **options)

    return start


def with_child(path, code="time.sleep(1000)"):
    """Returns a program that starts another one, writes the process ids of both to a file, and executes code."""
    return (
        "import os, signal, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-ISc', 'import time; time.sleep(1000)'])\n"
        f"with open({str(path)!r}, 'w') as file: file.write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"print('started'); {code}"
    )


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def assert_ended(path):
    """Fails if a process of `with_child` runs a few seconds from now."""
    until = time.monotonic() + 10
    pids = path.read_text().split()
    assert len(pids) == 2
    while (left := [pid for pid in pids if is_running(pid)]) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    assert not left


@pytest.mark.parametrize(("restarts", "status", "starts"), [("2", 0, 3), ("1", 128 + signal.SIGKILL, 2)])
def test_a_task_that_fails_is_started_again(restarts, status, starts, tmp_path):
    code = (
        "import os, signal\n"
        f"with open({str(tmp_path / 'starts')!r}, 'a+') as file:\n"
        "    print('starts', file=file, flush=True)\n"
        "    file.seek(0)\n"
        "    if len(file.readlines()) < 3: os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    driver = [*command(("ps", 0, WAITS), ("worker", 0, code)), restarts]
    done = children.run(driver, env=children.environment(), check=False, timeout=LIMIT)
    assert done.returncode == status
    assert (tmp_path / "starts").read_text() == starts * "starts\n"
    again = "worker 0 was killed by signal 9 (SIGKILL); starting it again"
    assert done.stderr.count(again) == starts - 1


def test_lines_of_all_tasks_are_whole_and_named():
    code = (
        "import sys, time\n"
        "for i in range(50):\n"
        "    for part in 'a', 'b', str(i), '\\n':\n"
        "        sys.stdout.write(part); sys.stderr.write(part); sys.stdout.flush(); sys.stderr.flush()\n"
        "    time.sleep(0.002)\n"
    )
    done = run(("worker", 0, code), ("worker", 10, code), ("chief", 0, code))
    assert done.returncode == 0
    for text in done.stdout, done.stderr:
        lines = text.splitlines()
        assert len(lines) == 150
        for label in "worker 0  | ", "worker 10 | ", "chief 0   | ":
            mine = [line.removeprefix(label) for line in lines if line.startswith(label)]
            assert mine == [f"ab{i}" for i in range(50)]


def test_the_cluster_ends_with_its_workers(tmp_path):
    ps = with_child(tmp_path / "pids")
    done = run(("ps", 0, ps), ("worker", 0, "pass"), ("worker", 1, "import time; time.sleep(0.5)"))
    assert (done.returncode, done.stderr) == (0, "")
    assert_ended(tmp_path / "pids")


def test_an_evaluator_has_time_for_its_last_evaluation():
    finishes = "import time; time.sleep(0.3); print('evaluated')"
    done = run(("ps", 0, WAITS), ("worker", 0, "pass"), ("evaluator", 0, finishes))
    assert done.returncode == 0 and "evaluator 0 | evaluated\n" in done.stdout
    done = run(("ps", 0, WAITS), ("worker", 0, "pass"), ("evaluator", 0, WAITS))
    assert (done.returncode, done.stderr) == (0, "thalweg: the training has ended; the evaluator has 1 s to finish\n")


def test_a_failure_stops_the_others_and_is_repeated(tmp_path):
    stubborn = with_child(tmp_path / "pids", "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)")
    fails = "import sys; [print(i) for i in range(100)]; sys.stderr.write('because'); sys.exit(3)"
    done = run(("ps", 0, stubborn), ("worker", 0, WAITS), ("worker", 1, "import time; time.sleep(0.5);" + fails))
    assert done.returncode == 3
    first, *_, last = [line for line in done.stderr.splitlines() if line.startswith("thalweg: ")]
    assert first == "thalweg: worker 1 ended with exit code 3; stopping the other tasks"
    assert last == "thalweg: worker 1 ended with exit code 3; its last lines:"
    repeated = done.stderr.partition(last)[2].split()
    assert len(repeated) == 20 and {"because", "99"} <= {*repeated}
    assert_ended(tmp_path / "pids")


def test_a_task_that_was_killed_is_named_with_the_signal():
    done = run(("ps", 0, "import os; os.kill(os.getpid(), 9)"), ("worker", 0, WAITS))
    assert done.returncode == 137
    assert "thalweg: ps 0 was killed by signal 9 (SIGKILL); stopping the other tasks\n" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_signals_stop_all_tasks(start, tmp_path, number):
    process = start(("ps", 0, with_child(tmp_path / "ps")), ("worker", 0, with_child(tmp_path / "worker")))
    assert {process.stdout.readline() for _ in range(2)} == {"ps 0     | started\n", "worker 0 | started\n"}
    process.send_signal(number)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 128 + number
    assert err.startswith(f"thalweg: {number.name}: stopping 2 tasks")
    assert ("KeyboardInterrupt" in err) == (number == signal.SIGINT)  # programs see the signal that was sent
    for name in "ps", "worker":
        assert_ended(tmp_path / name)


def test_a_second_signal_kills(start, tmp_path):
    ignores = "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready'); time.sleep(1000)"
    process = start(("worker", 0, with_child(tmp_path / "pids", ignores)))
    while process.stdout.readline() != "worker 0 | ready\n":
        pass
    process.terminate()
    assert "stopping" in process.stderr.readline()
    process.terminate()
    assert process.wait(LIMIT) == 128 + signal.SIGTERM
    assert_ended(tmp_path / "pids")


def test_nothing_outlives_a_launcher_that_was_killed(start, tmp_path):
    process = start(("ps", 0, with_child(tmp_path / "ps")), ("worker", 0, with_child(tmp_path / "worker")))
    for _ in range(2):
        process.stdout.readline()
    process.kill()
    for name in "ps", "worker":
        assert_ended(tmp_path / name)


def test_what_a_task_leaves_running_ends_with_it(tmp_path):
    done = run(("worker", 0, with_child(tmp_path / "pids", "sys.exit(0)")))
    assert done.returncode == 0
    assert_ended(tmp_path / "pids")


def test_the_cluster_ends_if_its_log_is_closed(start, tmp_path):
    writes = with_child(tmp_path / "pids", "[print(time.sleep(0.1)) for _ in range(9999)]")
    process = start(("worker", 0, writes))
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(LIMIT) == 128 + signal.SIGPIPE
    assert_ended(tmp_path / "pids")


def test_tasks_have_colours_on_a_terminal(start):
    own, terminal = os.openpty()
    process = start(("worker", 0, "print(1)"), ("worker", 1, "print(1)"), stdout=terminal)
    os.close(terminal)
    assert process.wait(LIMIT) == 0
    shown = os.read(own, 10_000).decode()
    os.close(own)
    assert "\x1b[36mworker 0 | \x1b[0m1" in shown and "\x1b[33mworker 1 | \x1b[0m1" in shown
