"""`thalweg check`: the names that a program uses and Thalweg lacks, found by the real command."""

import json
import pathlib
import sys

import pytest

from tests import children
from thalweg._src.tools.cli.check import check_files

ROOT = pathlib.Path(__file__).parents[3]


def thalweg(*arguments, cwd):
    command = [sys.executable, "-m", "thalweg._src.tools.cli.main", *map(str, arguments)]
    return children.run(command, cwd=cwd, env=children.environment(), check=False, forked=True)


def test_a_program_with_available_names_passes(tmp_path):
    (tmp_path / "good.py").write_text(
        "import tensorflow as tf\nx = tf.nn.relu(tf.constant(1.0))\nprint(tf.Session().run(x), tf.float32.name)\n"
    )
    done = thalweg("check", "good.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 file: all 4 names are available\n", "")


PROGRAM = """\
import tensorflow.compat.v1 as tf, numpy as np
from tensorflow import nn as layers_without_state
from tensorflow.contrib import no_such_part as part
import tensorflow.contrib.no_such_slim as slim
import tensorflow

n = tf.nn
def f(x, tf2=tf.no_default):
    n.reluu(x)
    with tf.variable_scope("a") as scope:
        scope.anything
    return layers_without_state.dropoutt, tensorflow.matmull, slim.conv2d

def g(tf):
    tf.is_a_parameter

class A(tf.NoBase):
    tf.compat.v1.no_member

n = np
n.reluu
tf.app.flags.FLAGS.any_flag
tf.Graph.no_method
tf.graph, tf.ops
f(tf.constantt(1).no_attribute)
"""


def test_missing_names_are_listed_with_location_and_suggestion(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = thalweg("check", "program.py", cwd=tmp_path)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    found = {line.split(" is missing")[0]: line.partition("nearest: ")[2] for line in lines[:-1]}
    assert list(found) == [
        "program.py:3:1: tf.contrib.no_such_part",
        "program.py:4:1: tf.contrib.no_such_slim",
        "program.py:8:14: tf.no_default",
        "program.py:9:5: tf.nn.reluu",
        "program.py:12:12: tf.nn.dropoutt",
        "program.py:12:43: tf.matmull",
        "program.py:12:63: tf.contrib.no_such_slim.conv2d",
        "program.py:17:9: tf.NoBase",
        "program.py:18:5: tf.no_member",
        "program.py:23:1: tf.Graph.no_method",
        "program.py:24:1: tf.graph",
        "program.py:24:11: tf.ops",
        "program.py:25:3: tf.constantt",
    ]
    assert found["program.py:9:5: tf.nn.reluu"] == "tf.nn.relu"
    assert found["program.py:12:12: tf.nn.dropoutt"] == "tf.nn.dropout"
    assert found["program.py:12:43: tf.matmull"] == "tf.matmul"
    assert found["program.py:12:63: tf.contrib.no_such_slim.conv2d"].endswith(".conv2d")
    assert found["program.py:25:3: tf.constantt"] == "tf.constant"
    assert lines[-1].startswith("1 file: 13 of ")


def test_unreadable_files_are_reported_and_others_checked(tmp_path):
    (tmp_path / "old.py").write_text("import tensorflow as tf\nprint tf.nn\n")
    (tmp_path / "bytes.py").write_bytes(b"# \xff\xfe\n")
    (tmp_path / "missing_name.py").write_text("import tensorflow as tf\ntf.no_such_name\n")
    done = thalweg("check", "old.py", "none.py", "bytes.py", "missing_name.py", cwd=tmp_path)
    assert done.returncode == 2
    errors = done.stderr.splitlines()
    assert errors[0].startswith("old.py:2: SyntaxError, as this is Python 2: ")
    assert errors[1] == "none.py:0: FileNotFoundError: No such file or directory"
    assert errors[2].startswith("bytes.py:")
    assert "missing_name.py:2:1: tf.no_such_name is missing" in done.stdout


def test_json(tmp_path):
    (tmp_path / "a.py").write_text("import thalweg as tf\ntf.matmull\n")
    done = thalweg("check", "--json", "a.py", "none.py", cwd=tmp_path)
    assert done.returncode == 2
    report = json.loads(done.stdout)
    assert report["missing"] == [{"file": "a.py", "line": 2, "column": 1, "name": "tf.matmull", "nearest": "tf.matmul"}]
    assert report["files"] == 2 and report["names"] == 1
    assert [failure["file"] for failure in report["failures"]] == ["none.py"]


def test_folders_and_notebooks(tmp_path):
    (tmp_path / "sub" / ".hidden").mkdir(parents=True)
    for place in ("sub/a.py", "sub/.hidden/b.py"):
        (tmp_path / place).write_text("import tensorflow as tf\ntf.no_such_name\n")
    cells = [
        {"cell_type": "markdown", "source": ["tf.text"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import tensorflow as tf\n", "tf.first_missing"]},
        {"cell_type": "code", "source": "%%bash\nls"},
        {"cell_type": "code", "source": "if True:\n    !pip install x\ntf.nn.second_missing"},
    ]
    (tmp_path / "sub" / "n.ipynb").write_text(json.dumps({"cells": cells}))
    done = thalweg("check", "sub", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[-4:-1] == [
        "sub/a.py: 1 uses of missing names, 0 that need --legacy",
        "sub/n.ipynb[2]: 1 uses of missing names, 0 that need --legacy",
        "sub/n.ipynb[4]: 1 uses of missing names, 0 that need --legacy",
    ]
    names = [line.split(" is missing")[0] for line in lines[:-4]]
    assert names == [
        "sub/a.py:2:1: tf.no_such_name",
        "sub/n.ipynb[2]:3:1: tf.first_missing",
        "sub/n.ipynb[4]:3:1: tf.nn.second_missing",
    ]
    (tmp_path / "bad.ipynb").write_text("{")
    assert thalweg("check", "bad.ipynb", cwd=tmp_path).returncode == 2


OLD = """\
import numpy as np, numpy, yaml, scipy.misc, os
import tensorflow as tf
from collections import Mapping, OrderedDict
from scipy import misc
from sklearn.cross_validation import train_test_split
from PIL import Image

x = np.zeros(3, np.float) + np.array(1.0, copy=False) + np.array(2, copy=True)
numpy.product(x), np.prod(x), misc.imresize(x, 2), scipy.misc.imread("a")
tf.constant(x).tostring
y = np.fromstring(x.tostring()), np.fromstring("1,2", sep=","), os.path.join("a")
yaml.load("a"), yaml.load("a", Loader=yaml.SafeLoader), Image.ANTIALIAS, Image.BICUBIC

def f(np):
    return np.float
"""


def test_removed_names_of_other_packages_need_legacy(tmp_path):
    (tmp_path / "old.py").write_text(OLD)
    done = thalweg("check", "old.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    *found, available, summary = done.stdout.splitlines()
    assert [line.removesuffix(" needs --legacy") for line in found] == [
        "old.py:3:1: collections.Mapping",
        "old.py:5:1: sklearn.cross_validation.train_test_split",
        "old.py:8:17: numpy.float",
        "old.py:8:29: numpy.array",
        "old.py:9:1: numpy.product",
        "old.py:9:31: scipy.misc.imresize",
        "old.py:9:52: scipy.misc.imread",
        "old.py:10:1: numpy.ndarray.tostring",
        "old.py:11:5: numpy.fromstring",
        "old.py:11:19: numpy.ndarray.tostring",
        "old.py:12:1: yaml.load",
        "old.py:12:57: PIL.Image.ANTIALIAS",
    ]
    assert available == "1 file: all 1 names are available"
    assert summary == "run with --legacy: 1 file with names that Python, NumPy or others removed"


@pytest.mark.parametrize(
    ("line", "is_old"),
    [
        ("print x", True),
        ("raise ValueError, 'x'", True),
        ("try:\n  x\nexcept A, e:\n  pass", True),
        ("x <> y", True),
        ("x = 0777", True),
        ("x = 10L", True),
        ("x = ur'a'", True),
        ("x = `y`", True),
        ("exec 'x' in y", True),
        ("if x:\n        y\n\tz", True),
        ("x = (", False),
        ("def f(:", False),
    ],
)
def test_python_2_is_named(tmp_path, line, is_old):
    (tmp_path / "old.py").write_text(f"import tensorflow as tf\n{line}\n")
    (failure,) = check_files([tmp_path / "old.py"]).failures
    assert failure.python_2 == is_old and ("as this is Python 2" in failure.message) == is_old


def test_usage(tmp_path):
    assert thalweg("check", cwd=tmp_path).returncode == 2
    assert "check" in thalweg("--help", cwd=tmp_path).stdout
    assert "thalweg, version" in thalweg("--version", cwd=tmp_path).stdout


@pytest.mark.parametrize("folder", ["tests/programs", "examples"])
def test_programs_of_this_repository_use_available_names(folder):
    done = thalweg("check", folder, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
