"""Name scopes in names, and the op types of a GraphDef."""

from __future__ import annotations

import re
from typing import Any

from thalweg._src.base.errors import require_members, require_text
from thalweg._src.base.export import export
from thalweg._src.graph.walk import reachable

_COLOCATED = "loc:@"


@export("contrib.framework.prepend_name_scope")
def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Returns a name inside a scope, also that of a control input or of a colocation group.

    Args:
        name: The name.
        import_scope: The scope; None changes nothing.
    """
    if not import_scope:
        return name
    require_text("import_scope", import_scope)
    scope = import_scope.rstrip("/")
    return re.sub(rf"^(\^|{_COLOCATED})?", lambda prefix: f"{prefix[0]}{scope}/", name, count=1)


@export("contrib.framework.strip_name_scope")
def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Returns a name without the scope that it starts with, also that of a control input or of a colocation group.

    Args:
        name: The name.
        export_scope: The scope; None changes nothing.
    """
    if not export_scope:
        return name
    require_text("export_scope", export_scope)
    scope = re.escape(export_scope.rstrip("/"))
    return re.sub(rf"^(\^|{_COLOCATED}|){scope}/", r"\1", name, count=1)


@export("contrib.util.ops_used_by_graph_def")
def ops_used_by_graph_def(graph_def: Any) -> set[str]:
    """Returns the op types in a GraphDef, those of the functions that it calls included.

    Args:
        graph_def: The GraphDef.
    """
    require_members("graph_def", graph_def, "a GraphDef message", "library", "node")
    functions = {function.signature.name: function for function in graph_def.library.function}
    used = reachable(
        (node.op for node in graph_def.node),
        lambda op: (node.op for node in functions[op].node_def) if op in functions else (),
    )
    return used - functions.keys()
