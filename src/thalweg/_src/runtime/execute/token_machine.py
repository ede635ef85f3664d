"""The dataflow token machine: frames, iterations and dead tokens, for graphs with unstructured control flow.

A pure state machine: the outputs of a node go in, the nodes that have become ready come out. Every token belongs to an
iteration of a frame; a dead token means that no value will arrive. The machine runs no nodes, threads or clocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg._src.base import errors
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.graph.source_line import made_at


class _Dead:
    def __repr__(self) -> str:
        return "DEAD"


DEAD: Any = _Dead()
_CONTROL = -1


@dataclass(slots=True, eq=False)
class Frame:
    """One run of a loop."""

    name: str
    outer: Iteration | None
    parallel: int
    enters: int  # Enter values that have not arrived yet
    iterations: dict[int, Iteration] = field(default_factory=dict)
    constants: list[tuple[Node, Any]] = field(default_factory=list)
    deferred: list[tuple[Node, Any]] = field(default_factory=list)  # values for an iteration that may not start yet
    used_exits: set[Node] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class Iteration:
    """One iteration of a frame: the values that have arrived, and the number of nodes in flight."""

    frame: Frame
    index: int
    arrived: dict[Node, list[Any]] = field(default_factory=dict)
    left: dict[Node, int] = field(default_factory=dict)
    controls_left: dict[Node, int] = field(default_factory=dict)  # of Merges, which do not wait for all of their inputs
    dead: set[Node] = field(default_factory=set)
    fired: set[Node] = field(default_factory=set)
    in_flight: int = 0
    children: dict[str, Frame] = field(default_factory=dict)

    def path(self) -> str:
        """Returns the name of the iteration, as in rendezvous keys: enclosing loops with their iteration numbers."""
        components: list[str] = []
        iteration = self
        while iteration.frame.outer is not None:
            components.append(f"/{iteration.frame.name}:{iteration.index}")
            iteration = iteration.frame.outer
        return "".join(reversed(components))


@dataclass(slots=True, eq=False)
class Item:
    """A node that is ready in an iteration, with its inputs; a dead one is not run and has dead outputs."""

    node: Node
    iteration: Iteration
    inputs: list[Any]
    dead: bool


class TokenMachine:
    """The state of one run: call `start` once, then `finish` once for each item that either has returned."""

    def __init__(self, nodes: Sequence[Node], fetches: Iterable[Output]) -> None:
        self._nodes = nodes
        self._edges: dict[Output, list[tuple[Node, int]]] = {}
        self._after: dict[Node, list[Node]] = {}
        self._enters: dict[str, int] = {}
        for node in nodes:
            for index, output in enumerate(node.inputs):
                self._edges.setdefault(output, []).append((node, index))
            for control in node.controls:
                self._after.setdefault(control, []).append(node)
            if node.type == "Enter":
                name = node.attrs["frame_name"]
                self._enters[name] = self._enters.get(name, 0) + 1
        self._exits: dict[str, list[Node]] = {}
        for node, frame in self._left_frames().items():
            self._exits.setdefault(frame, []).append(node)
        self._fetches = set(fetches)
        self.fetched: dict[Output, Any] = {}
        self._root = Frame("", None, 1, 0)
        self._root.iterations[0] = Iteration(self._root, 0)
        self._ready: list[Item] = []

    def start(self) -> list[Item]:
        """Returns the nodes without predecessors."""
        first = self._root.iterations[0]
        first.in_flight += 1  # the start itself, so that an empty iteration is not closed too early
        for node in self._nodes:
            if not node.inputs and not node.controls:
                self._fire(first, node)
        self._ended(first)
        return self._take_ready()

    def finish(self, item: Item, outputs: Sequence[Any]) -> list[Item]:
        """Accepts the outputs of a node and returns the nodes that are ready now."""
        node, iteration = item.node, item.iteration
        if node.type == "Enter":
            self._enter(node, iteration, outputs[0])
        elif node.type == "Exit":
            self._exit(node, iteration, outputs[0])
        elif node.type == "NextIteration":
            if outputs[0] is not DEAD:
                self._next(node, iteration, outputs[0])
            self._signal(node, iteration, outputs[0] is DEAD)
        else:
            self._spread(node, iteration, outputs, item.dead)
        self._ended(iteration)
        return self._take_ready()

    def _left_frames(self) -> dict[Node, str]:
        """Returns the name of the frame that each Exit leaves; frames are followed from the nodes without inputs."""
        # Frames are created at run time, but which Exits a frame has must be known before, to send dead tokens for the
        # ones that never fired. One walk along the edges from the roots, with the stack of the frames entered so far,
        # finds them: in a valid graph all paths to a node enter the same frames.
        frames: dict[Node, tuple[str, ...]] = {}
        left: dict[Node, str] = {}
        stack: list[tuple[Node, tuple[str, ...]]] = [(n, ()) for n in self._nodes if not n.inputs and not n.controls]
        while stack:
            node, frame = stack.pop()
            if node in frames:
                continue
            if node.type == "Enter":
                frame = (*frame, node.attrs["frame_name"])
            elif node.type == "Exit":
                if not frame:
                    raise _not_in_loop(node)
                left[node], frame = frame[-1], frame[:-1]
            frames[node] = frame
            consumers = [c for i in range(len(node.dtypes)) for c, _ in self._edges.get(Output(node, i), ())]
            stack += [(consumer, frame) for consumer in [*consumers, *self._after.get(node, ())]]
        return left

    def _take_ready(self) -> list[Item]:
        ready, self._ready = self._ready, []
        return ready

    # -- values ------------------------------------------------------------------------------------------------------

    def _spread(self, node: Node, iteration: Iteration, outputs: Sequence[Any], dead: bool) -> None:
        for index, value in enumerate(outputs):
            self._send(node, index, iteration, value)
        self._signal(node, iteration, dead)

    def _send(self, node: Node, index: int, iteration: Iteration, value: object) -> None:
        output = Output(node, index)
        if output in self._fetches and iteration.frame is self._root:
            self.fetched[output] = value
        for consumer, position in self._edges.get(output, ()):
            self._arrive(iteration, consumer, position, value)

    def _signal(self, node: Node, iteration: Iteration, dead: bool) -> None:
        for consumer in self._after.get(node, ()):
            self._arrive(iteration, consumer, _CONTROL, DEAD if dead else None)

    def _arrive(self, iteration: Iteration, node: Node, position: int, value: object) -> None:
        # The rules of readiness. A node needs a token on each data and control input, of its own iteration. It is dead
        # if any of them is. A Merge needs all controls and the first live value, or all values if all are dead; later
        # tokens change nothing, since it has fired. A ControlTrigger runs even if its controls are dead.
        if node not in iteration.left:
            iteration.left[node] = len(node.inputs) + len(node.controls)
            iteration.arrived[node] = [DEAD] * len(node.inputs)
            if node.type == "Merge":
                iteration.controls_left[node] = len(node.controls)
        iteration.left[node] -= 1
        is_data = position != _CONTROL
        if value is DEAD:
            iteration.dead.add(node)
        if is_data:
            iteration.arrived[node][position] = value
        if node.type == "Merge":
            if not is_data:
                iteration.controls_left[node] -= 1
            if node in iteration.fired or iteration.controls_left[node]:
                return
            dead = all(v is DEAD for v in iteration.arrived[node])
            if not dead or iteration.left[node] == 0:
                self._fire(iteration, node, dead)
        elif iteration.left[node] == 0:
            self._fire(iteration, node, dead=node in iteration.dead and node.type != "ControlTrigger")

    def _fire(self, iteration: Iteration, node: Node, dead: bool = False) -> None:
        inputs = list(iteration.arrived.get(node, ()))
        if not dead and node.type != "Merge" and any(value is DEAD for value in inputs):
            text = f"{node.type} '{node.name}' receives several values for one input in an iteration"
            raise errors.InvalidArgumentError(node, node, f"{text}.\n  defined at: {made_at(node.stack)}")
        iteration.fired.add(node)
        iteration.in_flight += 1
        self._ready.append(Item(node, iteration, inputs, dead))

    # -- frames ------------------------------------------------------------------------------------------------------

    def _enter(self, node: Node, iteration: Iteration, value: object) -> None:
        name = node.attrs["frame_name"]
        frame = iteration.children.get(name)
        if frame is None:
            frame = Frame(name, iteration, node.attrs["parallel_iterations"], self._enters[name])
            frame.iterations[0] = Iteration(frame, 0)
            # Values enter a frame one by one. Until the last Enter has fired, iteration 0 counts one more in flight: it
            # could otherwise be closed between two of them.
            frame.iterations[0].in_flight = 1  # held until all values of the frame have arrived
            iteration.children[name] = frame
        frame.enters -= 1
        if node.attrs["is_constant"]:
            frame.constants.append((node, value))
            for inner in list(frame.iterations.values()):
                self._spread(node, inner, [value], value is DEAD)
        else:
            self._spread(node, frame.iterations[0], [value], value is DEAD)
        if frame.enters == 0:
            self._ended(frame.iterations[0])

    def _next(self, node: Node, iteration: Iteration, value: object) -> None:
        frame, index = iteration.frame, iteration.index + 1
        if index not in frame.iterations:
            if len(frame.iterations) >= frame.parallel:
                frame.deferred.append((node, value))
                return
            self._begin(frame, index)
        self._send(node, 0, frame.iterations[index], value)

    def _begin(self, frame: Frame, index: int) -> None:
        iteration = frame.iterations[index] = Iteration(frame, index)
        for node, value in frame.constants:
            self._spread(node, iteration, [value], value is DEAD)

    def _exit(self, node: Node, iteration: Iteration, value: object) -> None:
        frame = iteration.frame
        if frame.outer is None:  # another path to it enters a loop
            raise _not_in_loop(node)
        if value is not DEAD:
            frame.used_exits.add(node)
            self._spread(node, frame.outer, [value], False)

    # -- endings ------------------------------------------------------------------------------------------------------

    def _ended(self, iteration: Iteration) -> None:
        iteration.in_flight -= 1
        self._close(iteration)

    def _close(self, iteration: Iteration | None) -> None:
        """Closes iterations and frames in which nothing more can happen."""
        # An iteration is over when no node of it is in flight, no inner loop runs in it, and the iteration before it is
        # over, since only that one could still send it values. Each iteration that closes may let a deferred one
        # begin, which `parallel_iterations` held back, and may close the next one or the whole frame, whose end in turn
        # may close an iteration of the outer frame: hence a loop, not recursion, which deep nesting would overflow.
        while iteration is not None and not iteration.in_flight and not iteration.children:
            frame = iteration.frame
            if iteration.index - 1 in frame.iterations:
                return  # an earlier iteration may still send values
            frame.iterations.pop(iteration.index, None)
            deferred, frame.deferred = frame.deferred, []
            if deferred:
                newest = max(frame.iterations, default=iteration.index) + 1
                self._begin(frame, newest)
                for node, value in deferred:
                    self._send(node, 0, frame.iterations[newest], value)
            following = frame.iterations.get(iteration.index + 1)
            if following is not None:
                iteration = following
                continue
            if frame.iterations or frame.outer is None:
                return
            iteration = self._leave(frame)

    def _leave(self, frame: Frame) -> Iteration:
        """Closes a frame: Exits that received no value produce dead ones."""
        # In all but its last iteration the dead branch of a Switch sends dead tokens to the Exits, which must not leave
        # the loop: dead values do not pass an Exit (`_exit`). Only the end of the frame shows that an Exit never gets a
        # live value, as in a loop that was entered by dead values, and then one dead token leaves.
        outer = frame.outer
        assert outer is not None
        del outer.children[frame.name]
        for node in self._exits.get(frame.name, ()):
            if node not in frame.used_exits:
                self._spread(node, outer, [DEAD], True)
        return outer


def _not_in_loop(node: Node) -> errors.OpError:
    text = f"{node.type} '{node.name}' is not inside a loop.\n  defined at: {made_at(node.stack)}"
    return errors.InvalidArgumentError(node, node, text)
