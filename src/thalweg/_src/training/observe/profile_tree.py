"""Trees of a profile: operations by name scope, by data flow, by op type, or by line of the program."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from thalweg._src.graph.operation import Operation
from thalweg._src.training.observe.profile_options import Options

ROOT = "_TFProfRoot"
# The attributes of `select` that are counted, and the fields of the messages that hold them.
FIELDS = {
    "bytes": "requested_bytes",
    "peak_bytes": "peak_bytes",
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
    "micros": "exec_micros",
    "accelerator_micros": "accelerator_exec_micros",
    "cpu_micros": "cpu_exec_micros",
    "params": "parameters",
    "float_ops": "float_ops",
    "occurrence": "definition_count",
}
_UNITS = {"micros": "us", "accelerator_micros": "us", "cpu_micros": "us", "float_ops": " flops", "params": " params"}


@dataclass(slots=True)
class Measured:
    """An operation with its counts and what patterns of types are compared with."""

    operation: Operation
    counts: Counter[str]
    types: list[str]
    device: str


@dataclass(slots=True)
class Entry:
    """A node of the tree: its own counts, those of the whole subtree, and the operations that it stands for."""

    name: str
    members: list[Measured] = field(default_factory=list)
    children: dict[str, Entry] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    total: Counter[str] = field(default_factory=Counter)

    def child(self, name: str) -> Entry:
        return self.children.setdefault(name, Entry(name))


def by_scope(measured: Iterable[Measured]) -> Entry:
    """Returns the tree of name scopes."""
    root = Entry(ROOT)
    for stats in measured:
        entry, path = root, ""
        for component in stats.operation.name.split("/"):
            path = f"{path}/{component}" if path else component
            entry = entry.child(path)
        entry.members.append(stats)
    return root


def by_data_flow(measured: Iterable[Measured]) -> Entry:
    """Returns the tree in which the inputs of an operation are below it; an operation is below its first consumer."""
    by_operation = {stats.operation: stats for stats in measured}
    root = Entry(ROOT)
    seen: set[Operation] = set()
    ends = [operation for operation in by_operation if not any(tensor.consumers() for tensor in operation.outputs)]
    waiting = [(root, operation) for operation in reversed([*ends, *by_operation])]
    while waiting:
        above, operation = waiting.pop()
        if operation in seen or operation not in by_operation:
            continue
        seen.add(operation)
        entry = above.child(operation.name)
        entry.members.append(by_operation[operation])
        waiting += [(entry, tensor.op) for tensor in reversed(operation.inputs)]
    return root


def by_type(measured: Iterable[Measured]) -> Entry:
    """Returns the tree of op types, which has one level."""
    root = Entry(ROOT)
    for stats in measured:
        root.child(stats.operation.type).members.append(stats)
    return root


def by_line(measured: Iterable[Measured]) -> Entry:
    """Returns the tree of the calls that created operations."""
    root = Entry(ROOT)
    for stats in measured:
        entry = root
        for file, line, function, _ in stats.operation.traceback:
            entry = entry.child(f"{file}:{line}:{function}")
        entry.members.append(stats)
    return root


def account(entry: Entry, options: Options) -> None:
    """Sums the counts of the operations that the options account for, from the leaves to the root."""
    order = [entry]
    for node in order:
        order += node.children.values()
    for node in reversed(order):
        for member in node.members:
            if _matches(options["account_type_regexes"], member.types):
                node.counts += member.counts
        node.total = node.counts.copy()
        for child in node.children.values():
            node.total += child.total


def shown(root: Entry, options: Options) -> Entry:
    """Returns the part of a tree that the options show; what is hidden leaves its children to the entry above."""
    started = Entry(ROOT, counts=root.counts, total=root.total)
    entries = [entry for start in _starts(root, options) for entry in _shown(start, options, 1)]
    started.children = _ordered(entries, options)
    if options["account_displayed_op_only"]:
        _account_shown(started)
    return started


def _starts(entry: Entry, options: Options) -> Iterator[Entry]:
    for child in entry.children.values():
        if _matches(options["start_name_regexes"], [child.name]):
            yield child
        else:
            yield from _starts(child, options)


def _shown(entry: Entry, options: Options, depth: int) -> list[Entry]:
    if depth > options["max_depth"] or _matches(options["trim_name_regexes"], [entry.name]):
        return []
    is_shown = (
        _matches(options["show_name_regexes"], [entry.name])
        and not _matches(options["hide_name_regexes"], [entry.name])
        and all(entry.total[field] >= options.get(f"min_{name}", 0) for name, field in FIELDS.items())
    )
    below = [grandchild for child in entry.children.values() for grandchild in _shown(child, options, depth + is_shown)]
    if not is_shown:
        return below
    shown_entry = Entry(entry.name, entry.members, counts=entry.counts, total=entry.total)
    shown_entry.children = _ordered(below, options)
    return [shown_entry]


def _ordered(entries: list[Entry], options: Options) -> dict[str, Entry]:
    counted = FIELDS.get(options["order_by"], "")
    return {entry.name: entry for entry in sorted(entries, key=lambda entry: (-entry.total[counted], entry.name))}


def _account_shown(entry: Entry) -> None:
    entry.total = entry.counts.copy() if entry.name != ROOT else Counter()
    for child in entry.children.values():
        _account_shown(child)
        entry.total += child.total


def _matches(patterns: Iterable[str], texts: Iterable[str]) -> bool:
    texts = list(texts)
    return any(re.fullmatch(pattern, text) for pattern in patterns for text in texts)


def as_text(root: Entry, options: Options, title: str) -> str:
    """Returns a tree as indented lines: each entry with its own and its total of each selected attribute."""
    selected = [name for name in options["select"] if name in FIELDS]
    lines = [f"Profile of {title}", f"name ({', '.join(f'{name}: own/total' for name in selected)})"]

    def add(entry: Entry, indent: int) -> None:
        counts = ", ".join(
            f"{entry.counts[FIELDS[name]]:,}/{entry.total[FIELDS[name]]:,}{_UNITS.get(name, '')}" for name in selected
        )
        devices = sorted({member.device for member in entry.members if member.device})
        more = [", ".join(devices)] if "device" in options["select"] and devices else []
        lines.append(f"{'  ' * indent}{entry.name} ({'; '.join([counts, *more])})")
        for child in entry.children.values():
            add(child, indent + 1)

    add(root, 0)
    return "\n".join(lines) + "\n"
