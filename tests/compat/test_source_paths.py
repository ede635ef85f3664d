"""Paths of TensorFlow's source: those of public things lead to them, others do not exist."""

import importlib
import pickle
import pydoc
import sys

import pytest

import thalweg as tf
from tests import children
from thalweg._src.compat import source_paths
from thalweg._src.compat.contrib.framework import deprecation

SAME = {
    "python.framework.ops": {"convert_to_tensor": tf.convert_to_tensor, "Tensor": tf.Tensor, "Graph": tf.Graph},
    "python.framework.dtypes": {"float32": tf.float32, "as_dtype": tf.as_dtype},
    "python.framework.tensor_util": {"constant_value": tf.contrib.util.constant_value},
    "python.ops.array_ops": {"concat": tf.concat, "placeholder": tf.placeholder},
    "python.ops.math_ops": {"matmul": tf.matmul},
    "python.ops.control_flow_ops": {"cond": tf.cond, "while_loop": tf.while_loop},
    "python.ops.init_ops": {"zeros_initializer": tf.zeros_initializer},
    "python.ops.nccl_ops": {"all_sum": tf.contrib.nccl.all_sum},
    "python.ops.nn_ops": {"conv2d": tf.nn.conv2d},
    "python.ops.rnn_cell": {"GRUCell": tf.nn.rnn_cell.GRUCell},
    "python.ops.rnn": {"dynamic_rnn": tf.nn.dynamic_rnn},
    "python.ops.variable_scope": {"get_variable": tf.get_variable},
    "python.platform.gfile": {"Exists": tf.gfile.Exists},
    "python.platform.flags": {"FLAGS": tf.flags.FLAGS},
    "python.platform.tf_logging": {"info": tf.logging.info},
    "python.layers.core": {"Dense": tf.layers.Dense},
    "python.training.optimizer": {"Optimizer": tf.train.Optimizer},
    "python.training.tracking.util": {"Checkpoint": tf.train.Checkpoint},
    "python.training.saver": {"Saver": tf.train.Saver, "latest_checkpoint": tf.train.latest_checkpoint},
    "python.saved_model.builder": {"SavedModelBuilder": tf.saved_model.Builder},
    "python.saved_model.loader_impl": {"load": tf.saved_model.load},
    "python.saved_model.simple_save": {"simple_save": tf.saved_model.simple_save},
    "python.saved_model.signature_def_utils_impl": {"predict_signature_def": tf.saved_model.predict_signature_def},
    "python.data.ops.dataset_ops": {"Dataset": tf.data.Dataset},
    "python.data.experimental.ops.grouping": {"Reducer": tf.data.experimental.Reducer},
    "python.module.module": {"Module": tf.Module},
    "python.util.nest": {"flatten": tf.nest.flatten, "is_sequence": tf.contrib.framework.nest.is_sequence},
    "contrib.layers.python.layers": {"batch_norm": tf.contrib.layers.batch_norm},
    "contrib.layers.python.layers.initializers": {"xavier_initializer": tf.contrib.layers.xavier_initializer},
    "contrib.framework.python.ops": {"arg_scope": tf.contrib.framework.arg_scope},
    "contrib.framework.python.ops.audio_ops": {"decode_wav": tf.audio.decode_wav},
    "contrib.slim.python.slim.nets": {"resnet_v1": tf.contrib.slim.nets.resnet_v1},
    "contrib.slim.python.slim.nets.vgg": {"vgg_16": tf.contrib.slim.nets.vgg.vgg_16},
    "contrib.learn.python.learn.datasets.mnist": {"DataSet": tf.contrib.learn.datasets.mnist.DataSet},
    "contrib.losses.python.metric_learning.metric_loss_ops": {
        "npairs_loss": tf.contrib.losses.metric_learning.npairs_loss
    },
    "contrib.graph_editor.util": {"make_list_of_op": tf.contrib.graph_editor.make_list_of_op},
    "contrib.nn.python.ops.sampling_ops": {"rank_sampled_softmax_loss": tf.contrib.nn.rank_sampled_softmax_loss},
    "contrib.framework.python.ops.arg_scope": {"arg_scope": tf.contrib.framework.arg_scope},
    "contrib.layers.python.layers.utils": {
        "convert_collection_to_dict": tf.contrib.layers.utils.convert_collection_to_dict
    },
    "contrib.rnn.python.ops.core_rnn_cell": {"LSTMCell": tf.nn.rnn_cell.LSTMCell},
    "contrib.slim.python.slim.learning": {"train": tf.contrib.slim.learning.train},
    "contrib.slim.python.slim.nets.resnet_v1": {"resnet_v1_50": tf.contrib.slim.nets.resnet_v1.resnet_v1_50},
    "contrib.slim.python.slim.data.tfexample_decoder": {"Image": tf.contrib.slim.tfexample_decoder.Image},
    "contrib.slim.python.slim.data.parallel_reader": {"parallel_read": tf.contrib.slim.parallel_reader.parallel_read},
    "core.protobuf.config_pb2": {"ConfigProto": tf.ConfigProto},
    "core.framework.graph_pb2": {"GraphDef": tf.GraphDef},
    "core.framework.summary_pb2": {"Summary": tf.Summary},
    "core.example.example_pb2": {"Example": tf.train.Example},
    "python.training.server_lib": {"ClusterSpec": tf.train.ClusterSpec},
    "core.protobuf.cluster_pb2": {"ClusterDef": tf.train.ClusterDef, "JobDef": tf.train.JobDef},
    "core.protobuf.tensorflow_server_pb2": {"ServerDef": tf.train.ServerDef},
    "python.distribute.distribution_strategy_context": {"get_strategy": tf.distribute.get_strategy},
    "python.distribute.cross_device_ops": {"NcclAllReduce": tf.distribute.NcclAllReduce},
    "python.distribute.cluster_resolver": {"UnionClusterResolver": tf.distribute.cluster_resolver.UnionResolver},
    "python.distribute.cluster_resolver.tfconfig_cluster_resolver": {
        "TFConfigClusterResolver": tf.distribute.cluster_resolver.TFConfigClusterResolver
    },
}


@pytest.mark.parametrize("path", SAME)
def test_source_paths_expose_public_names(path: str) -> None:
    module = importlib.import_module(f"thalweg.{path}")
    for name, expected in SAME[path].items():
        assert getattr(module, name) is expected


@pytest.mark.parametrize(
    "statement",
    [
        "import thalweg.python.nowhere",
        "from thalweg.python.ops import nothing_ops",
        "from thalweg.python.ops.array_ops import there_is_no_such_op",
        "from thalweg.contrib.layers.python import nothing",
        "import thalweg.contrib.nowhere.python",
        "from thalweg.core.framework import nothing_pb2",
    ],
)
def test_unknown_paths_raise(statement: str) -> None:
    with pytest.raises(ImportError):
        exec(statement)


def test_modules_are_found_from_their_parents() -> None:
    assert tf.python.ops.nn.relu is tf.nn.relu
    assert tf.contrib.rnn.python.ops.core_rnn_cell.LSTMCell is tf.nn.rnn_cell.LSTMCell
    ops = importlib.import_module("thalweg.python.framework.ops")
    assert importlib.import_module("thalweg.python.framework").ops is ops
    rnn = importlib.import_module("thalweg.python.ops.rnn")
    assert rnn.rnn_cell_impl.LSTMStateTuple is tf.nn.rnn_cell.LSTMStateTuple  # what the source imports itself
    with pytest.raises(AttributeError, match="no public name 'nothing'"):
        _ = ops.nothing


def test_every_path_leads_to_modules_that_exist() -> None:
    for package, paths in source_paths._TABLES.items():
        for path, sources in paths.items():
            module = importlib.import_module(f"{package}.{path}")
            for source in sources:
                if not source.startswith("tensorboard."):  # which lacks some files of messages
                    source_paths._opened(source)
            with pytest.raises(AttributeError, match="there_is_no_such_name"):
                _ = module.there_is_no_such_name
    for path in source_paths._PRIVATE:
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(f"thalweg.python.{module}"), name), path


def test_a_flag_of_a_module_is_set_where_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    path = importlib.import_module("thalweg.python.util.deprecation")
    monkeypatch.setattr(path, "_PRINT_DEPRECATION_WARNINGS", False)
    assert deprecation._PRINT_DEPRECATION_WARNINGS is False


def test_decoders_of_slim_have_a_base_class() -> None:
    from thalweg.contrib.slim.python.slim.data import data_decoder

    assert issubclass(tf.contrib.slim.tfexample_decoder.TFExampleDecoder, data_decoder.DataDecoder)
    with pytest.raises(TypeError, match="abstract"):
        data_decoder.DataDecoder()


def test_what_a_star_imports() -> None:
    names: dict[str, object] = {}
    exec("from thalweg.python.ops.array_ops import *", names)
    assert names["concat"] is tf.concat and names["math_ops"] is tf.python.ops.math_ops and "input" not in names
    assert "concat" in dir(tf.python.ops.array_ops)


def test_moving_averages() -> None:
    from thalweg.python.training import moving_averages

    with tf.Graph().as_default(), tf.Session() as session:
        mean = tf.Variable(1.0)
        update = moving_averages.assign_moving_average(mean, 3.0, 0.5, zero_debias=False)
        session.run(mean.initializer)
        assert session.run(update) == 2.0


def test_local_devices() -> None:
    from thalweg.python.client import device_lib

    first = device_lib.list_local_devices()[0]
    assert (first.name, first.device_type) == ("/device:CPU:0", "CPU")


def test_mode_keys() -> None:
    modes = tf.estimator.ModeKeys
    assert (modes.TRAIN, modes.EVAL, modes.PREDICT) == ("train", "eval", "infer")


WALK = """
import importlib, inspect, pkgutil, rlcompleter, sys
import thalweg as tf
for module in list(pkgutil.walk_packages(tf.__path__, "thalweg.")):
    if not module.name.startswith("thalweg._"):
        importlib.import_module(module.name)
public = [name for name in sys.modules if name.startswith("thalweg.") and not name.startswith("thalweg._src")]
for name in sorted(public):
    module = sys.modules[name]
    for attribute in dir(module):
        getattr(module, attribute)
    for probe in ("__wrapped__", "__deepcopy__", "__reduce_ex__", "__file__", "_ipython_display_", "_repr_html_"):
        hasattr(module, probe)
    hash(module), repr(module), inspect.unwrap(module), inspect.getdoc(module), inspect.getmodule(module)
for name in ("thalweg.python.ops.array_ops", "thalweg.core.example.example_pb2", "thalweg.train", "thalweg.compat.v1"):
    inspect.getmembers(sys.modules[name])
    rlcompleter.Completer({"m": sys.modules[name]}).attr_matches("m.")
    exec(f"from {name} import *", {})
print(len(public))
"""


def test_every_name_that_a_public_module_lists_exists():
    count = int(children.run([sys.executable, "-c", WALK], forked=True).stdout)
    assert count > 500


def test_messages_that_tensorboard_lacks_are_listed_with_the_names_of_others():
    module = importlib.import_module("thalweg.core.example.example_pb2")
    assert {"Example", "SequenceExample"} <= set(dir(module))


def test_help_shows_modules_with_messages():
    text = pydoc.render_doc(importlib.import_module("thalweg.core.example.example_pb2"), renderer=pydoc.plaintext)
    assert "class Example(" in text
    assert pickle.loads(pickle.dumps(tf.train.Example)) is tf.train.Example
