"""Codegen: a segment as one straight Python function, a line a node, each value dropped at its last use."""

from __future__ import annotations

import itertools
import keyword
import math
import re
from collections.abc import Callable
from typing import Any

from thalweg.execute.segment import Segment
from thalweg.graph.step_graph import Node, Output
from thalweg.kernels.registry import STEP, Call, Input, inputs_of
from thalweg.shapes import show

_CHECK_EVERY = 32  # nodes between two looks at the step's cancellation
_serial = itertools.count()


class Code:
    """The text of one segment's function and the way back from its lines to the nodes."""

    __slots__ = ("filename", "function", "names", "nodes", "text")

    def __init__(
        self, text: str, function: Callable[..., Any], nodes: dict[int, Node], names: dict[Output, str]
    ) -> None:
        self.text = text
        self.function = function
        self.nodes = nodes
        self.names = names
        self.filename = function.__code__.co_filename


def generate(segment: Segment, calls: dict[Node, Call], constants: dict[Output, Any]) -> Code:
    """Writes, compiles and returns the function of a segment.

    calls: the bound kernel of each node. constants: values known before the step, which become global names.
    """
    writer = _Writer(segment, calls, constants)
    text = writer.write()
    filename = f"thalweg step {next(_serial)}"  # linecache asks no loader for a name in angle brackets
    namespace = writer.globals
    namespace.update(__name__=filename, __loader__=_Source(text))
    exec(compile(text, filename, "exec"), namespace)
    return Code(text, namespace[writer.function_name], writer.node_of_line, writer.names)


class _Source:
    """Gives tracebacks and debuggers the text of a generated function, as long as the function lives."""

    def __init__(self, text: str) -> None:
        self._text = text

    def get_source(self, name: str) -> str:
        return self._text


class _Writer:
    def __init__(self, segment: Segment, calls: dict[Node, Call], constants: dict[Output, Any]) -> None:
        self.segment = segment
        self.calls = calls
        self.constants = constants
        self.function_name = f"segment_{segment.index}"
        self.globals: dict[str, Any] = {}
        self.names: dict[Output, str] = {}
        self.node_of_line: dict[int, Node] = {}
        self.lines: list[str] = []
        self._global_of: dict[int, str] = {}
        self._kept: list[Any] = []  # keeps ids in _global_of alive
        self._taken: dict[str, int] = {"step": 0, "_": 0, self.function_name: 0}
        self._outputs = set(segment.outputs)
        self._last_use = self._find_last_uses()

    def _find_last_uses(self) -> dict[Output, Node]:
        """Returns the last node to use each value; an input that the bound call leaves out is not used."""
        last: dict[Output, Node] = {}
        for node in self.segment.nodes:
            if node in self.calls:
                for index in inputs_of(self.calls[node]):
                    last[node.inputs[index]] = node
        for output in self.segment.outputs:
            last.pop(output, None)
        return last

    def write(self) -> str:
        segment = self.segment
        parameters = ["step"]
        for output in segment.inputs:
            parameters.append(self._name(output))
        self.lines.append(f"def {self.function_name}({', '.join(parameters)}):")
        for node in segment.nodes:
            call = self.calls.get(node)
            if call is not None:
                self._write_node(node, call)
        results = "".join(f"{self._value(output)}, " for output in segment.outputs)
        self.lines.append(f"    return ({results.rstrip()})" if results else "    return ()")
        return "\n".join(self.lines) + "\n"

    def _write_node(self, node: Node, call: Call) -> None:
        if len(self.node_of_line) % _CHECK_EVERY == _CHECK_EVERY - 1:
            self.lines.append("    if step.cancelled: step.stop()")
        expression = self._expression(node, call)
        used = [self._name((node, i)) if self._is_used((node, i)) else "_" for i in range(len(node.dtypes))]
        if len(used) > 1 and any(name != "_" for name in used):
            target = ", ".join(used) + " = "
        elif len(used) == 1 and used[0] != "_":
            target = used[0] + " = "
        else:
            target = ""
        comment = f"  # {node.name}"
        if len(node.shapes) == 1:
            comment += f" {node.dtypes[0].name}{show(node.shapes[0])}"
        self.lines.append(f"    {target}{expression}{comment}")
        self.node_of_line[len(self.lines)] = node
        dead = dict.fromkeys(
            self.names[output] for output in node.inputs if self._last_use.get(output) is node and output in self.names
        )
        if target and "_" in used:
            dead["_"] = None  # an output that nobody uses
        if dead:
            self.lines.append(f"    del {', '.join(dead)}")

    def _is_used(self, output: Output) -> bool:
        return output in self._last_use or output in self._outputs

    def _name(self, output: Output) -> str:
        if output not in self.names:
            node, index = output
            self.names[output] = self._fresh(node.name.rpartition("/")[2] + (f"_{index}" if index else ""))
        return self.names[output]

    def _fresh(self, wanted: str) -> str:
        """Returns an identifier that no local or global name of the function has yet."""
        base = (wanted if wanted.isidentifier() else re.sub(r"\W", "_", wanted)).lstrip("_")
        if not base.isidentifier() or keyword.iskeyword(base):
            base = f"v{base}"
        name = base
        while name in self._taken:
            self._taken[base] += 1
            name = f"{base}_{self._taken[base]}"
        self._taken[name] = 0
        return name

    def _value(self, output: Output) -> str:
        if output in self.constants:
            return self._global(self.constants[output], "constant")
        return self._name(output)

    def _expression(self, node: Node, call: Call) -> str:
        arguments = [self._argument(node, value) for value in call.args]
        arguments += [f"{key}={self._argument(node, value)}" for key, value in call.kwargs.items()]
        return f"{self._global(call.function)}({', '.join(arguments)})"

    def _argument(self, node: Node, value: Any) -> str:
        if isinstance(value, Input):
            output = node.inputs[value]
            return self.names.get(output) or self._value(output)
        if isinstance(value, Call):
            return self._expression(node, value)
        if value is STEP:
            return "step"
        if isinstance(value, list) and any(isinstance(item, Input | Call) for item in value):
            return f"[{', '.join(self._argument(node, item) for item in value)}]"
        return repr(value) if _is_literal(value) else self._global(value, "value")

    def _global(self, value: Any, base: str = "") -> str:
        key = id(value)
        if key not in self._global_of:
            name = self._fresh(_name_of(value) or base or type(value).__name__)
            self.globals[name] = value
            self._global_of[key] = name
            self._kept.append(value)
        return self._global_of[key]


def _name_of(value: Any) -> str:
    """Returns a name for a function: its own, and for a method of a resource the resource's too, as in `read_w1`."""
    name = getattr(value, "__name__", "")
    owner = getattr(getattr(value, "__self__", None), "name", "")
    return f"{name}_{owner}" if isinstance(owner, str) and owner else name


def _is_literal(value: Any) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    if isinstance(value, list | tuple):
        return type(value) in (list, tuple) and all(_is_literal(item) for item in value)
    return value is None or type(value) in (bool, int, str)
