"""`thalweg.compat.v1`: the package under its name in TensorFlow 2, with every module below it."""

import importlib
import inspect
import pickle
import sys
import tomllib
from pathlib import Path

import pytest
import thalweg.compat.v1.keras.layers
from thalweg.compat.v1.nn.rnn_cell import LSTMCell

import thalweg as tf
import thalweg.compat.v1 as tf1
from tests import children
from thalweg.compat import v1
from thalweg.compat.v1 import keras

ROOT = Path(__file__).parents[2]


def test_the_package_has_all_names_of_thalweg():
    assert tf1 is v1 is tf.compat.v1 and tf1.__name__ == "thalweg.compat.v1"
    assert {name for name in dir(tf) if not name.startswith("__")} <= set(dir(tf1))
    assert tf1.exp is tf.exp and tf1.GraphDef is tf.GraphDef and tf1.__version__ == tf.__version__
    names = {}
    exec("from thalweg.compat.v1 import *", names)
    assert set(tf.__all__) == names.keys() - {"__builtins__"}


@pytest.mark.parametrize(
    "name", ["nn", "train", "errors", "contrib.layers", "io.gfile", "contrib.layers.python.layers"]
)
def test_each_module_below_is_that_of_thalweg(name):
    assert importlib.import_module(f"thalweg.compat.v1.{name}") is importlib.import_module(f"thalweg.{name}")


def test_each_form_of_import_leads_to_the_same_module():
    assert keras is tf.keras is tf1.keras
    assert thalweg.compat.v1.keras.layers is tf.keras.layers
    assert LSTMCell is tf.nn.rnn_cell.LSTMCell


def test_modules_below_are_loaded_when_they_are_asked_for():
    code = (
        "import sys, thalweg\n"
        "assert 'thalweg.compat.v1' not in sys.modules and 'thalweg.estimator' not in sys.modules\n"
        "finders = list(sys.meta_path)\n"
        "tf = thalweg.compat.v1\n"
        "assert len(sys.meta_path) == len(finders) + 1 and 'thalweg.estimator' not in sys.modules\n"
        "assert tf.estimator is thalweg.estimator and 'estimator' in vars(tf)\n"
    )
    children.run([sys.executable, "-c", code])


def test_modules_and_names_keep_their_identity_for_reload_pickle_and_inspect():
    assert importlib.reload(tf1) is tf1 and tf1.exp is tf.exp
    assert sum(finder.__module__ == "thalweg._src.compat.version_1" for finder in sys.meta_path if type(finder) is type)
    before = tf.bitwise.__spec__
    assert importlib.import_module("thalweg.compat.v1.bitwise").__spec__ is before
    assert importlib.reload(tf1.bitwise) is tf.bitwise
    assert pickle.loads(b"cthalweg.compat.v1.nn.rnn_cell\nLSTMCell\n.") is LSTMCell
    assert pickle.loads(pickle.dumps(tf1.nn.relu)) is tf.nn.relu
    assert inspect.getmodule(tf1) is tf1 and inspect.getmodule(tf1.nn) is tf.nn
    assert inspect.getmodule(LSTMCell) is inspect.getmodule(tf.nn.rnn_cell.LSTMCell)
    assert importlib.util.find_spec("thalweg.compat.v1.losses") is not None


@pytest.mark.parametrize("name", ["nothing", "nn.nothing", "losses.nothing", "contrib.layers.python.nothing"])
def test_a_missing_module_is_named(name):
    with pytest.raises(ModuleNotFoundError, match=f"No module named 'thalweg.compat.v1.{name}'"):
        importlib.import_module(f"thalweg.compat.v1.{name}")
    if "." not in name:
        assert importlib.util.find_spec(f"thalweg.compat.v1.{name}") is None


def test_a_missing_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tf1.nothing
    with pytest.raises(ImportError, match=r"cannot import name 'nothing' from 'thalweg\.compat\.v1'"):
        exec("from thalweg.compat.v1 import nothing")


def test_the_stub_for_type_checkers_is_part_of_the_package():
    """A checker follows the stub: its names are those of thalweg, and imports of modules below it are allowed."""
    stub = Path(tf1.__file__).with_suffix(".pyi")
    assert "from thalweg import *" in stub.read_text() and "def __getattr__(" in stub.read_text()
    with (ROOT / "pyproject.toml").open("rb") as file:
        data = tomllib.load(file)["tool"]["setuptools"]["package-data"]["thalweg"]
    assert str(stub.relative_to(ROOT / "src" / "thalweg")) in data
