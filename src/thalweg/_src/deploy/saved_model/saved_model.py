"""SavedModel: graphs with their variables, assets and signatures in a folder, for loading and serving."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from thalweg._src.base import dtypes, logging
from thalweg._src.base.export import export
from thalweg._src.base.formats import durable
from thalweg._src.base.formats.paths import leads_out
from thalweg._src.base.formats.regular import require_regular
from thalweg._src.base.formats.text import PathLike, as_text as to_text
from thalweg._src.base.signatures import parameters_of
from thalweg._src.deploy.saved_model.files import (
    ASSETS_DIRECTORY,
    ASSETS_KEY,
    LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY,
    SERVING,
    folder_of,
    meta_graph_with_tags,
    new_saved_model,
    read_saved_model,
    variables_prefix,
    write_saved_model,
)
from thalweg._src.deploy.saved_model.signatures import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    build_tensor_info,
    predict_signature_def,
)
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graphdef import message_type
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, control_dependencies, get_collection
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.checkpoint.saver import Saver, import_meta_graph_with_return_elements
from thalweg._src.training.variables.variables import global_variables_initializer, local_variables_initializer

_ASSET_URL = "type.googleapis.com/tensorflow.AssetFileDef"
_INIT_KEY, _TRAIN_KEY = "__saved_model_init_op", "__saved_model_train_op"

# -- saving -----------------------------------------------------------------------------------------------------------


@export("saved_model.Builder", "saved_model.builder.SavedModelBuilder")
class SavedModelBuilder:
    """Collects graphs, the first with its variables, and writes them into a folder."""

    def __init__(self, export_dir: PathLike) -> None:
        self._export_dir = folder_of(export_dir)
        if os.path.isdir(self._export_dir) and os.listdir(self._export_dir):
            raise AssertionError(f"Export directory {self._export_dir} already exists, and isn't empty.")
        with durable.typed_errors(self._export_dir):
            os.makedirs(self._export_dir, exist_ok=True)
        self._message = new_saved_model()
        self._has_saved_variables = False
        self._assets: dict[str, str] = {}  # names in the folder -> the original files

    def _add(
        self,
        sess: Any,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Iterable[Any] | None = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        _require_valid(signature_def_map)
        assets = self._copy_assets(assets_collection)
        _add_main_op(legacy_init_op if main_op is None else main_op)
        saver = saver or Saver(sharded=True, allow_empty=True)
        if not self._has_saved_variables:
            self._save_variables(sess, saver)
        message = saver.export_meta_graph(clear_devices=clear_devices, strip_default_attrs=strip_default_attrs)
        message.meta_info_def.tags.extend([tags] if isinstance(tags, str) else tags)
        for key, signature in (signature_def_map or {}).items():
            message.signature_def[key].CopyFrom(signature)
        for asset in assets:
            packed = message.collection_def[ASSETS_KEY].any_list.value.add()
            packed.type_url, packed.value = _ASSET_URL, asset.SerializeToString()
        self._message.meta_graphs.add().CopyFrom(message)
        self._has_saved_variables = True

    def _save_variables(self, sess: Any, saver: Any) -> None:
        prefix = variables_prefix(self._export_dir)
        with durable.typed_errors(prefix):
            os.makedirs(os.path.dirname(prefix), exist_ok=True)
        saver.save(sess, prefix, write_meta_graph=False, write_state=False)
        saver.wait()

    @parameters_of(_add)
    def add_meta_graph_and_variables(self, **arguments: Any) -> None:
        """Adds the default graph, with the values of its variables in a session."""
        if self._has_saved_variables:
            raise AssertionError("The variables have already been saved: use add_meta_graph() for further graphs.")
        self._add(**arguments)

    @parameters_of(_add, without=["sess"])
    def add_meta_graph(self, **arguments: Any) -> None:
        """Adds the default graph, which shares the variables saved with the first graph."""
        if not self._has_saved_variables:
            raise AssertionError("No variables have been saved yet: add_meta_graph_and_variables() comes first.")
        self._add(sess=None, **arguments)

    def save(self, as_text: bool = False) -> str:
        """Writes the graphs and returns the path of the file."""
        path = write_saved_model(self._message, self._export_dir, as_text)
        logging.info("SavedModel written to: %s", path)
        return path

    def _copy_assets(self, tensors: Iterable[Any] | None) -> list[Any]:
        """Copies the files that constants name, and returns one AssetFileDef per constant."""
        assets = []
        for tensor in tensors or ():
            source = _path_in(tensor)
            name = self._name_for(source)
            if name not in self._assets:
                self._assets[name] = source
                target = os.path.join(self._export_dir, ASSETS_DIRECTORY, name)
                with durable.typed_errors(source):
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    shutil.copyfile(source, target)
            info = build_tensor_info(tensor)
            assets.append(message_type("AssetFileDef")(filename=name, tensor_info=info))
        return assets

    def _name_for(self, source: str) -> str:
        """Returns the name of a file among the assets, numbered if another file has the name."""
        base = name = os.path.basename(source)
        number = 0
        while name in self._assets and not _is_same(self._assets[name], source):
            number += 1
            name = f"{base}_{number}"
        return name


def _is_same(one: str, other: str) -> bool:
    if one == other:
        return True
    with durable.typed_errors(other):
        return filecmp.cmp(one, other, shallow=False)


def _path_in(tensor: Any) -> str:
    """Returns the path that a constant holds."""
    if not isinstance(tensor, Tensor) or tensor.op.type != "Const" or tensor.dtype != dtypes.string:
        raise TypeError(f"assets_collection: expected constants of type string, received {tensor!r}")
    value = tensor.op.attrs["value"]
    if value.size != 1:
        raise TypeError(f"assets_collection: expected one path in each constant, {tensor.name!r} has {value.size}")
    path = to_text(value.reshape(-1)[0])
    if not path:
        raise ValueError(f"assets_collection: the path in {tensor.name!r} is empty")
    return path


def _add_main_op(operation: Any) -> None:
    if operation is None:
        return
    if not isinstance(operation, Operation):
        raise TypeError(f"main_op: expected an Operation, received {operation!r}")
    for key in (MAIN_OP_KEY, LEGACY_INIT_OP_KEY):
        if get_collection(key):
            raise ValueError(f"Graph already contains one or more main ops under the collection {key}.")
    add_to_collection(MAIN_OP_KEY, operation)


def _require_valid(signatures: Mapping[str, Any] | None) -> None:
    for key, signature in (signatures or {}).items():
        if key in (_INIT_KEY, _TRAIN_KEY):
            raise KeyError(f"signature_def_map: the key {key!r} is reserved")
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            encoding = info.WhichOneof("encoding")
            if encoding is None or (encoding == "name" and not info.name):
                raise AssertionError(f"signature {key!r}: a TensorInfo has no name: {info}")
            if not info.dtype and encoding != "composite_tensor":
                raise AssertionError(f"signature {key!r}: a TensorInfo has no dtype: {info}")


@export("saved_model.simple_save")
def simple_save(
    session: Any,
    export_dir: PathLike,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Any = None,
) -> None:
    """Saves the default graph for serving, with one signature.

    Args:
        outputs: Outputs by name.
        legacy_init_op: Operation to run after the variables are restored.
    """
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        [SERVING],
        {DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)},
        assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()


@export("saved_model.main_op.main_op")
def main_op() -> Operation:
    """Returns an operation that initializes all variables and tables of the default graph."""
    tables = group(*get_collection(GraphKeys.TABLE_INITIALIZERS), name="init_all_tables")
    return group(global_variables_initializer(), local_variables_initializer(), tables)


@export("saved_model.main_op_with_restore", "saved_model.main_op.main_op_with_restore")
def main_op_with_restore(restore_op_name: Any) -> Operation:
    """Returns an operation that completes after `main_op` and another one, such as a Saver's restore."""
    with control_dependencies([main_op()]):
        return group(get_default_graph().as_graph_element(restore_op_name))


# -- loading ----------------------------------------------------------------------------------------------------------


@export("saved_model.load", "saved_model.loader.load")
def load(
    sess: Any,
    tags: Iterable[str],
    export_dir: PathLike,
    import_scope: str | None = None,
    trusted: bool | None = None,
    **saver_kwargs: Any,
) -> Any:
    """Adds the graph with these tags to a session's graph, restores its variables, and runs its main operation.

    Returns its MetaGraphDef, which contains the signatures.

    trusted: by default the graph may read files and have Savers, but neither write other files nor call Python
    functions of this process, as it can with True; False refuses all that reaches outside, apart from its Savers
    """
    folder = folder_of(export_dir)
    message = meta_graph_with_tags(read_saved_model(folder), tags)
    with sess.graph.as_default():
        assets = _assets_of(message, folder, import_scope)
        saver, _ = import_meta_graph_with_return_elements(
            message, import_scope=import_scope, trusted=trusted, **saver_kwargs
        )
        if saver is None:
            logging.info("the SavedModel has no variables to restore")
        else:
            saver.restore(sess, variables_prefix(folder))
        first = _first_op(message)
        if first is not None:
            sess.run(sess.graph.as_graph_element(_within(import_scope, first)), assets)
    return message


def _within(scope: str | None, name: str) -> str:
    return f"{scope.rstrip('/')}/{name}" if scope else name


def _assets_of(message: Any, folder: str, scope: str | None) -> dict[str, str]:
    """Returns the paths of assets in this folder, by the names of the constants that hold their original paths."""
    definitions = list(message.asset_file_def)
    if not definitions and ASSETS_KEY in message.collection_def:
        packed = message.collection_def[ASSETS_KEY].any_list.value
        definitions = [message_type("AssetFileDef").FromString(one.value) for one in packed]
    for definition in definitions:
        if leads_out(definition.filename):
            raise ValueError(f"the asset {definition.filename!r} is not in the folder of the SavedModel")
    start = os.path.join(folder, ASSETS_DIRECTORY)
    paths = {_within(scope, d.tensor_info.name): os.path.join(start, d.filename) for d in definitions}
    for path in filter(os.path.exists, paths.values()):  # what is missing fails where it is read
        with durable.typed_errors(path):
            require_regular(path)
    return paths


def _first_op(message: Any) -> str | None:
    """Returns the name of the operation to run after the variables are restored."""
    if _INIT_KEY in message.signature_def:
        return str(message.signature_def[_INIT_KEY].outputs[_INIT_KEY].name)
    for key in (MAIN_OP_KEY, LEGACY_INIT_OP_KEY):
        if key in message.collection_def:
            names = message.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError(f"Expected exactly one SavedModel main op. Found: {list(names)}")
            return str(names[0])
    return None


@export("saved_model.signature_def_utils.MethodNameUpdater")
class MethodNameUpdater:
    """Changes the method names of signatures of a SavedModel."""

    def __init__(self, export_dir: PathLike) -> None:
        self._export_dir = folder_of(export_dir)
        self._message = read_saved_model(self._export_dir)

    def replace_method_name(self, signature_key: str, method_name: str, tags: Iterable[str] | None = None) -> None:
        """Changes the method of a signature in the graph with these tags, or in every graph that has it."""
        if not signature_key:
            raise ValueError("signature_key must be defined.")
        if not method_name:
            raise ValueError("method_name must be defined.")
        graphs = self._message.meta_graphs if tags is None else [meta_graph_with_tags(self._message, tags)]
        matching_graphs = [graph for graph in graphs if signature_key in graph.signature_def]
        if not matching_graphs:
            raise ValueError(f"the SavedModel has no signature {signature_key!r} with tags {tags}")
        for graph in matching_graphs:
            graph.signature_def[signature_key].method_name = method_name

    def save(self, new_export_dir: PathLike | None = None) -> None:
        """Writes the graphs back, or into another folder, without variables."""
        is_text = not os.path.exists(os.path.join(self._export_dir, "saved_model.pb"))
        write_saved_model(self._message, folder_of(new_export_dir or self._export_dir), is_text)
