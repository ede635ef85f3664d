"""Saver: writes a model's variables to checkpoints, keeps the most recent ones, and restores them."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import errors, logging
from thalweg._src.base.export import export, export_lazy
from thalweg._src.base.formats.text import PathLike, as_text
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.scopes import GraphKeys, get_collection
from thalweg._src.graph.types import TensorLike
from thalweg._src.runtime.resources.checkpoint_writers import BackgroundWriter
from thalweg._src.training.checkpoint.fit import require_fit, targets_of_operation, targets_of_saveables
from thalweg._src.training.checkpoint.meta_graph import (
    export_meta_graph,
    import_elements,
    read_meta_graph_file,
    register_proto_function,
    write_meta_graph as write_graph,
)
from thalweg._src.training.checkpoint.object_checkpoint import variables_by_object
from thalweg._src.training.checkpoint.saver_builder import SaverBuilder, saveables_for
from thalweg._src.training.checkpoint.state import (
    check_checkpoint,
    checkpoint_exists,
    get_checkpoint_mtimes,
    latest_good_checkpoint,
    meta_graph_filename,
    remove_checkpoint,
    update_checkpoint_state,
)
from thalweg._src.training.checkpoint.table_saver_builder import TableSaverBuilder
from thalweg._src.training.variables.global_step import global_step as value_of_step
from thalweg._src.training.variables.sessions import SessionLike
from thalweg._src.training.variables.variables import global_variables

_V1, _V2 = 1, 2


def _saver_def(**fields: Any) -> Any:
    from tensorboard.compat.proto.saver_pb2 import SaverDef

    return SaverDef(**fields)


@export("train.Saver")
class Saver:
    """Saves and restores variables.

    With `asynchronous=True` a save takes a snapshot, which is free since variables are copied on write, and a thread
    writes it while training continues; an error there is raised by the next save or restore, or by `wait`.

    Args:
        reshape: Whether variables may be restored from values of another shape.
        sharded: Whether each device writes a file of its own.
        name: Prefix of the operations that are added.
        restore_sequentially: Whether variables are restored one after another.
        builder: What builds the operations, in place of the default.
        defer_build: Whether operations are added later, by `build`.
        allow_empty: Whether a graph without variables is allowed.
        write_version: Version of the file format.
        pad_step_number: Whether the step in file names has leading zeros.
        filename: Default path; "model" by default.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: SaverBuilder | None = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = _V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
        asynchronous: bool = False,
    ) -> None:
        if defer_build and var_list:
            raise ValueError("a Saver with defer_build=True takes all variables when build() is called: no var_list")
        if saver_def is not None:
            _require_saver_def(saver_def)
        self._is_eager = executing_eagerly()
        if self._is_eager and var_list is None:
            raise RuntimeError(
                "When eager execution is enabled, `var_list` must specify a list or dict of variables to save"
            )
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._keep_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._restore_sequentially = restore_sequentially
        self.saver_def = saver_def
        self._builder = builder
        self._is_built = False
        self._allow_empty = allow_empty
        self._write_version = write_version if saver_def is None else saver_def.version
        self._is_empty = False
        self._pad_step_number = pad_step_number
        self._save_relative_paths = save_relative_paths
        self._filename = filename
        self._writer = BackgroundWriter() if asynchronous else None
        self._last_checkpoints: list[tuple[str, float]] = []
        self._to_delete: list[tuple[str, float]] = []
        self._saving = threading.Lock()  # serializes saves of several threads, so that the last one is the newest step
        self._next_preserved = time.time() + keep_checkpoint_every_n_hours * 3600
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Adds the operations to the default graph, if that was deferred."""
        if self._is_built:
            return
        self._is_built = True
        if self._is_eager:
            return  # variables are saved at once
        if self.saver_def is None:
            self._build_graph()
        elif self._name:
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(self.saver_def, field, f"{self._name}/{getattr(self.saver_def, field)}")
        if self.saver_def is not None:
            self.saver_def.max_to_keep = self._max_to_keep or 0
            self.saver_def.keep_checkpoint_every_n_hours = self._keep_hours

    def _build_graph(self) -> None:
        chosen = self._var_list
        if chosen is None:
            chosen = [*global_variables(), *get_collection(GraphKeys.SAVEABLE_OBJECTS)]
        if not chosen:
            if not self._allow_empty:
                raise ValueError("No variables to save")
            self._is_empty = True
            return
        names = self._builder_or_default().build(
            chosen,
            reshape=self._reshape,
            sharded=self._sharded,
            name=self._name,
            restore_sequentially=self._restore_sequentially,
            filename=self._filename or "model",
        )
        self.saver_def = _saver_def(
            filename_tensor_name=names.filename,
            save_tensor_name=names.save,
            restore_op_name=names.restore,
            sharded=self._sharded,
            version=self._write_version,
        )

    def _builder_or_default(self) -> Any:
        return self._builder or (TableSaverBuilder() if self._write_version == _V1 else SaverBuilder())

    # -- saving -------------------------------------------------------------------------------------------------------

    def save(
        self,
        sess: Any,
        save_path: PathLike,
        global_step: TensorLike | None = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Writes a checkpoint and returns its prefix; the session's variables must be initialized."""
        self._require_built("save")
        path = as_text(os.fspath(save_path))
        latest_filename = latest_filename or "checkpoint"
        if os.path.dirname(latest_filename):
            raise ValueError(f"latest_filename must not contain path components: {latest_filename!r}")
        if os.path.basename(path) == latest_filename and not self._sharded:
            raise ValueError(f"latest_filename collides with save_path: {latest_filename!r} and {path!r}")
        if not self._is_eager and not hasattr(sess, "run"):
            raise TypeError(f"sess: expected a Session, received {sess!r}")
        graph_message = None
        if write_meta_graph and not self._is_eager:
            with sess.graph.as_default():
                graph_message = self.export_meta_graph(strip_default_attrs=strip_default_attrs)

        def finish(saved: str) -> None:
            if write_state and not self._is_empty:
                self._record(saved, os.path.dirname(path), latest_filename, meta_graph_suffix)
            if graph_message is not None:
                write_graph(graph_message, meta_graph_filename(saved, meta_graph_suffix))

        with self._saving:
            saved = self._run_save(sess, self._prefix(sess, path, global_step), finish)
        return None if self._is_empty else saved

    def _run_save(self, sess: SessionLike | None, prefix: str, finish: Callable[[str], None]) -> str:
        """Returns the name of the checkpoint: the prefix, or the pattern of several V1 files."""
        if self._writer is None:
            saved = self._saved(sess, prefix)
            finish(saved)
            return saved
        self.wait()  # one snapshot at a time, so that memory stays bounded
        try:
            with self._writer.intercepting(prefix):
                saved = self._saved(sess, prefix)
        except BaseException:
            self._writer.put(lambda: None, ends=True)
            raise
        self._writer.put(lambda: finish(saved), ends=True)
        return saved

    def _saved(self, sess: Any, prefix: str) -> str:
        if self._is_empty:
            return prefix
        if self._is_eager:
            self._builder_or_default().save_now(saveables_for(self._var_list), prefix)
            return prefix
        return as_text(sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: prefix}))

    def wait(self) -> None:
        """Waits until an asynchronous save is on disk; raises its error if it failed."""
        if self._writer is not None:
            self._writer.wait()

    close = wait

    def make_asynchronous(self) -> None:
        """Makes later saves asynchronous, as `asynchronous=True` does."""
        self._writer = self._writer or BackgroundWriter()

    @property
    def is_writing(self) -> bool:
        """Whether a snapshot is being written."""
        return self._writer is not None and self._writer.is_busy

    def _prefix(self, sess: Any, path: str, global_step: Any) -> str:
        if global_step is None:
            return path
        step = int(value_of_step(sess, global_step) if hasattr(global_step, "graph") else global_step)
        return f"{path}-{step:08d}" if self._pad_step_number else f"{path}-{step}"

    def _record(self, prefix: str, folder: str, latest_filename: str, suffix: str) -> None:
        """Records a new checkpoint, then deletes the oldest beyond the limit."""
        if self._max_to_keep:  # without a limit only the latest one is listed
            self._last_checkpoints = [entry for entry in self._last_checkpoints if entry[0] != prefix]
            self._last_checkpoints.append((prefix, time.time()))
        if self._max_to_keep and len(self._last_checkpoints) > self._max_to_keep:
            oldest = self._last_checkpoints.pop(0)
            if oldest[1] > self._next_preserved:
                self._next_preserved += self._keep_hours * 3600
            else:
                self._to_delete.append(oldest)
        update_checkpoint_state(
            folder,
            prefix,
            self.last_checkpoints,
            latest_filename,
            save_relative_paths=self._save_relative_paths,
        )
        while self._to_delete:
            remove_checkpoint(self._to_delete.pop(0)[0], self._write_version, suffix)

    # -- restoring ----------------------------------------------------------------------------------------------------

    def restore(self, sess: Any, save_path: PathLike) -> None:
        """Restores the variables from a checkpoint; nothing changes if it does not match the model."""
        self.wait()
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        self._require_built("restore")
        prefix = as_text(os.fspath(save_path))
        if not checkpoint_exists(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        logging.info("Restoring parameters from %s", prefix)
        saveables = saveables_for(self._var_list) if self._is_eager else []
        try:
            if self._is_eager:
                require_fit(targets_of_saveables(saveables, self._reshape), prefix)
            else:
                require_fit(targets_of_operation(sess.graph, self.saver_def.restore_op_name), prefix)
        except errors.NotFoundError:
            if not self._restore_objects(sess, prefix):
                raise
            return
        if self._is_eager:
            self._builder_or_default().restore_now(saveables, prefix, self._reshape)
            return
        sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: prefix})

    def _restore_objects(self, sess: Any, prefix: str) -> bool:
        """Restores an object-based checkpoint by full names; returns False for other checkpoints."""
        with contextlib.nullcontext() if self._is_eager else sess.graph.as_default():
            variables_by_key = variables_by_object(self._var_list, prefix)
            if variables_by_key is not None:
                Saver(variables_by_key).restore(sess, prefix)
        return variables_by_key is not None

    def restore_latest_good(
        self, sess: SessionLike | None, checkpoint_dir: PathLike, latest_filename: str | None = None
    ) -> str | None:
        """Restores the newest intact checkpoint of a folder, warns of corrupt ones, and returns its prefix."""
        self.wait()
        prefix = latest_good_checkpoint(checkpoint_dir, latest_filename)
        if prefix is not None:
            self.restore(sess, prefix)
        return prefix

    def _require_built(self, what: str) -> None:
        if not self._is_built:
            raise RuntimeError(f"`build()` should be called before {what} if defer_build==True")
        if self.saver_def is None and not self._is_empty and not self._is_eager:
            raise RuntimeError(f"the Saver has no operations to {what}")

    # -- what was saved -----------------------------------------------------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are kept, newest last."""
        return [prefix for prefix, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """The older form of `set_last_checkpoints_with_time`, for checkpoints of unknown time."""
        if not isinstance(last_checkpoints, list):
            raise TypeError(f"last_checkpoints: expected a list, received {last_checkpoints!r}")
        self._last_checkpoints = [(prefix, float("inf")) for prefix in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Sequence[tuple[str, float]]) -> None:
        """Sets which checkpoints are kept, as pairs of prefix and seconds since 1970."""
        if not isinstance(last_checkpoints_with_time, list):
            raise TypeError(f"last_checkpoints_with_time: expected a list, received {last_checkpoints_with_time!r}")
        self._last_checkpoints = last_checkpoints_with_time

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str], verify: bool = False) -> None:
        """Takes over existing checkpoints of an earlier run; with verify, only intact ones."""
        usable_prefixes = []
        for prefix in checkpoint_paths:
            if not checkpoint_exists(prefix):
                continue
            try:
                if verify:
                    check_checkpoint(prefix)
            except errors.OpError as error:
                logging.warning("the checkpoint %s cannot be used: %s", prefix, error)
                continue
            usable_prefixes.append(prefix)
        self._last_checkpoints = list(zip(usable_prefixes, get_checkpoint_mtimes(usable_prefixes)))

    # -- messages -----------------------------------------------------------------------------------------------------

    def as_saver_def(self) -> Any:
        """Returns the SaverDef of this saver."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the Saver as a SaverDef; None if its operations are outside the scope."""
        if not export_scope:
            return self.saver_def
        prefix = f"{export_scope.rstrip('/')}/"
        if not self.saver_def.filename_tensor_name.startswith(prefix):
            return None
        message = _saver_def()
        message.CopyFrom(self.saver_def)
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            setattr(message, field, getattr(message, field).removeprefix(prefix))
        return message

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """Returns the Saver of a SaverDef whose operations are already in the graph."""
        message = _saver_def()
        message.CopyFrom(saver_def)
        return Saver(saver_def=message, name=import_scope)

    @parameters_of(
        export_meta_graph, without=["meta_info_def", "graph_def", "saver_def", "graph", "kwargs"], before="filename"
    )
    def export_meta_graph(self, **arguments: Any) -> Any:
        """Returns the default graph with this Saver as a MetaGraphDef, and writes it to a file if one is given."""
        return export_meta_graph(saver_def=self.saver_def, graph=get_default_graph(), **arguments)


def _require_saver_def(saver_def: Any) -> None:
    if getattr(getattr(saver_def, "DESCRIPTOR", None), "name", "") != "SaverDef":
        raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {saver_def}")
    for field in ("save_tensor_name", "restore_op_name"):
        if not getattr(saver_def, field):
            raise ValueError(f"saver_def must specify the {field}: {saver_def}")


def _saver_from_bytes(value: bytes, import_scope: str | None) -> Saver:
    return Saver.from_proto(type(_saver_def()).FromString(value), import_scope)


register_proto_function(GraphKeys.SAVERS, lambda saver, scope: saver.to_proto(scope), _saver_from_bytes)


@export("train.import_meta_graph")
def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    trusted: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Imports a MetaGraph into the default graph and returns its Saver, None if there is nothing to save.

    trusted: by default the graph may read files and have Savers, but neither write other files nor call Python
    functions of this process, as it can with True; False refuses all that reaches outside, apart from its Savers

    Args:
        meta_graph_or_file: A MetaGraphDef, or the path of one.
        **kwargs: Accepted for compatibility.
    """
    return import_meta_graph_with_return_elements(
        meta_graph_or_file, clear_devices, import_scope, None, trusted, **kwargs
    )[0]


def import_meta_graph_with_return_elements(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    return_elements: Sequence[str] | None = None,
    trusted: bool | None = None,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Imports like `import_meta_graph`; returns the Saver and the requested elements."""
    message = meta_graph_or_file
    if getattr(getattr(message, "DESCRIPTOR", None), "name", "") != "MetaGraphDef":
        message = read_meta_graph_file(message)
    input_map = kwargs.pop("input_map", None)
    elements = import_elements(message, clear_devices, import_scope, return_elements, input_map, trusted)
    if message.HasField("saver_def"):
        return Saver(saver_def=message.saver_def, name=import_scope, **kwargs), elements
    if global_variables(import_scope):
        return Saver(**kwargs), elements
    logging.info("no Saver is created, since the graph has no variables to restore")
    return None, elements


export_lazy(
    "tensorboard.compat.proto.saver_pb2",
    "train.SaverDef",
    doc="Message of a Saver: the operations that save and restore, and which checkpoints are kept.",
)
