"""Commands without a package, of an extra or required: an error that names the package and the extra."""

import sys

import pytest

import thalweg as tf
from tests import children

BLOCKED = """
import sys
package, *arguments = sys.argv[1:]
for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
    sys.modules[name] = None
from thalweg._src.tools.cli.main import main
main(arguments)
"""


@pytest.fixture
def folder(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        tf.saved_model.simple_save(session, str(tmp_path / "saved" / "1"), {"x": x}, {"y": tf.identity(x, name="y")})
    (tmp_path / "model.h5").write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize(
    ("package", "arguments", "install"),
    [
        ("onnx", "export saved/1 --onnx model.onnx", "thalweg[onnx]"),
        ("h5py", "export model.h5 --onnx model.onnx", "thalweg[keras]"),
        ("httptools", "serve --model m=saved --port -1 --rest_api_port 0", "thalweg[serving]"),
        ("matplotlib", "simulate --workers 1 --model 1MB --plot figure.png", "matplotlib"),
        ("grpc", "status 127.0.0.1:1", "thalweg"),
        ("google.protobuf", "show saved/1 --all", "thalweg"),
        ("tensorboard", "freeze saved/1 frozen.pb", "thalweg"),
    ],
)
def test_the_package_and_its_extra_are_named(package, arguments, install, folder):
    command = [sys.executable, "-c", BLOCKED, package, *arguments.split()]
    ended = children.run(command, check=False, cwd=folder, forked=True)
    assert ended.returncode in (1, 2), ended.stderr
    assert "Error: " in ended.stderr and f"pip install {install}" in ended.stderr.replace("'", "")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "package", ["onnx", "h5py", "httptools", "uvloop", "orjson", "ray", "lmdb", "yaml", "matplotlib"]
)
def test_other_commands_do_not_need_the_package(package, folder):
    command = [sys.executable, "-c", BLOCKED, package, "show", "saved/1", "--all"]
    assert "signature_def['serving_default']" in children.run(command, cwd=folder, forked=True).stdout
