"""Transforms of attributes and devices, node by node."""

from __future__ import annotations

from thalweg._src.base.formats.message_types import GraphDef, NodeDef
from thalweg._src.deploy.transform.nodes import edited
from thalweg._src.deploy.transform.registry import Context, transform
from thalweg._src.graph.graphdef import write_attr
from thalweg._src.graph.op_def import OPS


@transform("remove_device")
def remove_device(graph_def: GraphDef, context: Context) -> GraphDef:
    """Removes the devices of all nodes."""
    return edited(graph_def, lambda node: node.ClearField("device"))


@transform("set_device", "device", "if_default")
def set_device(graph_def: GraphDef, context: Context) -> GraphDef:
    """Sets the device of all nodes, or of those without one."""
    device, only_default = context.one("device", ""), context.flag("if_default", False)

    def edit(node: NodeDef) -> None:
        if not (only_default and node.device):
            node.device = device

    return edited(graph_def, edit)


@transform("remove_attribute", "attribute_name", "op_name")
def remove_attribute(graph_def: GraphDef, context: Context) -> GraphDef:
    """Removes an attribute of all nodes, or of those of one type."""
    name, op = context.one("attribute_name"), context.one("op_name", "*")

    def edit(node: NodeDef) -> None:
        if op in ("*", node.op):
            node.attr.pop(name, None)

    return edited(graph_def, edit)


@transform("rename_attribute", "old_attribute_name", "new_attribute_name", "op_name")
def rename_attribute(graph_def: GraphDef, context: Context) -> GraphDef:
    """Changes the name of an attribute of all nodes, or of those of one type."""
    old, new, op = context.one("old_attribute_name"), context.one("new_attribute_name"), context.one("op_name", "*")

    def edit(node: NodeDef) -> None:
        if op in ("*", node.op) and old in node.attr:
            node.attr[new].CopyFrom(node.attr.pop(old))

    return edited(graph_def, edit)


@transform("add_default_attributes")
def add_default_attributes(graph_def: GraphDef, context: Context) -> GraphDef:
    """Writes attributes out that nodes leave to their defaults."""

    def edit(node: NodeDef) -> None:
        if node.op in OPS:
            definition = OPS.lookup(node.op)
            for key, value in definition.defaults.items():
                if key not in node.attr:
                    write_attr(node.attr[key], value, definition.attrs[key].kind)

    return edited(graph_def, edit)
