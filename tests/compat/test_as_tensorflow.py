"""`install_as_tensorflow`: `import tensorflow` imports Thalweg, in processes of their own."""

import sys

from tests import children

INSTALL = "import thalweg\nthalweg.install_as_tensorflow()\n"


def run(program, folder, check=True, **options):
    (folder / "program.py").write_text(program)
    options = {"cwd": folder, "env": children.environment(), "check": check, "forked": True, **options}
    return children.run([sys.executable, "program.py"], **options)


def test_modules_of_tensorflow_are_those_of_thalweg(tmp_path):
    run(
        f"""{INSTALL}
import sys
import tensorflow as tf
import tensorflow.compat.v1 as tf1
import tensorflow.contrib.slim as slim
import tensorflow.contrib.layers.python.layers.utils
import tensorflow_core
from tensorflow.compat.v1 import nn
from tensorflow.compat.v1.nn import rnn_cell
from tensorflow.contrib import layers
from tensorflow.core.framework import graph_pb2, summary_pb2
from tensorflow.core.protobuf.config_pb2 import ConfigProto
from tensorflow.examples.tutorials.mnist import input_data
from tensorflow.python.framework import ops
from tensorflow.python.ops import array_ops, rnn_cell_impl
from tensorflow.python.ops.nn import relu
from tensorflow.train import AdamOptimizer

assert tf is thalweg is tensorflow_core and tf1 is thalweg.compat.v1 and tf.__version__ == "1.15.0"
assert input_data is thalweg.examples.tutorials.mnist.input_data and hasattr(input_data, "read_data_sets")
assert slim is thalweg.contrib.slim and layers is thalweg.contrib.layers
assert nn is thalweg.compat.v1.nn and rnn_cell.GRUCell is thalweg.nn.rnn_cell.GRUCell
assert array_ops is thalweg.python.ops.array_ops and array_ops.concat is thalweg.concat
assert ops.Graph is thalweg.Graph and relu is thalweg.nn.relu and AdamOptimizer is thalweg.train.AdamOptimizer
assert graph_pb2.GraphDef is thalweg.GraphDef and ConfigProto is thalweg.ConfigProto
before = list(sys.meta_path)
thalweg.install_as_tensorflow()
assert sys.meta_path == before
""",
        tmp_path,
    )


def test_modules_keep_their_identity_for_pickle_inspect_and_reload(tmp_path):
    run(
        f"""{INSTALL}
import importlib, inspect, logging, pickle, sys
import tensorflow as tf
import tensorflow.nn

assert tf.__spec__.name == tf.nn.__spec__.name.partition(".")[0] == tf.__name__ == "thalweg"
assert inspect.getmodule(tf.Graph) is sys.modules["thalweg._src.graph.graph"]
assert inspect.getmodule(tf.nn) is tf.nn and inspect.getsource(tf.Session)
assert pickle.loads(pickle.dumps(tf.float32)) is tf.float32
assert pickle.loads(b"ctensorflow.python.framework.dtypes\\nas_dtype\\n.") is tf.as_dtype
assert pickle.loads(pickle.dumps(tf.nn.relu)) is tf.nn.relu
assert importlib.reload(tf) is tf is thalweg and importlib.reload(tf.nn) is tensorflow.nn
assert importlib.util.find_spec("tensorflow.losses") is not None
assert logging.getLogger("tensorflow") is tf.get_logger()
""",
        tmp_path,
    )


def test_missing_modules_are_explained(tmp_path):
    modules = ["nothing", "contrib.nothing", "losses.nothing", "python.nothing", "python.ops.nothing"]
    attempt = (
        "    try:\n        __import__(name)\n    except ModuleNotFoundError as error:\n        print(error.name, error)"
    )
    found = run(f"{INSTALL}for name in {[f'tensorflow.{module}' for module in modules]}:\n{attempt}", tmp_path).stdout
    for module, line in zip(modules, found.splitlines(), strict=True):
        assert line.startswith(f"tensorflow.{module} No module named 'tensorflow.{module}'")
        assert f"'thalweg.{module}'" in line and "`thalweg check`" in line


def test_another_tensorflow_is_not_replaced_unless_forced(tmp_path):
    (tmp_path / "tensorflow").mkdir()
    run(f"{INSTALL}import tensorflow; assert tensorflow is thalweg", tmp_path)  # a folder is not a package
    (tmp_path / "tensorflow" / "__init__.py").write_text("name = 'other'\n")
    done = run(INSTALL, tmp_path, check=False)
    assert "FailedPreconditionError: TensorFlow is installed" in done.stderr
    assert "tensorflow/__init__.py" in done.stderr and "--force" in done.stderr
    forced = "import tensorflow, thalweg\nassert tensorflow.name == 'other'\n"
    forced += "thalweg.install_as_tensorflow(force=True)\nimport tensorflow.nn\nassert tensorflow is thalweg\n"
    run(forced, tmp_path)


def test_tensorboard_does_without_tensorflow(tmp_path):
    run(
        f"""{INSTALL}
import tensorflow as tf
from tensorboard.compat import tf as used
from tensorboard.compat.tensorflow_stub import io
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

assert used.io is io
with tf.Session() as session, tf.summary.FileWriter("log") as writer:
    writer.add_summary(session.run(tf.summary.scalar("loss", 2.0)), 3)
events = EventAccumulator("log").Reload()
assert [(event.step, event.value) for event in events.Scalars("loss")] == [(3, 2.0)]
""",
        tmp_path,
    )
