"""Object-based checkpoints: `tf.train.Checkpoint` saves and restores objects by the names of their attributes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors, logging
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike, as_text
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.default_stacks import get_default_session
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.checkpoint import restore_v2_op, save_v2_op
from thalweg._src.graph.ops.constants import constant, placeholder_with_default
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.scopes import control_dependencies, device, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.eager.mode import eager_graph
from thalweg._src.training.checkpoint.fit import require_fit, targets_of_operation, targets_of_saveables
from thalweg._src.training.checkpoint.object_graph import (
    GRAPH_KEY,
    Match,
    described,
    matched,
    names_to_keys,
    parse_graph,
    slots_in,
    walk,
)
from thalweg._src.training.checkpoint.reader import CheckpointReader
from thalweg._src.training.checkpoint.saver_builder import (
    SaveableObject,
    SaverBuilder,
    SaveSpec,
    VariableSaveable,
    grouped_by_name,
)
from thalweg._src.training.checkpoint.state import update_checkpoint_state
from thalweg._src.training.checkpoint.trackable import (
    AutoTrackable,
    Child,
    StateSaveable,
    attributes_of,
    children_of,
    is_trackable,
    saved_by,
)
from thalweg._src.training.variables.restoration import defer, settle
from thalweg._src.training.variables.sessions import SessionLike
from thalweg._src.training.variables.variables import Variable, global_variables

_OWN = frozenset(("_save_counter", "_increment", "_saves", "_restores", "_restorations"))


def session_for(session: SessionLike | None) -> Any:
    """Returns the given session or the default one."""
    session = session or get_default_session()
    if session is None:
        raise ValueError("there is no default session; pass session=, or enter `with session.as_default():`")
    return session


def _text_input(name: str) -> Tensor:
    return placeholder_with_default(constant("", dtypes.string), shape=(), name=name)


@export("train.Checkpoint", "contrib.eager.Checkpoint")
class Checkpoint(AutoTrackable):
    """A group of objects, one per keyword argument, that is saved and restored as one.

    Args:
        **kwargs: Objects to save, by name.
    """

    def __init__(self, **kwargs: Any) -> None:
        for name, value in sorted(kwargs.items()):
            if not is_trackable(value) and not (isinstance(value, list | dict) and not value):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (a variable, an optimizer, a layer, a module, "
                    f"or a list or dictionary of them), got {value!r} for {name!r}"
                )
            setattr(self, name, value)
        self._save_counter: Any = None
        self._increment: Any = None
        self._saves: dict[Any, tuple[Tensor, dict[str, Tensor], Tensor]] = {}  # operations, by what they save
        self._restores: dict[Any, tuple[Tensor, Any]] = {}

    @property
    def save_counter(self) -> Any:
        """The variable that counts calls of `save`."""
        if self._save_counter is None:
            with name_scope(None), device("/cpu:0"):
                self._save_counter = Variable(0, name="save_counter", dtype=dtypes.int64, trainable=False)
        return self._save_counter

    # -- saving -------------------------------------------------------------------------------------------------------

    def save(self, file_prefix: PathLike, session: SessionLike | None = None) -> str:
        """Writes a checkpoint under the next number and records it as the latest one; returns its prefix."""
        prefix = as_text(os.fspath(file_prefix))
        path = self.write(f"{prefix}-{self._count(session)}", session)
        update_checkpoint_state(os.path.dirname(prefix), path, [path], save_relative_paths=True)
        return path

    def _count(self, session: SessionLike | None) -> int:
        """Increments the counter of saves, and returns it."""
        if executing_eagerly():
            return int(self.save_counter.assign_add(1))
        session = session_for(session)
        with session.graph.as_default():
            if self._save_counter is None:
                session.run(self.save_counter.initializer)
            if self._increment is None:
                self._increment = self.save_counter.assign_add(1)
        return int(session.run(self._increment))

    def write(self, file_prefix: PathLike, session: SessionLike | None = None) -> str:
        """Writes a checkpoint under a prefix, without recording it."""
        if executing_eagerly():
            return self._write_now(as_text(os.fspath(file_prefix)))
        session = session_for(session)
        with session.graph.as_default():
            message, saveables = described(self)
            prefix, texts, save = self._save_operations(session.graph, saveables)
        feeds: dict[Any, Any] = {prefix: as_text(os.fspath(file_prefix)), texts[GRAPH_KEY]: message.SerializeToString()}
        for saveable in saveables:
            if isinstance(saveable, StateSaveable):
                feeds[texts[saveable.name]] = np.array(saveable.op.serialize(), dtype=object)
        return as_text(session.run(save, feeds))

    def _write_now(self, prefix: str) -> str:
        message, saveables = described(self)
        texts: dict[str, Any] = {GRAPH_KEY: message.SerializeToString()}
        for saveable in saveables:
            if isinstance(saveable, StateSaveable):
                texts[saveable.name] = saveable.op.serialize()
        states = [SaveableObject(None, [SaveSpec(constant(text), "", name)], name) for name, text in texts.items()]
        SaverBuilder().save_now([*saveables, *states], prefix)
        return prefix

    def _save_operations(
        self, graph: Graph, saveables: list[SaveableObject]
    ) -> tuple[Tensor, dict[str, Tensor], Tensor]:
        """Returns the prefix, the fed strings and the result of the save operation, which is created once."""
        key = (graph, *((saveable.name, id(saveable.op)) for saveable in saveables))
        if key not in self._saves:
            with name_scope("save_objects"), graph.control_dependencies(None), device("/cpu:0"):
                prefix = _text_input("prefix")
                states = [saveable.name for saveable in saveables if isinstance(saveable, StateSaveable)]
                texts = {name: _text_input("state") for name in (*states, GRAPH_KEY)}
                specs = [spec for saveable in saveables for spec in saveable.specs]
                values = [convert_to_tensor(spec.tensor) for spec in specs]
                with graph._attr_scope({"_consistent": True}):
                    names = [*(spec.name for spec in specs), *texts]
                    write = save_v2_op.operation(prefix, names, [""] * len(names), [*values, *texts.values()])
                with control_dependencies([write]):
                    self._saves[key] = prefix, texts, identity(prefix)
        return self._saves[key]

    # -- restoring ----------------------------------------------------------------------------------------------------

    def restore(self, save_path: PathLike | None) -> LoadStatus:
        """Returns a status that restores the objects from a checkpoint, including objects that are created later.

        A checkpoint written by a Saver is restored by the names of variables.
        """
        status = self.read(save_path)
        status._optional = (self.save_counter,)
        return status

    def read(self, save_path: PathLike | None) -> LoadStatus:
        """Like `restore`, for a checkpoint written by `write`, which has no save counter."""
        if save_path is None:
            return InitializationOnlyStatus(self, "")
        prefix = as_text(os.fspath(save_path))
        reader = CheckpointReader(prefix)
        if not reader.has_tensor(GRAPH_KEY):
            return NameBasedSaverStatus(self, prefix, reader)
        return CheckpointLoadStatus(self, prefix, parse_graph(reader.get_tensor(GRAPH_KEY), prefix), reader)

    def _run_restore(self, session: SessionLike | None, saveables: list[SaveableObject], prefix: str) -> None:
        """Restores saveables in a session; at once without one."""
        saveables = [saveable for saveable in saveables if saveable.specs]
        if not saveables:
            return
        if session is None:
            require_fit(targets_of_saveables(saveables), prefix)
            SaverBuilder().restore_now(saveables, prefix)
            return
        specs = [spec for saveable in saveables for spec in saveable.specs]
        key = (session.graph, *((spec.name, id(saveable.op)) for saveable in saveables for spec in saveable.specs))
        if key not in self._restores:
            graph = session.graph
            with graph.as_default(), name_scope("restore_objects"), graph.control_dependencies(None), device("/cpu:0"):
                fed = _text_input("prefix")
                types = [spec.dtype.base_dtype for spec in specs]
                tensors = iter(restore_v2_op.many(fed, [spec.name for spec in specs], [""] * len(specs), dtypes=types))
                with device(None):
                    assigns = [s.restore([next(tensors) for _ in s.specs], None) for s in saveables]
                self._restores[key] = fed, group(*assigns, name="restore_all")
        fed, restore = self._restores[key]
        require_fit(targets_of_operation(session.graph, restore.name), prefix)
        session.run(restore, {fed: prefix})


@children_of.register(Checkpoint)
def _of_checkpoint(checkpoint: Checkpoint) -> Iterable[Child]:
    if checkpoint._save_counter is not None:
        yield "save_counter", checkpoint._save_counter
    yield from attributes_of(checkpoint, without=_OWN)


# -- what a restore gives ---------------------------------------------------------------------------------------------


class LoadStatus:
    """The status of a restore; each method considers the objects that exist when it is called."""

    _optional: tuple[Any, ...] = ()

    def __init__(self, root: Checkpoint, prefix: str) -> None:
        self._root = root
        self._prefix = prefix

    def expect_partial(self) -> LoadStatus:
        """Declares that part of the checkpoint is not used; there is no warning about that here."""
        return self

    def assert_consumed(self) -> LoadStatus:
        """Raises AssertionError unless checkpoint and objects match completely."""
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Raises AssertionError if a variable below the root is not in the checkpoint."""
        return self.assert_consumed()

    def assert_nontrivial_match(self) -> LoadStatus:
        """Raises AssertionError if only the root matches the checkpoint."""
        return self.assert_consumed()

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Restores everything that matches."""
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore)."
        )

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """Restores what is in the checkpoint and initializes the other variables below the root."""
        self.run_restore_ops(session)


def _variables(root: object, graph: Graph) -> list[Any]:
    """Returns the objects with an initializer below a root."""
    with graph.as_default():
        reachable = walk(root)
        return [v for v in [*reachable.objects, *(s for *_, s in slots_in(reachable))] if isinstance(v, Variable)]


class InitializationOnlyStatus(LoadStatus):
    """The status without a checkpoint: variables can only be initialized."""

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        if executing_eagerly():
            return  # variables have their initial values
        session = session_for(session)
        session.run([variable.initializer for variable in _variables(self._root, session.graph)])


class CheckpointLoadStatus(LoadStatus):
    """The status of an object-based checkpoint."""

    def __init__(self, root: Checkpoint, prefix: str, message: Any, reader: CheckpointReader) -> None:
        super().__init__(root, prefix)
        self._message = message
        self._reader = reader
        self._restored_states: dict[int, Any] = {}
        self._missing = {attribute.checkpoint_key for node in message.nodes for attribute in node.attributes}
        self._key = -1  # of what is pending
        if executing_eagerly():
            self._supersede()
            self.restore_new()
            if self._missing:
                self._key = defer(self)
        else:
            self._restore_states(self._match(get_default_graph()).attributes())

    # Deferred restoration. In eager execution a restore takes place at once for the objects that exist, and for others
    # when they join (`variables/restoration.py`). What is still to be restored is the set of keys in `_missing`. Each
    # matched object refers to the statuses that wait below it, and the pending table only weakly: a status lives as
    # long as an object that can still get children, and no longer. An older status is ended only if the newer one
    # covers all its keys; otherwise its values could still be the newest of some object.
    def _supersede(self) -> None:
        """Ends older restorations of these objects that have no value which this one has not."""
        for older in {status for pending in self._pending_statuses(self._match(eager_graph())) for status in pending}:
            if older._missing <= self._missing:
                older._settle()

    @staticmethod
    def _pending_statuses(match: Match) -> list[set[CheckpointLoadStatus]]:
        """Returns where the matched objects keep their restorations, which live as long as one of the objects does."""
        owners = [v for v in match.objects.values() if hasattr(v, "__dict__") and not isinstance(v, Variable)]
        return [vars(owner).setdefault("_restorations", set()) for owner in owners]

    def __deepcopy__(self, memo: dict[int, Any]) -> CheckpointLoadStatus:
        return self  # a copy of an object is restored by no checkpoint

    def restore_new(self) -> None:
        """Restores the objects that have been created since the last call, in eager execution."""
        match = self._match(eager_graph())
        attributes = list(match.attributes(self._missing))
        self._missing -= {saveable.name for saveable, _ in attributes}
        self._restore_states(attributes)
        self._root._run_restore(None, [saveable for saveable, _ in attributes], self._prefix)
        for pending in self._pending_statuses(match) if self._missing else ():
            pending.add(self)
        if not self._missing:
            self._settle()

    def _settle(self) -> None:
        settle(self._key)
        for pending in self._pending_statuses(self._match(eager_graph())):
            pending.discard(self)

    def _match(self, graph: Graph) -> Match:
        with graph.as_default():
            return matched(self._root, self._message)

    def _restore_states(self, attributes: Iterable[tuple[SaveableObject, Any]]) -> None:
        """Restores the state of Python objects, each once."""
        for saveable, value in attributes:
            if isinstance(saveable, StateSaveable) and id(value) not in self._restored_states:
                value.deserialize(self._reader.get_tensor(saveable.name))
                self._restored_states[id(value)] = value

    def assert_consumed(self) -> LoadStatus:
        self.assert_existing_objects_matched()
        match = self._match(get_default_graph())
        for number, node in enumerate(self._message.nodes):
            if not node.attributes:
                continue  # it has no values of its own, and its children are checked
            if number not in match.objects:
                raise AssertionError(f"Unresolved object in checkpoint {match.path(number)}: {node}")
            saveable_makers = saved_by(match.objects[number])
            unused = [a.name for a in node.attributes if a.name not in saveable_makers and not a.optional_restore]
            if unused:
                raise AssertionError(
                    "Unused attributes in these objects (the attributes exist in the checkpoint but were not "
                    f"restored): {match.path(number)}: {unused}"
                )
        return self

    def assert_existing_objects_matched(self) -> LoadStatus:
        graph = get_default_graph()
        match = self._match(graph)
        self._restore_states(match.attributes())
        matched_ids = {id(value) for value in match.objects.values()}
        saving = [value for value in match.walk.objects if saved_by(value)]
        saving += [v for v in _variables(self._root, graph) if not any(v is other for other in saving)]
        missing = [value for value in saving if id(value) not in matched_ids]
        if missing:
            raise AssertionError(
                f"Found {len(missing)} Python objects that were not bound to checkpointed values, likely due to "
                f"changes in the Python program: {missing[:20]}"
            )
        return self

    def assert_nontrivial_match(self) -> LoadStatus:
        match = self._match(get_default_graph())
        if len(match.objects) <= 1:
            if len(match.walk.objects) > 1:
                raise AssertionError(
                    "Nothing except the root object matched a checkpointed value. Typically this means that the "
                    f"checkpoint does not match the Python program: {match.walk.objects[1:20]}"
                )
            raise AssertionError(f"Nothing to load. No dependencies have been added to {self._root} yet.")
        return self

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        if not executing_eagerly():  # otherwise they have run
            self._run(session_for(session))

    def _run(self, session: SessionLike) -> Match:
        with session.graph.as_default():
            match = self._match(session.graph)
            self._restore_states(match.attributes())
            saveables = [saveable for saveable, _ in match.attributes()]
            self._root._run_restore(session, saveables, self._prefix)
        return match

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        if executing_eagerly():
            return
        session = session_for(session)
        match = self._run(session)
        matched_ids = {id(value) for value in match.objects.values()}
        others = [v.initializer for v in _variables(self._root, session.graph) if id(v) not in matched_ids]
        if others:
            session.run(others)


class NameBasedSaverStatus(LoadStatus):
    """The status of a checkpoint written by a Saver: variables are found by their names in the graph."""

    def __init__(self, root: Checkpoint, prefix: str, reader: CheckpointReader) -> None:
        super().__init__(root, prefix)
        self._reader = reader
        logging.warning(
            "%s was written by name and is restored to objects by the names of their variables; "
            "save it again with tf.train.Checkpoint.save",
            prefix,
        )
        if executing_eagerly():
            self.run_restore_ops()

    def assert_consumed(self) -> LoadStatus:
        names = [v._shared_name for v in _variables(self._root, get_default_graph()) if not self._is_optional(v)]
        missing = [name for name in names if not self._reader.has_tensor(name)]
        if missing:
            raise AssertionError(f"Some objects had attributes which were not restored: {missing}")
        return self

    def _is_optional(self, variable: object) -> bool:
        return any(variable is optional for optional in self._optional)

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        session = None if executing_eagerly() else session_for(session)
        saveables: list[SaveableObject] = []
        for variable in _variables(self._root, eager_graph() if session is None else session.graph):
            if self._reader.has_tensor(variable._shared_name):
                saveables.append(VariableSaveable(variable, "", variable._shared_name))
            elif session is not None and self._is_optional(variable):
                session.run(variable.initializer)
            elif session is not None:
                raise errors.NotFoundError(
                    None, None, f"Key {variable._shared_name} not found in checkpoint {self._prefix}"
                )
        self._root._run_restore(session, saveables, self._prefix)


# -- a Saver and a checkpoint of objects ------------------------------------------------------------------------------


def variables_by_object(var_list: Any, prefix: str) -> dict[str, Any] | None:
    """Returns variables by their keys in a checkpoint of objects, found by full names; None if it is none."""
    reader = CheckpointReader(prefix)
    if not reader.has_tensor(GRAPH_KEY):
        return None
    keys = names_to_keys(parse_graph(reader.get_tensor(GRAPH_KEY), prefix))
    named = var_list if isinstance(var_list, dict) else grouped_by_name(list(var_list or global_variables()))
    missing = sorted(set(named) - set(keys))
    if missing:
        raise errors.NotFoundError(
            None,
            None,
            f"the checkpoint {prefix} is object-based, but no object has the full name of {', '.join(missing)}: "
            f"it has {', '.join(sorted(keys)[:20])}",
        )
    logging.warning("%s is object-based and is restored by the names of variables; use tf.train.Checkpoint", prefix)
    return {keys[name]: variable for name, variable in named.items()}
