"""Rules for tests: folders mirror the code, nothing is timed, children have one start, leftovers are found."""

import ast
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from tests import children, leftovers

FOLDER = Path(__file__).parent
SOURCE = FOLDER.parent / "src" / "thalweg" / "_src"
# Folders of tests without a folder of the implementation, and the reverse, with the reason.
NO_MIRROR = {
    "conformance": "compares everything with TensorFlow",
    "hosts": "runs clusters over virtual hosts",
    "interleavings": "runs threads of everything one at a time",
    "cluster/distributed/equivalence": "compares everything in a cluster with one process",
}
CLOCKS = {name + unit for name in ("time", "monotonic", "perf_counter", "process_time") for unit in ("", "_ns")}
STARTS = {
    "subprocess": {"run", "Popen", "call", "check_call", "check_output"},
    "multiprocessing": {"Process", "Pool", "get_context"},
    "os": {"fork", "system", "popen", "posix_spawn"},
}
# Processes that are forked to be killed, with all that they have in memory.
FORKS = {
    "training/checkpoint/crash_worker.py",
    "training/checkpoint/tracing.py",
    "cluster/distributed/injector.py",
    "cluster/distributed/scenarios.py",
}


# Names that do not say what a value is. A part is one of something that has a name: a slice, a shard, a component.
PLACEHOLDERS = {"each", "found", "given", "kept", "known", "made", "own", "part", "parts", "told", "wanted"}
WITH_PLACEHOLDERS = {"keras/utils/replicas.py": {"parts"}}  # by file; saved models call the function by its parameters


def test_names_say_what_a_value_is():
    wrong = {
        str(path.relative_to(SOURCE)): names
        for path in SOURCE.rglob("*.py")
        if (names := _bound_names(ast.parse(path.read_text())) & PLACEHOLDERS)
    }
    assert wrong == WITH_PLACEHOLDERS


def _bound_names(tree):
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def test_folders_mirror_the_implementation():
    tested, code = _folders_with(FOLDER, "test_*.py"), _folders_with(SOURCE, "*.py")
    assert tested - code == NO_MIRROR.keys(), "move tests to the folder of what they test, or give the reason here"
    parts = {folder for folder in code if folder.count("/") == 1}  # deeper ones may share the tests of their parent
    assert not {folder for folder in parts if not {folder, folder.split("/")[0]} & tested}, "add tests"


def _folders_with(root, pattern):
    return {str(path.parent.relative_to(root)) for path in root.rglob(pattern) if path.parent != root}


def timed_asserts(tree):
    """Yields the lines of asserts about elapsed time: about sums or differences with readings of a clock."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            readings, elapsed = set(), set()
            for node in ast.walk(function):
                if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
                    if _mentions(node.value, elapsed) or _is_elapsed(node.value, readings):
                        elapsed |= names
                    elif _reads(node.value, readings):
                        readings |= names
            for node in ast.walk(function):
                if isinstance(node, ast.Assert) and (_mentions(node, elapsed) or _is_elapsed(node, readings)):
                    yield node.lineno


def _mentions(node, names):
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node))


def _reads(node, readings):
    calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    return _mentions(node, readings) or any(_is_of(call, "time", CLOCKS) for call in calls)


def _is_elapsed(node, readings):
    return any(isinstance(n, ast.BinOp) and _reads(n, readings) for n in ast.walk(node))


def _is_of(node, module, names):
    """Returns whether a syntax tree is one of a module's names, as `module.name` or imported."""
    if isinstance(node, ast.Attribute):
        return node.attr in names and isinstance(node.value, ast.Name) and node.value.id == module
    return isinstance(node, ast.Name) and node.id in names - {module}


def started(tree):
    """Yields the lines that name what starts processes."""
    for node in ast.walk(tree):
        imported = {name.name for name in node.names} if isinstance(node, ast.ImportFrom) else set()
        for module, names in STARTS.items():
            if isinstance(node, ast.Attribute) and _is_of(node, module, names):
                yield node.lineno
            if imported & names and node.module == module:
                yield node.lineno


def _found(rule, words, exempt=()):
    """Returns the places in all tests that a rule forbids, parsing only files with one of the words: all take long."""
    texts = {str(path.relative_to(FOLDER)): path.read_text() for path in FOLDER.rglob("*.py")}
    return [
        f"{name}:{line}"
        for name, text in sorted(texts.items())
        if name not in exempt and any(word in text for word in words)
        for line in rule(ast.parse(text))
    ]


def test_nothing_is_timed():
    assert not _found(timed_asserts, [f"{clock}(" for clock in CLOCKS]), (
        "wait for an event, count, or leave it to the test's time limit"
    )


def test_children_are_started_in_one_place():
    assert not _found(started, STARTS, {"children.py", "forked.py", *FORKS}), "use tests/children.py"


@pytest.mark.parametrize(
    "body",
    [
        "start = time.time()\n assert time.time() - start < 1",
        "start = time.perf_counter()\n took = time.perf_counter() - start\n assert 0.1 < took",
        "until = time.monotonic() + 5\n while not done():\n  assert time.monotonic() < until",
        "start = perf_counter()\n seconds = (perf_counter() - start) / 10\n each = seconds / 3\n assert each < 1",
        "began, x = time.monotonic_ns(), 3\n assert x and time.monotonic_ns() - began < 5",
    ],
)
def test_a_timed_assert_is_found(body):
    assert list(timed_asserts(ast.parse(f"def test():\n {body}")))


@pytest.mark.parametrize(
    "body",
    [
        "start = time.time()\n assert start <= run() <= time.time()",
        "until = time.monotonic() + 5\n while time.monotonic() < until:\n  pass\n assert done()",
        "assert time.strftime('%Y') + x",
    ],
)
def test_an_assert_that_is_not_timed_is_allowed(body):
    assert not list(timed_asserts(ast.parse(f"def test():\n {body}")))


@pytest.mark.parametrize("line", ["subprocess.run(['ls'])", "from subprocess import Popen", "child = os.fork()"])
def test_a_start_of_a_process_is_found(line):
    assert list(started(ast.parse(line))) == [1]


def test_leftovers_are_found(monkeypatch, tmp_path, start_child):
    monkeypatch.setattr(leftovers, "_SECONDS", 0)
    threads, go = threading.enumerate(), threading.Event()
    before = leftovers.leftovers(threads, tmp_path)
    child = start_child([sys.executable, "-c", "import time; time.sleep(1000)"])
    thread = threading.Thread(target=go.wait, name="the thread")
    thread.start()
    file = tempfile.mkdtemp(dir=tmp_path)
    process, *others = (text for text in leftovers.leftovers(threads, tmp_path) if text not in before)
    go.set()
    thread.join()
    assert process.startswith(f"process {child.pid}: ") and others == ["thread the thread", f"file {file}"]


SEES = "import os, sys; print(sys.argv, __name__, sys.path, os.getcwd(), os.environ['X'], input()); sys.exit(7)"


@pytest.mark.parametrize("arguments", [["-c", SEES, "--a"], ["sees.py", "b"], ["-m", "sees", "c"]])
def test_forked_children_see_what_fresh_ones_see(arguments, tmp_path):
    (tmp_path / "sees.py").write_text(SEES)
    seen = []
    for forked in (False, True):
        (tmp_path / "typed").write_text("typed\n")
        with open(tmp_path / "typed") as stdin:
            options = {"cwd": tmp_path, "env": children.environment(X="1"), "stdin": stdin, "check": False}
            done = children.run([sys.executable, *arguments], forked=forked, **options)
        seen.append((done.returncode, done.stdout, done.stderr))
    assert seen[0] == seen[1] and seen[0][0] == 7
