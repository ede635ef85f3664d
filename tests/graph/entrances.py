"""The entrances for graphs from outside, and small graphs to send through them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

import thalweg as tf
from thalweg._src.base.formats.graph_messages import message_class
from thalweg._src.deploy.serving.servable import Servable
from thalweg._src.deploy.transform.apply import TransformGraph
from thalweg._src.deploy.transform.files import freeze_graph_def, freeze_saved_model
from thalweg._src.tools.cli.main import commands

FLOAT, INT32, STRING, BOOL = 1, 3, 7, 10


def constant(graph_def: GraphDef, name: str, value: Any = 1.0) -> Any:
    node = graph_def.node.add(name=name, op="Const")
    node.attr["dtype"].type = STRING if isinstance(value, str) else FLOAT
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    return node


def small() -> GraphDef:
    """Returns a graph of a constant, a negation and a sum."""
    graph_def = GraphDef()
    constant(graph_def, "one")
    graph_def.node.add(name="minus", op="Neg", input=["one"]).attr["T"].type = FLOAT
    graph_def.node.add(name="sum", op="AddV2", input=["one", "minus"]).attr["T"].type = FLOAT
    return graph_def


def as_meta_graph(graph_def: GraphDef) -> MetaGraphDef:
    message = MetaGraphDef(graph_def=graph_def)
    message.meta_info_def.tags.append("serve")
    return message


def write_model(message: MetaGraphDef, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    model = message_class("SavedModel")(saved_model_schema_version=1, meta_graphs=[message])
    (folder / "saved_model.pb").write_bytes(model.SerializeToString())


def by_saved_model(graph_def: GraphDef, folder: Path, load: Callable[[str], Any]) -> None:
    write_model(as_meta_graph(graph_def), folder)
    load(str(folder))


def by_loader(folder: str) -> None:
    with tf.Session(graph=tf.get_default_graph()) as session:
        tf.saved_model.loader.load(session, ["serve"], folder)


def by_predictor(folder: str) -> None:
    graph = tf.get_default_graph()
    names = {"x": "one:0"}
    with tf.contrib.predictor.from_saved_model(folder, input_names=names, output_names=names, graph=graph).session:
        pass


def by_servable(folder: str) -> None:
    Servable(folder).close()


def by_command(command: str, *arguments: str) -> Callable[[str], None]:
    """Returns an entrance by a command of `thalweg`, whose error becomes a ValueError."""

    def enter(path: str) -> None:
        result = CliRunner().invoke(commands, [command, path, *arguments])
        assert not isinstance(result.exception, Exception), result.exception
        if result.exit_code:
            raise ValueError(result.output)

    return enter


def by_file(graph_def: GraphDef, folder: Path, load: Callable[[str], Any]) -> None:
    (folder / "graph.pb").write_bytes(graph_def.SerializeToString())
    load(str(folder / "graph.pb"))


def signed(graph_def: GraphDef, folder: Path, load: Callable[[str], Any]) -> None:
    """Enters by a SavedModel with a signature, which some entrances need."""
    message = as_meta_graph(graph_def)
    signature = message.signature_def["serving_default"]
    signature.method_name = "tensorflow/serving/predict"
    for infos in (signature.inputs, signature.outputs):
        infos["x"].name, infos["x"].dtype = "one:0", FLOAT
    write_model(message, folder)
    load(str(folder))


OUT = "/dev/null"  # nothing is written, since the graph is refused
ENTRANCES: dict[str, Callable[[GraphDef, Path], Any]] = {
    "import_graph_def": lambda graph_def, folder: tf.import_graph_def(graph_def, name=""),
    "import_meta_graph": lambda graph_def, folder: tf.train.import_meta_graph(as_meta_graph(graph_def)),
    "saved_model": lambda graph_def, folder: by_saved_model(graph_def, folder, by_loader),
    "predictor": lambda graph_def, folder: by_saved_model(graph_def, folder, by_predictor),
    "serving": lambda graph_def, folder: signed(graph_def, folder, by_servable),
    "transform": lambda graph_def, folder: TransformGraph(graph_def, [], ["sum"], ["strip_unused_nodes"]),
    "freeze": lambda graph_def, folder: signed(graph_def, folder, freeze_saved_model),
    "freeze_graph_def": lambda graph_def, folder: freeze_graph_def(graph_def, "none", ["sum"]),
    "onnx": lambda graph_def, folder: signed(graph_def, folder, tf.onnx.from_saved_model),
    "onnx_graph_def": lambda graph_def, folder: tf.onnx.from_graph_def(graph_def, [], ["sum"]),
    "thalweg predict": lambda graph_def, folder: signed(
        graph_def, folder, by_command("predict", "--input_exprs", "x=1.0")
    ),
    "thalweg freeze": lambda graph_def, folder: signed(graph_def, folder, by_command("freeze", OUT)),
    "thalweg export": lambda graph_def, folder: signed(graph_def, folder, by_command("export", "--onnx", OUT)),
    "thalweg optimize": lambda graph_def, folder: by_file(
        graph_def, folder, by_command("optimize", OUT, "--outputs", "sum", "--transforms", "fold_constants")
    ),
}
MODELS = [
    *("import_meta_graph", "saved_model", "predictor", "serving", "freeze", "onnx"),
    *("thalweg predict", "thalweg freeze", "thalweg export"),
]
