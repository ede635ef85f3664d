"""The object graph of a checkpoint: keys of saved tensors, and the matching of objects to those of a program."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from thalweg._src.base import errors, logging
from thalweg._src.training.checkpoint.saver_builder import SaveableObject
from thalweg._src.training.checkpoint.trackable import children_of, full_name, saved_by
from thalweg._src.training.variables.variables import Variable

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
_ATTRIBUTES = ".ATTRIBUTES"
_SLOTS = ".OPTIMIZER_SLOT"


def graph_message() -> Any:
    """Returns an empty object graph."""
    from tensorboard.compat.proto.trackable_object_graph_pb2 import TrackableObjectGraph

    return TrackableObjectGraph()


def parse_graph(value: bytes, prefix: str) -> Any:
    """Returns the object graph of a checkpoint."""
    from google.protobuf.message import DecodeError

    graph = graph_message()
    try:
        graph.ParseFromString(value)
        count = len(graph.nodes)
        named = [child.node_id for node in graph.nodes for child in node.children]
        named += [s.slot_variable_node_id for node in graph.nodes for s in node.slot_variables]
        named += [s.original_variable_node_id for node in graph.nodes for s in node.slot_variables]
        damaged = not count or any(not 0 <= number < count for number in named)
    except DecodeError:
        damaged = True
    if damaged:
        raise errors.DataLossError(None, None, f"the object graph in the checkpoint {prefix} is corrupt")
    return graph


@runtime_checkable
class HasSlots(Protocol):
    """An optimizer of tf.train or of Keras: it has variables that accompany those of other objects."""

    def get_slot(self, var: Any, name: str, /) -> Any:
        """Returns the slot of a variable under a name."""

    def get_slot_names(self) -> list[str]:
        """Returns the names of the slots."""


def _slot_of(optimizer: HasSlots, variable: Variable, name: str) -> Any:
    """Returns the slot of a variable under a name; None if there is none, or none that is a variable."""
    try:
        slot = optimizer.get_slot(variable, name)
    except KeyError:
        return None
    return slot if isinstance(slot, Variable) else None


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")


# -- walking ----------------------------------------------------------------------------------------------------------


# Keys of a checkpoint are paths: the names of edges from the root, in breadth-first order. An object that several paths
# reach is saved once, under the first of them, which is a shortest one. Two programs whose objects have the same edges
# therefore agree on keys whatever the order in which they created variables; matching (below) follows edges, not keys,
# and so finds objects as well whose shortest path has changed. Objects are told apart by identity, since variables may
# be equal; the walk keeps a reference to each, so that no id is reused while it lasts.
@dataclass(slots=True)
class Walk:
    """All objects below a root in breadth-first order, with the path by which each is first reached."""

    objects: list[Any] = field(default_factory=list)
    paths: dict[int, str] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    children: list[list[tuple[str, Any]]] = field(default_factory=list)

    def add(self, value: object, path: str) -> int:
        self.numbers[id(value)] = len(self.objects)
        self.paths[id(value)] = path
        self.objects.append(value)
        return self.numbers[id(value)]


def walk(root: object) -> Walk:
    """Returns the objects that a checkpoint of a root contains, without the slots of optimizers."""
    reachable = Walk()
    reachable.add(root, "")
    waiting = deque([root])
    while waiting:
        value = waiting.popleft()
        children = list(dict(children_of(value)).items())
        reachable.children.append(children)
        for name, child in children:
            if id(child) not in reachable.numbers:
                path = reachable.paths[id(value)]
                reachable.add(child, f"{path}/{_escaped(name)}" if path else _escaped(name))
                waiting.append(child)
    return reachable


def slots_in(reachable: Walk) -> Iterator[tuple[Any, str, Any, Any]]:
    """Yields (optimizer, name, variable, slot) for the slots of variables that are in a walk."""
    for optimizer in [value for value in reachable.objects if isinstance(value, HasSlots)]:
        for name in optimizer.get_slot_names():
            for variable in [value for value in reachable.objects if isinstance(value, Variable)]:
                slot = _slot_of(optimizer, variable, name)
                if slot is not None:
                    yield optimizer, name, variable, slot


# -- saving -----------------------------------------------------------------------------------------------------------


def described(root: object) -> tuple[Any, list[SaveableObject]]:
    """Returns the object graph below a root as a message, and the saveables of each object."""
    reachable = walk(root)
    message = graph_message()
    for children in reachable.children:
        node = message.nodes.add()
        for name, child in children:
            node.children.add(node_id=reachable.numbers[id(child)], local_name=name)
    for optimizer, name, variable, slot in list(slots_in(reachable)):
        if id(slot) in reachable.numbers:
            raise ValueError(f"the slot {name!r} of {variable.name!r} is also an attribute of another object: {slot!r}")
        path = f"{reachable.paths[id(variable)]}/{_SLOTS}/{reachable.paths[id(optimizer)]}/{_escaped(name)}"
        number = reachable.add(slot, path)
        message.nodes.add()
        message.nodes[reachable.numbers[id(optimizer)]].slot_variables.add(
            original_variable_node_id=reachable.numbers[id(variable)], slot_name=name, slot_variable_node_id=number
        )
    saveables: list[SaveableObject] = []
    for value, node in zip(reachable.objects, message.nodes, strict=True):
        for attribute, make in saved_by(value).items():
            key = f"{reachable.paths[id(value)]}/{_ATTRIBUTES}/{_escaped(attribute)}"
            saveables.append(make(key))
            node.attributes.add(name=attribute, full_name=full_name(value), checkpoint_key=key)
    return message, saveables


# -- matching ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Match:
    """The mapping between the objects of a program and those of a checkpoint."""

    message: Any
    walk: Walk
    objects: dict[int, Any] = field(default_factory=dict)  # by their ids in the checkpoint
    numbers: dict[int, int] = field(default_factory=dict)  # by the identity of objects

    def bind(self, number: int, value: object) -> bool:
        """Maps an object to an id; returns False if either is already mapped."""
        if number in self.objects:
            if self.objects[number] is not value:
                logging.warning(
                    "the checkpoint has one object where the program has two: %r and %r; the first is restored",
                    self.objects[number],
                    value,
                )
            return False
        self.objects[number] = value
        self.numbers[id(value)] = number
        return True

    def attributes(self, keys: Collection[str] | None = None) -> Iterator[tuple[SaveableObject, Any]]:
        """Yields what restores each attribute that both sides have, optionally under certain keys only."""
        for number, value in self.objects.items():
            saveable_makers = saved_by(value)
            for attribute in self.message.nodes[number].attributes:
                if attribute.name in saveable_makers and (keys is None or attribute.checkpoint_key in keys):
                    yield saveable_makers[attribute.name](attribute.checkpoint_key), value

    def path(self, number: int) -> str:
        """Returns the name of an object in the checkpoint, for messages."""
        paths = {0: "(root)"}
        for index, node in enumerate(self.message.nodes):
            for child in node.children:
                start = "" if index == 0 else f"{paths.get(index, '?')}."
                paths.setdefault(child.node_id, f"{start}{child.local_name}")
        for index, node in enumerate(self.message.nodes):
            for slot in node.slot_variables:
                name = f"{paths.get(index, '?')}'s state {slot.slot_name!r} for "
                paths.setdefault(slot.slot_variable_node_id, name + paths.get(slot.original_variable_node_id, "?"))
        return paths.get(number, f"number {number}")


def matched(root: object, message: Any) -> Match:
    """Matches the objects below a root with a checkpoint's object graph, by the names of edges."""
    # A breadth-first search of the saved graph, in step with the program's objects. An edge that only one side has ends
    # its branch, which makes partial restores and additional objects possible. Slots come last: they hang on a pair of
    # optimizer and variable, and both may be reached by edges in any order.
    match = Match(message, walk(root))
    match.bind(0, root)
    waiting = deque([0])
    while waiting:
        number = waiting.popleft()
        children = dict(children_of(match.objects[number]))
        for child in message.nodes[number].children:
            if child.local_name in children and match.bind(child.node_id, children[child.local_name]):
                waiting.append(child.node_id)
    for number, value in list(match.objects.items()):
        if not isinstance(value, HasSlots):
            continue
        for reference in message.nodes[number].slot_variables:
            variable = match.objects.get(reference.original_variable_node_id)
            slot = _slot_of(value, variable, reference.slot_name) if isinstance(variable, Variable) else None
            if slot is not None:
                match.bind(reference.slot_variable_node_id, slot)
    return match


def names_to_keys(message: Any) -> dict[str, str]:
    """Returns the keys of an object-based checkpoint by the names that name-based checkpoints use."""
    return {a.full_name: a.checkpoint_key for node in message.nodes for a in node.attributes if a.full_name}
