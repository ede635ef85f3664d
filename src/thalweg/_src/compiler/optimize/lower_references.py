"""Lowering of reference variables: in a step, every variable is a resource, read and written by handle.

A reference is read where it is consumed: after all updates that the consumer depends on and before all others. So the
client, which consumes last, sees a fetched variable after the updates of the step. Most consumers depend on no update
and share one read at the start of the step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import SHOWN, Node, Output, StepGraph, ancestors, descendants
from thalweg._src.graph.op_def import OPS, OpDef

_LATEST = "_after_updates"  # attribute of reads that see all updates of the step
_IDENTITIES = ("Identity", "RefIdentity")
_GATHERS = ("Gather", "GatherV2")
_FORWARDING = ("Switch", "Enter")


@dataclass(frozen=True, slots=True)
class _Ref:
    """A reference: the node of its variable, a handle in the consumer's frame, and the update that returned it."""

    variable: Node
    handle: Output
    update: Node | None = None


def lower_references(step: StepGraph) -> None:
    """Replaces references and the operations on them by handles and operations on resources, in place."""
    if any(node.definition.on_handles is not None for node in step.nodes):
        _Lowering(step).run()


def order_latest_reads(step: StepGraph) -> None:
    """Orders the reads of fetched variables after all updates of the step, once control flow is structured."""
    latest = [node for node in step.nodes if _LATEST in node.attrs]
    if not latest or step.is_unstructured:
        return
    writers: dict[Output, list[Node]] = {}
    for node in step.nodes:
        if node.facts.writes or node.type == "_While":
            for handle in _handles(node):
                writers.setdefault(handle, []).append(node)
    for read in latest:
        read.controls = list(dict.fromkeys([*read.controls, *writers.get(read.inputs[0], ())]))
    step.prune_and_sort()


class _Lowering:
    """One lowering: the references by output, and the nodes that are added."""

    def __init__(self, step: StepGraph) -> None:
        self._step = step
        self._refs: dict[Output, _Ref] = {}
        self._added: list[Node] = []
        self._reads: dict[tuple[Any, ...], Node] = {}

    def run(self) -> None:
        step = self._step
        # References are found first, for all nodes: which variable an output refers to, and the update that returned
        # it. Then each node is rewritten in place by what its original inputs referred to, while inputs of others
        # already point to handles. Reads are added with fractional orders between the consumer and what precedes it,
        # and sorted in at the end.
        inputs_of = {node: list(node.inputs) for node in step.nodes}
        for node in step.nodes:
            self._find_refs(node)
        snapshots = {
            n: None for n in step.nodes if n.type == "Identity" and n.inputs[0] in self._refs and not n.controls
        }
        fetched = [self._fetched(output, snapshots) for output in step.fetches]
        for node in step.nodes:
            self._lower(node, inputs_of[node])
        step.fetches = fetched
        step.nodes = sorted([*step.nodes, *self._added], key=attrgetter("order"))
        self._read_after_updates(snapshots)
        needed = ancestors(step.roots()) | set(step.feeds)
        step.nodes = sorted(needed, key=attrgetter("order"))

    def _find_refs(self, node: Node) -> None:
        """Finds the references that a node returns, from the variable on: each comes from the first input."""
        # Updates return the reference they take, so that a step may contain a chain of thousands; it is followed
        # without recursion, back to the variable or to a reference already found. A cycle through a loop ends the walk
        # as well.
        chain: dict[Node, None] = {}
        while not _is_variable(node) and _returns_ref(node) and node.inputs and node not in chain:
            chain[node] = None
            if node.inputs[0] in self._refs:
                break
            node = node.inputs[0].node
        if _is_variable(node):
            self._refs[Output(node, 0)] = _Ref(node, Output(node, 0))
        for forwarding in reversed(chain):
            self._forward(forwarding)

    def _forward(self, node: Node) -> None:
        """Notes the references that a node returns for the one that it takes."""
        ref = self._refs.get(node.inputs[0])
        for index in [i for i, dtype in enumerate(node.dtypes) if ref is not None and dtype._is_ref_dtype]:
            assert ref is not None
            if node.type == "RefSwitch":
                self._refs[Output(node, index)] = _Ref(ref.variable, Output(node, index), ref.update)
            elif node.facts.control_flow:
                self._refs[Output(node, index)] = _Ref(ref.variable, Output(node, index))
            else:
                self._refs[Output(node, index)] = _Ref(ref.variable, ref.handle, node)

    def _fetched(self, output: Output, snapshots: dict[Node, None]) -> Output:
        """Returns what is fetched for an output: for a reference or a snapshot of a variable, a read after updates."""
        node = output.node
        ref = self._refs.get(node.inputs[0] if node in snapshots else output)
        if ref is None:
            return output
        if ref.update is not None:
            return Output(self._read(ref, ref.update), 0)
        key = ref.handle, "fetched"
        if key not in self._reads:
            read = self._add_read(ref, f"{ref.variable.name}/_fetched", ref.variable)
            source = ref.handle.node  # the variable, or the Switch behind it
            read.attrs |= {_LATEST: True, SHOWN: source.name}
            read.stack = source.stack
            self._reads[key] = read
        return Output(self._reads[key], 0)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _lower(self, node: Node, inputs: list[Output]) -> None:
        definition = node.definition
        if _is_variable(node):
            _become(node, OPS.lookup("VarHandleOp"), _handle_attrs(node), [dtypes.resource], [()])
        elif node.type in _IDENTITIES and inputs[0] in self._refs:
            self._lower_identity(node, self._refs[inputs[0]])
        elif definition.facts.control_flow and definition.on_handles is not None:
            self._lower_control_flow(node, inputs, definition.on_handles)
        else:
            # Where a reference is expected the handle is passed; elsewhere the value is read just for this consumer. An
            # update that takes the result of another one must come after it: values ordered them, handles do not, so a
            # control edge does.
            updates = []
            for position, output in enumerate(inputs):
                ref = self._refs.get(output)
                takes_ref = definition.on_handles is not None and _takes_ref(definition, position)
                if ref is None and takes_ref:
                    raise invalid(
                        f"{node.name!r} updates {output.node.attrs.get('_feeds')!r}, for which a value is fed"
                    )
                if ref is not None:
                    node.inputs[position] = ref.handle if takes_ref else Output(self._read(ref, node), 0)
                    updates += [ref.update] if takes_ref and ref.update is not None else []
            if definition.on_handles is not None:
                outputs = [i for i, dtype in enumerate(node.dtypes) if not dtype._is_ref_dtype]
                attrs = _converted_attrs(node, definition.on_handles)
                types, shapes = [node.dtypes[i] for i in outputs], [node.shapes[i] for i in outputs]
                _become(node, definition.on_handles, attrs, types, shapes)
                node.controls = list(dict.fromkeys([*node.controls, *updates]))

    def _lower_identity(self, node: Node, ref: _Ref) -> None:
        """Turns an Identity into a read, and a RefIdentity into a node that only waits."""
        if ref.update is not None:
            node.controls = list(dict.fromkeys([*node.controls, ref.update]))
        private_attrs = {key: value for key, value in node.attrs.items() if key.startswith("_")}
        if node.type == "RefIdentity":
            node.inputs = []
            _become(node, OPS.lookup("NoOp"), private_attrs, [], [])
        else:
            node.inputs = [ref.handle]
            dtype = ref.variable.attrs["dtype"]
            _become(node, OPS.lookup("ReadVariableOp"), {"dtype": dtype, **private_attrs}, [dtype], node.shapes)

    def _lower_control_flow(self, node: Node, inputs: list[Output], definition: OpDef) -> None:
        for position, output in enumerate(inputs):
            ref = self._refs.get(output)
            if ref is not None:
                node.inputs[position] = ref.handle
                if ref.update is not None and node.type != "RefSwitch":  # what a Switch waits for, its consumers do
                    node.controls = list(dict.fromkeys([*node.controls, ref.update]))
        types = [dtypes.resource if dtype._is_ref_dtype else dtype for dtype in node.dtypes]
        shapes = [() if dtype._is_ref_dtype else shape for dtype, shape in zip(node.dtypes, node.shapes)]
        _become(node, definition, {**node.attrs, "T": dtypes.resource}, types, shapes)

    # -- reads --------------------------------------------------------------------------------------------------------

    def _read(self, ref: _Ref, consumer: Node) -> Node:
        """Returns a read for a consumer of a reference; consumers without control inputs share that of an update."""
        # When a consumer reads a reference depends on what it waits for, so that consumers with different control
        # inputs may see different values and need reads of their own. Those that only wait for the update itself all
        # see its result.
        shared = ref.update is not None and not (set(consumer.controls) - {ref.update})
        key = (ref.update,) if shared else (consumer, ref.handle)
        if key not in self._reads:
            base = ref.update if shared and ref.update is not None else consumer
            read = self._add_read(ref, _read_name(base, ref.variable), consumer)
            read.attrs[SHOWN] = base.name
            read.order = base.order + 0.25 if shared else base.order - 0.25
            waits = [] if ref.update is None else [ref.update]
            read.controls = waits if shared else list(dict.fromkeys([*consumer.controls, *waits]))
            self._reads[key] = read
        return self._reads[key]

    def _add_read(self, ref: _Ref, name: str, at: Node) -> Node:
        variable = ref.variable
        dtype, shape = variable.attrs["dtype"], variable.attrs["shape"]
        definition, attrs = OPS.lookup("ReadVariableOp"), {"dtype": dtype}
        read = Node(
            name, definition, [ref.handle], attrs, [dtype], [shape], order=at.order + 0.25, stack=variable.stack
        )
        read.device = variable.device
        self._added.append(read)
        return read

    def _read_after_updates(self, snapshots: dict[Node, None]) -> None:
        """Gives consumers of a snapshot that depend on an update of its variable a read of their own."""
        # A snapshot is the one read that consumers without order share. In TensorFlow it is an alias of the buffer, so
        # that a consumer behind an update sees the updated value. Such consumers get a read of their own, after all
        # their other inputs; the others keep the snapshot, which costs no copy unless an update runs while it is in
        # use.
        writers: dict[Node, list[Node]] = {}
        for node in [node for node in self._step.nodes if node.facts.writes]:
            for variable in {_variable_of(handle) for handle in _handles(node)}:
                writers.setdefault(variable, []).append(node)
        consumers = self._step.consumers()
        for snapshot in snapshots:
            if (written := writers.get(_variable_of(snapshot.inputs[0]))) is not None:
                later = descendants(written, consumers)
                for alias, handle in list(_aliases(snapshot, consumers, self._added)):
                    self._move_reads(alias, handle, snapshot, consumers, later)

    def _move_reads(
        self,
        alias: Output,
        handle: Output,
        snapshot: Node,
        consumers: dict[Node, list[Node]],
        later: set[Node],
    ) -> None:
        for consumer in dict.fromkeys(consumers[alias.node]):
            if alias not in consumer.inputs or consumer.facts.control_flow:
                continue
            if consumer in later:
                read = snapshot.like("ReadVariableOp", [handle], dict(snapshot.attrs))
                read.attrs[SHOWN] = consumer.name
                read.name = _read_name(consumer, _variable_of(handle))
                others = [producer for producer, _ in consumer.inputs if Output(producer, _) != alias]
                updates = [] if _is_in_loop(alias, snapshot) else snapshot.controls
                read.controls = list(dict.fromkeys([*consumer.controls, *others, *updates]))
                read.order = consumer.order - 0.25
                self._added.append(read)
                consumer.inputs = [Output(read, 0) if output == alias else output for output in consumer.inputs]
            elif alias == Output(snapshot, 0) and _gathers_rows(consumer):
                _gather_by_handle(consumer, handle)


def _read_name(consumer: Node, variable: Node) -> str:
    """Returns the name of a consumer's own read; with the whole name of the variable, since transfers are by name."""
    return f"{consumer.name}/_value_of/{variable.name}"


def _is_variable(node: Node) -> bool:
    return node.definition.on_handles is not None and node.definition.on_handles.name == "VarHandleOp"


def _returns_ref(node: Node) -> bool:
    return any(dtype._is_ref_dtype for dtype in node.dtypes)


def _become(node: Node, definition: OpDef, attrs: dict[str, Any], types: list[Any], shapes: Any) -> None:
    node.definition, node.type, node.attrs = definition, definition.name, attrs
    node.dtypes, node.shapes = types, shapes


def _handle_attrs(node: Node) -> dict[str, Any]:
    defaults = OPS.lookup("VarHandleOp").defaults
    attrs = {key: value for key, value in node.attrs.items() if key != "_output_shapes"}
    return {**defaults, **attrs, "shared_name": node.attrs["shared_name"] or node.name}


def _converted_attrs(node: Node, definition: OpDef) -> dict[str, Any]:
    attrs = {key: value for key, value in node.attrs.items() if key in definition.attrs or key.startswith("_")}
    if "dtype" in definition.attrs:
        attrs["dtype"] = node.attrs["T"]
    if node.type == "Assign" and not node.attrs["validate_shape"]:
        attrs["_any_shape"] = True
    return {**definition.defaults, **attrs}


def _takes_ref(definition: OpDef, position: int) -> bool:
    return position < len(definition.inputs) and definition.inputs[position].is_ref


def _variable_of(output: Output) -> Node:
    node = output.node
    while node.type != "VarHandleOp":
        node = node.inputs[0].node
    return node


def _handles(node: Node) -> list[Output]:
    return [output for i, output in enumerate(node.inputs) if node.input_dtype(i) is dtypes.resource]


def _aliases(snapshot: Node, consumers: dict[Node, list[Node]], added: list[Node]) -> Iterator[tuple[Output, Output]]:
    """Yields the outputs that hold a snapshot in branches and loops too, each with the variable's handle there."""
    stack: list[tuple[Output, Output]] = [(Output(snapshot, 0), snapshot.inputs[0])]
    while stack:
        alias, handle = stack.pop()
        yield alias, handle
        for node in consumers[alias.node]:
            if node.type in _FORWARDING and node.inputs[0] == alias:
                forwarded = _forwarded(node, handle, snapshot.controls, consumers, added)
                stack += [(Output(node, i), Output(forwarded, i)) for i in range(len(node.dtypes))]


def _is_in_loop(alias: Output, snapshot: Node) -> bool:
    """Returns whether an output holds a snapshot in a loop, where its Enter waits for updates."""
    node = alias.node
    while node is not snapshot and node.type != "Enter":
        node = node.inputs[0].node
    return node is not snapshot


def _forwarded(
    node: Node, handle: Output, updates: list[Node], consumers: dict[Node, list[Node]], added: list[Node]
) -> Node:
    """Returns the node that forwards a handle as another forwards a value; one for each branch or loop.

    updates: what it waits for
    """
    # A read inside of a branch or loop needs the handle there, through the same Switch or Enter as the value. One
    # forwarding node per branch or loop serves all readers in it.
    inputs, frame = [handle, *node.inputs[1:]], node.attrs.get("frame_name")
    for other in consumers.setdefault(handle.node, []):
        if other.type == node.type and other.inputs == inputs and other.attrs.get("frame_name") == frame:
            other.controls = list(dict.fromkeys([*other.controls, *updates]))
            return other
    types = [dtypes.resource] * len(node.dtypes)
    attrs = {**node.attrs, "T": dtypes.resource}
    forwarded = node.like(node.type, inputs, attrs, name=f"{node.name}/_handle", dtypes=types, shapes=[()] * len(types))
    forwarded.controls = list(dict.fromkeys([*forwarded.controls, *updates]))
    consumers[handle.node].append(forwarded)
    added.append(forwarded)
    return forwarded


def _gathers_rows(node: Node) -> bool:
    """Returns whether a node gathers along the first axis."""
    if node.type not in _GATHERS or node.attrs.get("batch_dims"):
        return False
    axis = node.constant(2) if node.type == "GatherV2" else 0
    return axis is not None and int(axis) == 0


def _gather_by_handle(node: Node, handle: Output) -> None:
    """Makes a gather take its rows from the variable itself, so that no update has to copy a snapshot."""
    private_attrs = {key: value for key, value in node.attrs.items() if key.startswith("_")}
    attrs = {"dtype": node.dtypes[0], "Tindices": node.input_dtype(1), **private_attrs}
    definition = OPS.lookup("ResourceGather")
    node.inputs = [handle, node.inputs[1]]
    _become(node, definition, {**definition.defaults, **attrs}, list(node.dtypes), node.shapes)
