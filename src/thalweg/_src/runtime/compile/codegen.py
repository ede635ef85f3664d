"""Code generation: a segment as one straight-line Python function, one line per node, values freed at last use.

Nothing that a graph says is written into the code: a graph may come from a file of another's. The identifiers are made
here (`v17` for a value, `g3` for a global), and a side table holds the readable names that listings and errors show.
"""

from __future__ import annotations

import heapq
import itertools
import keyword
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from thalweg._src.base import errors
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Guard, Node, Output, Region
from thalweg._src.runtime.compile.bind import STRUCTURED
from thalweg._src.runtime.compile.failure import UNTAKEN_BRANCH
from thalweg._src.runtime.compile.segment import Segment
from thalweg._src.runtime.kernels.registry import STEP, Call, Input, inputs_of

_CHECK_EVERY = 32  # nodes between two checks for cancellation
_IDENTIFIER = re.compile(r"\b[vg][0-9]+\b")
_serial = itertools.count()
Arrange = Callable[[Sequence[Node], Iterable[Output]], list[Node]]


def outputs_of(node: Node) -> list[Output]:
    """Returns the outputs of a node; those of a cluster are its members'."""
    if node.type == "_Cluster":
        return list(node.attrs["outputs"])
    return [Output(node, index) for index in range(len(node.dtypes))]


class Code:
    """One segment's function and the way back from its lines to the nodes."""

    __slots__ = ("filename", "function", "iterations", "listing", "names", "nodes")

    def __init__(self, function: Callable[..., Any], listing: Listing, writer: _Writer) -> None:
        self.function = function
        self.listing = listing
        self.nodes = writer.node_of_line
        self.names = writer.names
        self.iterations = writer.iteration_of_line
        self.filename = function.__code__.co_filename

    @property
    def text(self) -> str:
        """The function as it is shown: with the names, types and shapes of the graph."""
        return self.listing.text()


class Listing:
    """The text of a generated function with readable names; built when it is shown."""

    __slots__ = ("_comments", "_readable_names", "lines")

    def __init__(self, lines: list[str], readable: dict[str, str], comments: dict[int, Node]) -> None:
        self.lines = lines
        self._readable_names = readable
        self._comments = {line: _comment(node) for line, node in comments.items()}

    def text(self) -> str:
        shown = self._choose_names()
        lines = [
            _IDENTIFIER.sub(lambda match: shown.get(match[0], match[0]), line) + self._comments.get(number, "")
            for number, line in enumerate(self.lines, 1)
        ]
        return "\n".join(lines) + "\n"

    def get_source(self, name: str) -> str:
        """Called by linecache: tracebacks and debuggers show this text, as long as the function lives."""
        return self.text()

    def _choose_names(self) -> dict[str, str]:
        """Returns a name of its own for each identifier."""
        taken: dict[str, int] = {"step": 0, "_": 0}
        result = {}
        for identifier, readable in self._readable_names.items():
            base = re.sub(r"\W", "_", readable, flags=re.ASCII).lstrip("_")
            if not base.isidentifier() or keyword.iskeyword(base):
                base = f"v{base}"
            name = base
            while name in taken:
                taken[base] += 1
                name = f"{base}_{taken[base]}"
            taken[name] = 0
            result[identifier] = name
        return result


def _comment(node: Node) -> str:
    name = node.name if node.name.isprintable() else repr(node.name)
    return f"  # {name}" + (f" {node.dtypes[0].name}{show(node.shapes[0])}" if len(node.shapes) == 1 else "")


def generate(
    segment: Segment, calls: dict[Node, Call], constants: dict[Output, Any], arrange: Arrange | None = None
) -> Code:
    """Generates and compiles the function of a segment.

    calls: the bound kernel of each node. constants: values known before the step, which become global names.
    arrange: what puts clusters in the place of nodes, from them and the outputs that other nodes use
    """
    writer = _Writer(segment, calls, constants, arrange)
    text = writer.write()
    filename = f"thalweg step {next(_serial)}"  # linecache ignores loaders for names in angle brackets
    listing = Listing(writer.lines, writer.readable_names, writer.commented)
    namespace = writer.globals
    namespace.update(__name__=filename, __loader__=listing)
    exec(compile(text, filename, "exec"), namespace)
    return Code(namespace[writer.function_name], listing, writer)


class _Writer:
    def __init__(
        self, segment: Segment, calls: dict[Node, Call], constants: dict[Output, Any], arrange: Arrange | None
    ) -> None:
        self.segment = segment
        self._arrange = arrange
        self.calls = calls
        self.constants = constants
        self.function_name = f"segment_{segment.index}"
        self.globals: dict[str, Any] = {}
        self.names: dict[Output, str] = {}
        self.readable_names: dict[str, str] = {}  # identifiers and what a reader would call them
        self.node_of_line: dict[int, Node] = {}
        self.commented: dict[int, Node] = {}
        self.iteration_of_line: dict[int, str] = {}
        self.lines: list[str] = []
        self._global_of: dict[int, str] = {}
        self._referenced: list[Any] = []  # keeps ids in _global_of alive
        self._iteration = ""

    def write(self) -> str:
        segment = self.segment
        parameters = ["step"]
        for output in segment.inputs:
            parameters.append(self.name_of(output))
        self.lines.append(f"def {self.function_name}({', '.join(parameters)}):")
        available = set(segment.inputs)
        for output in segment.outputs:
            # The value of a branch that another segment or the caller uses: unbound if the branch is not taken.
            if output.node.guard and output not in available:
                self.lines.append(f"    {self.name_of(output)} = None")
        nodes = self.arranged(segment.nodes, segment.outputs)
        _Block(self, nodes, segment.outputs, available, "    ").write()
        results = "".join(f"{self.value(output)}, " for output in segment.outputs)
        self.lines.append(f"    return ({results.rstrip()})" if results else "    return ()")
        return "\n".join(self.lines) + "\n"

    def arranged(self, nodes: list[Node], used_later: Iterable[Output]) -> list[Node]:
        return nodes if self._arrange is None else self._arrange(nodes, used_later)

    def write_call(self, node: Node, call: Call, used: set[Output], indent: str) -> list[str]:
        """Writes the call of a node and returns the names of its outputs: "_" for an unused one."""
        # A cancelled step ends within a bounded number of nodes. It ends before any change of state too: a caller that
        # was told of a failure may have started to restore the variables.
        number = len(self.node_of_line)
        if number % _CHECK_EVERY == _CHECK_EVERY - 1 or (number and _changes_state(node)):
            self.lines.append(f"{indent}if step.cancelled: step.stop()")
        expression = self._expression(node, call)  # names the function first, so that it keeps its own
        targets = self.targets(node, used)
        target = ", ".join(targets) + " = " if any(name != "_" for name in targets) else ""
        self.write_line(node, f"{indent}{target}{expression}")
        return targets

    def targets(self, node: Node, used: set[Output]) -> list[str]:
        return [self.name_of(output) if output in used else "_" for output in outputs_of(node)]

    def write_line(self, node: Node, text: str) -> None:
        self.lines.append(text)
        self.node_of_line[len(self.lines)] = self.commented[len(self.lines)] = node
        if self._iteration:
            self.iteration_of_line[len(self.lines)] = self._iteration

    def write_loop(self, node: Node, used: set[Output], done: Sequence[str], indent: str) -> None:
        """Writes a loop with Python variables as its loop variables.

        done: names of initial values that are not used after the loop variables are assigned
        """
        # The variables of the loop, its outputs and the arguments of condition and body are one set of names: an
        # iteration begins with no copies, and after the last one the variables hold the outputs. Invariants keep the
        # names of their outer values; they are not local to the blocks inside, which therefore never delete them.
        region: Region = node.attrs["region"]
        count = len(node.dtypes)
        arguments = [Output(argument, 0) for argument in region.body.feeds]
        for argument, outer in zip(arguments[count:], node.inputs[count:]):
            self.names[argument] = self.value(outer)  # an invariant needs no variable
        variables = [self.names.get(Output(node, i)) or self.name_of(arguments[i]) for i in range(count)]
        for index, name in enumerate(variables):
            self.names[Output(node, index)] = self.names[arguments[index]] = name
        first = ", ".join(self.value(output) for output in node.inputs[:count])
        if variables:
            self.write_line(node, f"{indent}{', '.join(variables)} = {first}")
        if done:
            self.lines.append(f"{indent}del {', '.join(done)}")
        outside, inside = self._iteration, indent + "    "
        self._iteration = self._fresh("iteration")
        self.lines.append(f"{indent}for {self._iteration} in {self.as_global(itertools.count)}():")
        self.lines.append(f"{inside}if step.cancelled: step.stop()")
        loop_variables = set(arguments[:count])
        going_on = region.condition.fetches[0]
        nodes = self.arranged(region.condition.nodes, region.condition.fetches)
        # All arguments count as outputs of the condition, since the body reads them after it.
        _Block(self, nodes, [going_on, *arguments], set(), inside).write()
        self.lines.append(f"{inside}if not {self.value(going_on)}: break")
        self.node_of_line[len(self.lines)] = going_on.node
        self.iteration_of_line[len(self.lines)] = self._iteration
        nodes = self.arranged(region.body.nodes, region.body.fetches)
        body = _Block(self, nodes, region.body.fetches, loop_variables, inside)
        body.write_body(arguments[:count], variables)
        self._iteration = outside
        left = [name for index, name in enumerate(variables) if Output(node, index) not in used]
        if left:
            self.lines.append(f"{indent}del {', '.join(left)}")

    def name_of(self, output: Output) -> str:
        if output not in self.names:
            node, index = output
            self.names[output] = self._fresh(node.name.rpartition("/")[2] + (f"_{index}" if index else ""))
        return self.names[output]

    def _fresh(self, readable: str, letter: str = "v") -> str:
        """Returns a new identifier. The name that a reader sees goes to the side table alone."""
        identifier = f"{letter}{len(self.readable_names)}"
        self.readable_names[identifier] = readable
        return identifier

    def value(self, output: Output) -> str:
        if output in self.constants:
            return self.as_global(self.constants[output], "constant")
        return self.name_of(output)

    def _expression(self, node: Node, call: Call) -> str:
        arguments = [self._argument(node, value) for value in call.args]
        arguments += [f"{key}={self._argument(node, value)}" for key, value in call.kwargs.items()]
        return f"{self.as_global(call.function)}({', '.join(arguments)})"

    def _argument(self, node: Node, value: object) -> str:
        # The names of the graph never enter the text: an attribute is written only if it is a number, a bool or None,
        # or a list of these, whose repr cannot contain code. Anything else becomes a global that the text refers to.
        if isinstance(value, Input):
            output = node.inputs[value]
            return self.names.get(output) or self.value(output)
        if isinstance(value, Call):
            return self._expression(node, value)
        if value is STEP:
            return "step"
        if isinstance(value, list) and any(isinstance(item, Input | Call) for item in value):
            return f"[{', '.join(self._argument(node, item) for item in value)}]"
        return repr(value) if _is_literal(value) else self.as_global(value, "value")

    def as_global(self, value: object, base: str = "") -> str:
        key = id(value)
        if key not in self._global_of:
            name = self._fresh(_name_of(value) or base or type(value).__name__, "g")
            self.globals[name] = value
            self._global_of[key] = name
            self._referenced.append(value)
        return self._global_of[key]


class _Block:
    """The lines of one block of a function: the function itself, or the condition or body of a loop."""

    def __init__(
        self, writer: _Writer, nodes: list[Node], outputs: Sequence[Output], local: set[Output], indent: str
    ) -> None:
        self._writer = writer
        self._nodes = grouped(nodes) if any(node.guard for node in nodes) else nodes
        self._outputs = set(outputs)
        self._results = outputs
        self._local = local | {output for node in nodes if node.type != "_Arg" for output in outputs_of(node)}
        self._indent = indent
        # Liveness: a name is deleted right after the line of its last use, so that a step's peak memory is that of its
        # live values, and an update finds a buffer that nothing else refers to. Three kinds of names are left alone:
        # outputs of the block, names that belong to an enclosing block (not in `_local`: that block deletes them), and
        # those of values that were assigned to loop variables (`_held`).
        self._guard: Guard = ()
        self._last_use = self._find_last_uses()
        self._held: set[str] = set()  # names that keep their values between iterations
        self._later: list[tuple[Guard, str]] = []  # names to delete when the writer is back at a guard

    def _uses(self, node: Node) -> Iterable[Output]:
        """Yields the values that a node needs, without inputs that the bound call omits."""
        call = self._writer.calls[node]
        if node.type in STRUCTURED:
            yield from node.inputs
        else:
            yield from (node.inputs[index] for index in inputs_of(call))
        for predicate, _ in node.guard:
            yield predicate

    def _find_last_uses(self) -> dict[Output, Node]:
        last: dict[Output, Node] = {}
        for node in self._nodes:
            if node in self._writer.calls:
                for output in self._uses(node):
                    last[output] = node
        return last

    def write(self) -> None:
        for node in self._nodes:
            if node in self._writer.calls:
                self._write_node(node)
        self._go_to(())

    def write_body(self, arguments: Sequence[Output], variables: Sequence[str]) -> None:
        """Writes the nodes of a loop's body and assigns the next values of its variables.

        A value that is computed after the last use of its variable is assigned to the variable directly.
        """
        place = {node: index for index, node in enumerate(self._nodes)}
        place.update(
            (member, place[node]) for node in self._nodes if node.type == "_Cluster" for member, _ in outputs_of(node)
        )
        results, direct = list(self._results), set()
        uses = Counter(results)
        # A next value is written straight into the loop's variable, without a name of its own, only if that overwrites
        # nothing that is still read and assigns nothing else. Six conditions ensure it:
        # - `plain`: the body computes the value. One that has a name already is another variable, an invariant or a
        #   value of the condition, and a constant is a global: naming it anew would lose it.
        # - `free`: no node after the computing one reads the old value of the variable. The computing node itself may
        #   read it, since a call takes its arguments before its result is assigned.
        # - `alone`, first half: the value is the next one of this variable only; it can bear one name.
        # - `alone`, second half: the old value is not the next one of another variable (`a, b = b, f(a)`), which reads
        #   it at the end of the body.
        # - It has no guard: in an iteration whose branch is not taken, the line would not run, and the old value would
        #   be passed on instead of None.
        # - It is not an inner loop: that one assigns its variables before its first iteration, while its body may read
        #   the old value as an invariant in every iteration.
        # All others are assigned together by one tuple assignment at the end, which reads every right side first.
        for argument, name, result in zip(arguments, variables, results):
            last = self._last_use.get(argument)
            plain = result in self._local and result not in self._writer.names and result not in self._writer.constants
            free = last is None or place[last] <= place.get(result.node, -1)
            alone = uses[result] == 1 and argument not in uses
            if plain and free and alone and not result.node.guard and result.node.type != "_While":
                self._writer.names[result] = name
                direct.add(name)
        self._held = direct
        self.write()
        pairs = [
            (name, self._writer.value(result))
            for name, result in zip(variables, results)
            if self._writer.value(result) != name
        ]
        if pairs:
            left, right = ", ".join(name for name, _ in pairs), ", ".join(value for _, value in pairs)
            self._writer.lines.append(f"{self._indent}{left} = {right}")
            # Names of this iteration that the assignment has copied would keep their values alive through the next one,
            # when the variables have moved on. Names of invariants and constants are not among `mine` and stay.
            stale = {value for _, value in pairs} - set(variables)
            mine = [
                self._writer.names[r] for r in dict.fromkeys(results) if r in self._local and r in self._writer.names
            ]
            gone = [name for name in dict.fromkeys(mine) if name in stale]
            if gone:
                self._writer.lines.append(f"{self._indent}del {', '.join(gone)}")

    def _here(self) -> str:
        return self._indent + "    " * len(self._guard)

    def _go_to(self, guard: Guard, node: Node | None = None) -> None:
        """Closes and opens `if` blocks so that the next line is under a guard."""
        # Guards are prefixes of each other or differ from some level on: the common prefix is the innermost `if` block
        # that both lines are in. A name whose last use was in a block that is left may be unbound there, if the branch
        # was not taken; so it is set to None, which is valid either way, instead of deleted.
        shared = len(_shared(guard, self._guard))
        while len(self._guard) > shared:
            self._guard = self._guard[:-1]
            due = [name for level, name in self._later if level == self._guard]
            self._later = [entry for entry in self._later if entry[0] != self._guard]
            if due:
                self._writer.lines.append(f"{self._here()}{' = '.join(due)} = None")
        for predicate, side in guard[shared:]:
            negation = "" if side else "not "
            self._writer.lines.append(f"{self._here()}if {negation}{self._writer.value(predicate)}:")
            if node is not None:
                self._writer.node_of_line[len(self._writer.lines)] = node
            self._guard = (*self._guard, (predicate, side))

    def _write_node(self, node: Node) -> None:
        self._go_to(node.guard, node)
        writer, here = self._writer, self._here()
        used = set(filter(self._is_used, outputs_of(node)))
        if node.type == "_While":
            count = len(node.dtypes)
            still_needed = {*node.inputs[count:], *(predicate for predicate, _ in node.guard)}
            done = [name for o, name in self._spent(node) if o not in still_needed and o.node.guard == node.guard]
            writer.write_loop(node, used, done, here)
            self._let_go(node, done)
            return
        if node.type == "_Choose":
            predicate, if_false, if_true = (writer.value(output) for output in node.inputs)
            targets = writer.targets(node, used)
            writer.write_line(node, f"{here}{targets[0]} = {if_true} if {predicate} else {if_false}")
        elif node.type == "_Alive":
            *predicates, value = (writer.value(output) for output in node.inputs)
            tests = [text if side else f"not {text}" for text, side in zip(predicates, node.attrs["sides"])]
            dead = writer.as_global(_raise_dead)
            targets = writer.targets(node, used)
            writer.write_line(node, f"{here}{targets[0]} = {value} if {' and '.join(tests)} else {dead}()")
        else:
            targets = writer.write_call(node, writer.calls[node], used, here)
        self._let_go(node, targets)

    def _is_used(self, output: Output) -> bool:
        return output in self._last_use or output in self._outputs

    def _spent(self, node: Node) -> Iterable[tuple[Output, str]]:
        """Yields the values that a node uses last, with their names."""
        for output in dict.fromkeys((*node.inputs, *(predicate for predicate, _ in node.guard))):
            name = self._writer.names.get(output)
            if name is None or name in self._held or self._last_use.get(output) is not node:
                continue
            if output in self._local and output not in self._outputs:
                yield output, name

    def _let_go(self, node: Node, done: Sequence[str]) -> None:
        """Deletes the values that a node uses last, unless they are deleted already."""
        lines = self._writer.lines
        dead: dict[str, None] = {}
        for output, name in self._spent(node):
            level = _shared(output.node.guard, node.guard)
            if name in done:
                continue
            if output.node.guard == node.guard:
                dead[name] = None
            elif level == self._guard:
                lines.append(f"{self._here()}{name} = None")  # may be unbound
            else:
                self._later.append((level, name))
        if "_" in done and any(name != "_" for name in done):
            dead["_"] = None  # an unused output
        if dead:
            lines.append(f"{self._here()}del {', '.join(dead)}")


def _changes_state(node: Node) -> bool:
    """Returns whether a node changes state, which a step must not do once its caller has been told that it failed."""
    facts = node.facts
    return facts.stateful and not facts.random and (facts.writes or not facts.reads)


def _shared(first: Guard, second: Guard) -> Guard:
    """Returns the common prefix of two guards."""
    length = 0
    while length < min(len(first), len(second)) and first[length] == second[length]:
        length += 1
    return first[:length]


def _raise_dead() -> NoReturn:
    raise errors.invalid(UNTAKEN_BRANCH)


def grouped(nodes: Sequence[Node]) -> list[Node]:
    """Returns the nodes in a topological order that keeps those under one guard together."""
    # Each change of the guard closes and opens `if` blocks, and tests the predicate again. So of all topological orders
    # this is the one of a list scheduler that stays at the current guard as long as any node under it is ready, and
    # goes on with the oldest ready node otherwise. Ties follow the given order, in which reads precede later writes.
    position = {node: i for i, node in enumerate(nodes)}
    home = {node: node for node in nodes}
    home.update((member, node) for node in nodes if node.type == "_Cluster" for member in node.attrs["members"])
    # What depends on a member of a cluster depends on the cluster, which is one line.
    before = {node: {home[p] for p in node.predecessors() if p in home} - {node} for node in nodes}
    waiting = {node: len(earlier) for node, earlier in before.items()}
    followers: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node in nodes:
        for producer in before[node]:
            followers[producer].append(node)
    ready: dict[Guard, list[int]] = {}
    for node in nodes:
        if not waiting[node]:
            heapq.heappush(ready.setdefault(node.guard, []), position[node])
    result: list[Node] = []
    current: Guard = ()
    while ready:
        if current not in ready:
            current = min(ready, key=lambda guard: ready[guard][0])
        node = nodes[heapq.heappop(ready[current])]
        if not ready[current]:
            del ready[current]
        result.append(node)
        for follower in followers[node]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready.setdefault(follower.guard, []), position[follower])
    return result


def _name_of(value: object) -> str:
    """Returns a name for a function; a method of a resource also has the resource's name, as in `read_w1`."""
    name = getattr(value, "__name__", "")
    owner = getattr(getattr(value, "__self__", None), "name", "")
    return f"{name}_{owner}" if isinstance(owner, str) and owner else name


def _is_literal(value: object) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    if isinstance(value, list | tuple):
        return type(value) in (list, tuple) and all(_is_literal(item) for item in value)
    return value is None or type(value) in (bool, int)
