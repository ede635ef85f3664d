"""Files of a SavedModel: the protobuf with its graphs, the folder of variables, and the folder of assets."""

from __future__ import annotations

import os
from typing import Any

from thalweg._src.base.export import export, export_all_constants, export_constants
from thalweg._src.base.formats import durable
from thalweg._src.base.formats.graph_messages import message_class, parse_text
from thalweg._src.base.formats.regular import read_regular
from thalweg._src.base.formats.text import PathLike, as_text

ASSETS_DIRECTORY = "assets"
ASSETS_KEY = "saved_model_assets"
DEBUG_DIRECTORY = "debug"
DEBUG_INFO_FILENAME_PB = "saved_model_debug_info.pb"
LEGACY_INIT_OP_KEY = "legacy_init_op"
MAIN_OP_KEY = "saved_model_main_op"
SAVED_MODEL_FILENAME_PB = "saved_model.pb"
SAVED_MODEL_FILENAME_PBTXT = "saved_model.pbtxt"
SAVED_MODEL_SCHEMA_VERSION = 1
VARIABLES_DIRECTORY = "variables"
VARIABLES_FILENAME = "variables"

export_all_constants("saved_model", "saved_model.constants")

SERVING, TRAINING, EVAL, GPU, TPU = "serve", "train", "eval", "gpu", "tpu"


def folder_of(export_dir: Any) -> str:
    return as_text(os.fspath(export_dir))


def variables_prefix(export_dir: str) -> str:
    """Returns the prefix of the checkpoint with the variables."""
    return os.path.join(export_dir, VARIABLES_DIRECTORY, VARIABLES_FILENAME)


@export(
    "saved_model.contains_saved_model",
    "saved_model.maybe_saved_model_directory",
    "saved_model.loader.maybe_saved_model_directory",
)
def contains_saved_model(export_dir: PathLike) -> bool:
    """Returns whether a folder contains the graph file of a SavedModel."""
    names = SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT
    return any(os.path.exists(os.path.join(folder_of(export_dir), name)) for name in names)


maybe_saved_model_directory = contains_saved_model


def new_saved_model() -> Any:
    return message_class("SavedModel")(saved_model_schema_version=SAVED_MODEL_SCHEMA_VERSION)


def read_saved_model(export_dir: Any) -> Any:
    """Reads the message of a folder, binary or text."""
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    folder = folder_of(export_dir)
    for name in (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            continue
        with durable.typed_errors(path):
            content = read_regular(path)
        try:
            if name == SAVED_MODEL_FILENAME_PB:
                return message_class("SavedModel").FromString(content)
            return parse_text(content.decode("utf-8"), message_class("SavedModel")())
        except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
            raise OSError(f"Cannot parse file {path}: {error}.") from None
    raise OSError(
        f"SavedModel file does not exist at: {folder}{os.path.sep}"
        f"{{{SAVED_MODEL_FILENAME_PBTXT}|{SAVED_MODEL_FILENAME_PB}}}"
    )


def write_saved_model(message: Any, export_dir: str, as_text: bool) -> str:
    """Writes the message into a folder atomically, and returns the path."""
    from google.protobuf import text_format

    path = os.path.join(export_dir, SAVED_MODEL_FILENAME_PBTXT if as_text else SAVED_MODEL_FILENAME_PB)
    content = (
        text_format.MessageToString(message).encode() if as_text else message.SerializeToString(deterministic=True)
    )
    with durable.typed_errors(path):
        os.makedirs(export_dir, exist_ok=True)
        durable.write_file(path, content)
    return path


def meta_graph_with_tags(message: Any, tags: Any) -> Any:
    """Returns the MetaGraph whose tags are exactly these."""
    tag_set = {tags} if isinstance(tags, str) else set(tags)
    for meta_graph in message.meta_graphs:
        if set(meta_graph.meta_info_def.tags) == tag_set:
            return meta_graph
    tag_sets = ", ".join(str(sorted(meta_graph.meta_info_def.tags)) for meta_graph in message.meta_graphs)
    raise RuntimeError(
        f"MetaGraphDef associated with tags {sorted(tag_set)} could not be found in SavedModel; "
        f"it has {tag_sets or 'none'}"
    )


export_constants(
    EVAL="saved_model.tag_constants.EVAL",
    GPU=("saved_model.GPU", "saved_model.tag_constants.GPU"),
    SERVING=("saved_model.SERVING", "saved_model.tag_constants.SERVING"),
    TPU=("saved_model.TPU", "saved_model.tag_constants.TPU"),
    TRAINING=("saved_model.TRAINING", "saved_model.tag_constants.TRAINING"),
)
