"""`thalweg run`: programs for TensorFlow run unchanged, as `python` runs them."""

import os
import signal
import subprocess
import sys

import pytest

from tests import children

COMMAND = [sys.executable, "-m", "thalweg", "run"]


def run(*arguments, cwd, check=True, command=COMMAND, **options):
    options = {"cwd": cwd, "env": children.environment(), "check": check, "forked": "thalweg" in command, **options}
    return children.run([*command, *arguments], **options)


@pytest.fixture
def shows(tmp_path):
    """A program in a folder of its own that prints what it sees of its surroundings."""
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "neighbour.py").write_text("")
    (tmp_path / "inside" / "shows.py").write_text(
        "import sys\n"
        "try:\n    import tensorflow\nexcept ImportError:\n    pass\n"
        "print(__name__, sys.argv, sys.path[0], globals().get('__file__'), __spec__ and __spec__.name, __package__)\n"
        "print(sys.modules['__main__'].sys is sys, type(__loader__), __doc__)\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["inside/shows.py", "-x", "--force", "a b"],
        ["-m", "inside.shows", "--legacy", "-m"],
        ["-c", "import sys; x: 1 + 1 = 3; print(sys.argv, sys.path[0] == '', __name__, __annotations__)", "--help"],
    ],
)
def test_programs_see_what_they_see_under_python(shows, arguments):
    ours = run(*arguments, cwd=shows)
    assert ours.stdout == run(*arguments, cwd=shows, command=[sys.executable]).stdout
    assert ours.stderr == ""


def test_standard_input_and_folders_are_programs(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text("import sys, tensorflow, other; print(sys.argv)")
    (tmp_path / "folder" / "other.py").write_text("")
    assert run("folder", "x", cwd=tmp_path).stdout == "['folder', 'x']\n"
    (tmp_path / "script.py").write_text("import sys, tensorflow; print(sys.argv)")
    with open(tmp_path / "script.py") as script:
        assert run("-", "y", cwd=tmp_path, stdin=script).stdout == "['-', 'y']\n"


def test_a_terminal_opens_an_interactive_session(tmp_path, start_child):
    own, terminal = os.openpty()
    options = {"cwd": tmp_path, "env": children.environment(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = start_child(COMMAND, stdin=terminal, **options)
    os.write(own, b"import tensorflow\nprint(tensorflow.__name__, __name__)\n\x04")
    out, _ = process.communicate()
    os.close(own)
    os.close(terminal)
    assert b"thalweg __main__\n" in out and process.returncode == 0


@pytest.mark.parametrize(
    "program",
    [
        "def f():\n    raise KeyError(3)\nf()",
        "x = (",
        "import sys; sys.exit(7)",
        "import sys; sys.exit('text')",
        "import sys; sys.excepthook = lambda *a: print(a[0], a[2].tb_frame.f_code.co_filename); 1 / 0",
        "import atexit, os; atexit.register(print, 'end'); raise EOFError",
        "import threading\nt = threading.Timer(0.3, lambda: print(__import__('__main__').t is t))\nt.start()",
        "raise KeyboardInterrupt",
    ],
)
def test_programs_end_as_under_python(tmp_path, program):
    (tmp_path / "program.py").write_text(program + "\n")
    ours = run("program.py", cwd=tmp_path, check=False)
    theirs = run("program.py", cwd=tmp_path, check=False, command=[sys.executable])
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_a_program_is_interrupted_as_under_python(tmp_path, start_child):
    (tmp_path / "program.py").write_text("import time, tensorflow; print('started', flush=True); time.sleep(1000)\n")
    process = start_child(
        [*COMMAND, "program.py"],
        cwd=tmp_path,
        env=children.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"started\n"
    children.interrupt(process)
    assert process.returncode == -signal.SIGINT
    assert process.stderr.read().startswith(b'Traceback (most recent call last):\n  File "%s' % bytes(tmp_path))


def test_processes_of_a_program_import_tensorflow_too(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.shadowed = True\n")
    (tmp_path / "child.py").write_text(
        "import sys\nassert sys.shadowed and 'torch' not in sys.modules\n"
        "from tensorflow.contrib import slim\nimport tensorflow as tf\nprint(tf.__name__, slim.__name__)\n"
    )
    (tmp_path / "program.py").write_text(
        """
import multiprocessing, subprocess, sys
import tensorflow as tf

class Job:
    def __call__(self, pipe):
        pipe.send((tf.__name__, __name__))

if __name__ == "__main__":
    for method in "spawn", "forkserver", "fork":
        context = multiprocessing.get_context(method)
        here, there = context.Pipe()
        process = context.Process(target=Job(), args=[there])
        process.start()
        print(method, *here.recv(), flush=True)
        process.join()
    subprocess.run([sys.executable, "child.py"], check=True)
"""
    )
    environment = children.environment()
    environment["PYTHONPATH"] += f":{tmp_path}"
    found = children.run([*COMMAND, "program.py"], cwd=tmp_path, env=environment)
    assert found.stdout.splitlines() == [
        "spawn thalweg __mp_main__",
        "forkserver thalweg __mp_main__",
        "fork thalweg __main__",
        "thalweg thalweg.contrib.slim",
    ]


def test_tests_of_a_program_run(tmp_path):
    (tmp_path / "test_program.py").write_text(
        "import tensorflow as tf\n\n"
        "class ProgramTest(tf.test.TestCase):\n"
        "    def test_sum(self):\n        with self.test_session():\n"
        "            self.assertEqual(tf.add(1, 2).eval(), 3)\n"
    )
    assert "1 passed" in run("-m", "pytest", "-p", "no:cacheprovider", "test_program.py", cwd=tmp_path).stdout


def test_a_missing_name_hints_at_the_check(tmp_path):
    (tmp_path / "program.py").write_text("import tensorflow as tf\ntf.nothing\n")
    done = run("program.py", cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("hint: `thalweg check program.py` lists the names of TensorFlow that Thalweg lacks\n")


def test_an_installed_tensorflow_is_refused_unless_forced(tmp_path):
    (tmp_path / "tensorflow.py").write_text("")
    (tmp_path / "program.py").write_text("import tensorflow; print(tensorflow.__name__)")
    refused = run("program.py", cwd=tmp_path, check=False)
    assert refused.returncode == 1 and refused.stderr.startswith("thalweg: TensorFlow is installed")
    assert "Traceback" not in refused.stderr
    assert run("--force", "program.py", cwd=tmp_path).stdout == "thalweg\n"


def test_wrong_command_lines_are_explained(tmp_path):
    missing = run("missing.py", cwd=tmp_path, check=False)
    assert missing.returncode == 2 and "can't open file" in missing.stderr
    for arguments in ["--nothing", "x.py"], ["-m"], ["-c"]:
        wrong = run(*arguments, cwd=tmp_path, check=False)
        assert wrong.returncode == 2 and "Usage:" in wrong.stderr


def test_the_package_runs_scripts_and_commands(tmp_path):
    (tmp_path / "program.py").write_text("import tensorflow; print(tensorflow.__name__)")
    package = [sys.executable, "-m", "thalweg"]
    assert run("program.py", cwd=tmp_path, command=package).stdout == "thalweg\n"
    assert "0.1.0" in run("--version", cwd=tmp_path, command=package).stdout
    assert "all 1 names" in run("check", "program.py", cwd=tmp_path, command=package).stdout
