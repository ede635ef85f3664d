"""The text interface of the debugger: commands are read from standard input, answers go to standard output."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from thalweg._src.tools.debug.dump import DEBUG_OP, DebugDumpDir, Filter

_HELP = """\
run | r [-t N] [-f FILTER] [-n]  go on: run the step; N steps; until a tensor passes a filter; without the debugger
run_info | ri                    fetches and feeds of this run
lt [-f FILTER] [-n NAME] [-t OP] list dumped tensors, by a filter or by patterns of node names and op types
pt TENSOR[SLICES] [-a]           print a dumped tensor, or a part of it; -a prints all elements
ni NODE                          node: op type, device, inputs, consumers, tensors
li NODE                          inputs of a node, recursively
lo NODE                          consumers of a node
lf                               list filters
h | help                         this text
q | exit                         end the program
"""
_SLICES = re.compile(r"^([^\[]+)(\[.*\])?$")
_INDEX = re.compile(r"^\[[\d\s,:.-]*\]$")
_DEPTH = 20  # of the inputs that `li` lists


class _Refused(Exception):
    """A command that cannot be carried out, with the reason."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Refused(message)


def _parser(name: str, *positional: str, **options: Any) -> _Parser:
    parser = _Parser(prog=name, add_help=False)
    for argument in positional:
        parser.add_argument(argument)
    for option, settings in options.items():
        parser.add_argument(f"-{option}", **settings)
    return parser


_RUN = _parser("run", t={"type": int, "default": 1}, f={"default": None}, n={"action": "store_true"})
_LIST = _parser("lt", f={"default": None}, n={"default": None}, t={"default": None})
_PRINT = _parser("pt", "tensor", a={"action": "store_true"})
_NODE = _parser("ni", "node")


@dataclass(frozen=True, slots=True)
class Resume:
    """How to go on: over how many runs without a prompt, until which filter passes, or without the debugger."""

    times: int = 1
    until: str | None = None
    without_debugger: bool = False


def prompt(title: str, info: str, filters: Mapping[str, Filter], dump: DebugDumpDir | None = None) -> Resume:
    """Carries out commands until one says how to go on; the end of the input goes on without the debugger."""
    console = _Console(info, filters, dump)
    print(f"--- {title} ---")
    while True:
        print("tfdbg> ", end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            print("\nend of input: going on without the debugger")
            return Resume(sys.maxsize, without_debugger=True)
        try:
            words = shlex.split(line)
            resume = console.run(words) if words else None
        except (_Refused, ValueError, LookupError) as error:
            print(f"error: {error}")
            continue
        if resume is not None:
            return resume


class _Console:
    def __init__(self, info: str, filters: Mapping[str, Filter], dump: DebugDumpDir | None) -> None:
        self._info = info
        self._filters = filters
        self._dump = dump
        self._commands: dict[str, Callable[[list[str]], Resume | None]] = {
            **dict.fromkeys(("run", "r"), self._run),
            **dict.fromkeys(("run_info", "ri"), self._run_info),
            **dict.fromkeys(("lt", "list_tensors"), self._list),
            **dict.fromkeys(("pt", "print_tensor"), self._print),
            **dict.fromkeys(("ni", "node_info"), self._node),
            **dict.fromkeys(("li", "list_inputs"), self._inputs),
            **dict.fromkeys(("lo", "list_outputs"), self._outputs),
            "lf": self._list_filters,
            **dict.fromkeys(("h", "help"), self._help),
            **dict.fromkeys(("q", "quit", "exit"), self._exit),
        }

    def run(self, words: list[str]) -> Resume | None:
        command = self._commands.get(words[0])
        if command is None:
            raise _Refused(f"unknown command {words[0]!r}; `help` lists the commands")
        return command(words[1:])

    def _run(self, words: list[str]) -> Resume:
        options = _RUN.parse_args(words)
        if options.t < 1:
            raise _Refused(f"-t is {options.t}, expected at least 1")
        if options.f is not None:
            self._filter(options.f)
        return Resume(options.t, options.f, options.n)

    def _filter(self, name: str) -> Filter:
        if name not in self._filters:
            raise _Refused(f"there is no filter {name!r}; known: {', '.join(sorted(self._filters))}")
        return self._filters[name]

    def _dumped(self) -> DebugDumpDir:
        if self._dump is None:
            raise _Refused("no tensors yet: `run` runs the step")
        return self._dump

    def _run_info(self, words: list[str]) -> None:
        print(self._info)

    def _list(self, words: list[str]) -> None:
        options, dump = _LIST.parse_args(words), self._dumped()
        chosen = dump.dumped_tensor_data if options.f is None else dump.find(self._filter(options.f))
        shown = [
            (datum, dump.node_op_type(datum.node_name))
            for datum in chosen
            if options.n is None or re.match(options.n, datum.node_name)
        ]
        shown = [(datum, kind) for datum, kind in shown if options.t is None or re.match(options.t, kind)]
        print(f"{len(shown)} tensors")
        for datum, kind in shown:
            value = np.asarray(datum.get_tensor())
            print(f"{datum.tensor_name}  {kind}  {value.dtype}{list(value.shape)}  {datum.dump_size_bytes} bytes")

    def _print(self, words: list[str]) -> None:
        options, dump = _PRINT.parse_args(words), self._dumped()
        match = _SLICES.match(options.tensor)
        if match is None:
            raise _Refused(f"{options.tensor!r} is not the name of a tensor")
        node, _, slot = match[1].partition(":")
        values = dump.get_tensors(node, int(slot or 0), DEBUG_OP)
        value = _indexed(values[-1], match[2])
        print(f"{node}:{slot or 0}{match[2] or ''}  {np.asarray(value).dtype}{list(np.shape(value))}")
        print(np.array2string(np.asarray(value), threshold=sys.maxsize if options.a else 1000))

    def _node(self, words: list[str]) -> None:
        node, dump = _NODE.parse_args(words).node, self._dumped()
        operation = dump._operation(node)
        print(f"{node}  {operation.type}  device {operation.device or 'any'}")
        for what, names in (
            ("inputs", dump.node_inputs(node)),
            ("control inputs", dump.node_inputs(node, is_control=True)),
            ("consumers", dump.node_recipients(node)),
            ("waiting nodes", dump.node_recipients(node, is_control=True)),
            ("dumped tensors", dump.watch_keys(node)),
        ):
            print(f"  {len(names)} {what}{': ' if names else ''}{', '.join(names)}")

    def _inputs(self, words: list[str]) -> None:
        node, dump = _NODE.parse_args(words).node, self._dumped()

        def show(name: str, depth: int) -> None:
            print(f"{'  ' * depth}{name}  {dump.node_op_type(name.partition(':')[0])}")
            if depth < _DEPTH and name not in seen:
                seen.add(name)
                for source in dump.node_inputs(name.partition(":")[0]):
                    show(source, depth + 1)

        seen: set[str] = set()
        show(node, 0)

    def _outputs(self, words: list[str]) -> None:
        node, dump = _NODE.parse_args(words).node, self._dumped()
        for name in dump.node_recipients(node):
            print(f"{name}  {dump.node_op_type(name)}")

    def _list_filters(self, words: list[str]) -> None:
        print("\n".join(sorted(self._filters)))

    def _help(self, words: list[str]) -> None:
        print(_HELP, end="")

    def _exit(self, words: list[str]) -> NoReturn:
        raise SystemExit(1)


def _indexed(value: object, slices: str | None) -> Any:
    """Returns the part of an array that an index such as `[0, 1:3]` chooses."""
    if slices is None:
        return value
    if not _INDEX.match(slices):
        raise _Refused(f"{slices!r} is not an index of numbers and slices")
    keys: list[Any] = []
    for text in slices[1:-1].split(","):
        text = text.strip()
        if text == "...":
            keys.append(Ellipsis)
        elif ":" in text:
            keys.append(slice(*(int(bound) if bound.strip() else None for bound in text.split(":"))))
        else:
            keys.append(int(text))
    return np.asarray(value)[tuple(keys)]
