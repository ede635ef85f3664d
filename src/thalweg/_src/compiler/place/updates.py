"""Grouped optimizer updates: split into one update per variable for placement, and merged again per device.

As one node, the update would force all variables of an optimizer onto one device.
"""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph

_DIVISIBLE = ("_ApplyAdamGroup", "_ApplyGradientDescentGroup", "_ApplyMomentumGroup")

Shares = dict[Node, list[Node]]


def split_updates(step: StepGraph) -> Shares:
    """Replaces each grouped update by one update per variable; returns these by the update they come from."""
    shares = {
        node: [_share(node, [member]) for member in range(node.attrs["N"])]
        for node in step.nodes
        if node.type in _DIVISIBLE and node.attrs["N"] > 1
    }
    if shares:
        _replace(step, shares)
    return shares


def merge_updates(step: StepGraph, shares_of: Shares, devices: dict[Node, str]) -> None:
    """Merges the updates that are placed on the same device."""
    # Shares on one device become one update again, since a grouped kernel is one launch for all variables. If all of
    # them are on one device, that is the original node.
    joined: dict[Node, list[Node]] = {}
    for update, singles in shares_of.items():
        members: dict[str, list[int]] = {}
        for member, single in enumerate(singles):
            members.setdefault(devices.pop(single), []).append(member)
        for device, chosen in members.items():
            share = _share(update, chosen) if len(members) > 1 else update
            devices[share] = device
            for member in chosen:
                joined[singles[member]] = [share]
    if joined:
        _replace(step, joined)


def _share(update: Node, members: Sequence[int]) -> Node:
    """Returns an update of some of the variables of another one."""
    whole, inputs, position = update.attrs["N"], list[Output](), 0
    for argument in update.definition.inputs:
        width = whole if argument.number_attr else 1
        inputs += [update.inputs[position + m] for m in members] if argument.number_attr else [update.inputs[position]]
        position += width
    attrs = {key: value for key, value in update.attrs.items() if key != "_class"} | {"N": len(members)}
    name = f"{update.name}/{members[0]}" if len(members) == 1 else f"{update.name}/{members[0]}_and_{len(members) - 1}"
    return update.like(update.type, inputs, attrs, name=name)


def _replace(step: StepGraph, shares_of: Shares) -> None:
    def each(nodes: list[Node]) -> list[Node]:
        return list(dict.fromkeys(share for node in nodes for share in shares_of.get(node, [node])))

    for node in step.nodes:
        if node.controls:
            node.controls = each(node.controls)
    step.targets = each(step.targets)
    for shares in shares_of.values():
        for node in shares:
            node.controls = each(node.controls)
    step.prune_and_sort()
