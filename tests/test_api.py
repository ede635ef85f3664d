"""The modules of the public API are what `make api` writes from the exported names."""

import importlib
import inspect
import sys
from pathlib import Path

import pytest

import thalweg as tf
from tests import children

ROOT = Path(__file__).parent.parent


def test_public_modules_are_up_to_date():
    found = children.run([sys.executable, ROOT / "tools" / "api.py", "--check"], check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("name", ["nn", "contrib.slim", "contrib.layers", "train", "data.experimental", "io.gfile"])
def test_namespaces_are_modules_in_files(name):
    module = importlib.import_module(f"thalweg.{name}")
    assert Path(module.__file__).is_relative_to(ROOT / "src" / "thalweg")
    assert set(module.__all__) <= set(dir(module))


def test_importing_adds_no_import_hook():
    code = (
        "import sys; before = [*sys.meta_path, *sys.path_hooks]\n"
        "import thalweg.contrib.slim.nets, thalweg.train\n"
        "print([*sys.meta_path, *sys.path_hooks] == before)"
    )
    found = children.run([sys.executable, "-c", code])
    assert found.stdout == "True\n"


def test_functions_of_single_ops_have_the_parameters_of_their_schema():
    assert list(inspect.signature(tf.exp).parameters) == ["x", "name"]
    assert list(inspect.signature(tf.nn.relu).parameters) == ["features", "name"]
    assert inspect.signature(tf.arg_max).parameters["output_type"].default is tf.int64
    assert tf.math.exp is tf.exp


@pytest.mark.parametrize("name", ["", "train", "summary", "contrib.tensorboard.plugins.projector"])
def test_classes_of_messages_have_docstrings(name):
    space = importlib.import_module(f"thalweg.{name}".rstrip("."))
    messages = [public for public in space.__all__ if hasattr(getattr(space, public), "DESCRIPTOR")]
    assert messages and [public for public in messages if not getattr(space, public).__doc__] == []


def test_a_missing_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'thalweg.nn' has no attribute 'nothing'"):
        _ = tf.nn.nothing
