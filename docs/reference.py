"""API reference: one Markdown page per public namespace, rendered from the running package."""

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from thalweg._src.graph.op_def import OpDef
from thalweg._src.tools.cli.names import Name, PublicNames, public_names

# Import paths of TensorFlow's source tree, and operations by their registered names: both repeat what other pages say.
REPEATED = ("core", "python", "raw_ops")
INDEX = """# API reference

The public names of `import thalweg as tf`, by namespace. Names, parameters and meanings are those of TensorFlow 1.15;
[coverage](../coverage.md) lists the ones that are missing. A name with several aliases is described once.

| namespace | |
|---|---|
"""


def pages() -> dict[str, str]:
    """Returns the text of every page of the reference by its path, the index first."""
    namespaces = dict(_namespaces(PublicNames()))
    names = [
        (len(path), getattr(value, "__name__", name) != name, path, name, id(value))
        for path, values in namespaces.items()
        for name, value in values.items()
    ]
    described: dict[int, str] = {}  # each object has one entry, under the shortest path and its own name if possible
    for _, _, path, name, key in sorted(names):
        described.setdefault(key, _dotted((*path, name)))
    result = {"reference/index.md": INDEX}
    for path, values in sorted(namespaces.items()):
        result[_uri(path)] = _page(path, values, described)
        result["reference/index.md"] += f"| [{_dotted(path)}]({_dotted(path)}.md) | {len(values)} names |\n"
    return result


def _namespaces(known: PublicNames) -> Iterator[tuple[Name, dict[str, Any]]]:
    """Yields each namespace of the package itself, with the names in it that are no namespaces."""
    for path in [(), *known.namespaces()]:
        space = known.find(path)
        if path[:1] in [(name,) for name in REPEATED] or not space.__name__.startswith("thalweg"):
            continue
        listed = getattr(space, "__all__", ())
        values = {name: known.find((*path, name)) for name in public_names(space) if known.has((*path, name))}
        own = {
            name: value
            for name, value in values.items()
            if not isinstance(value, ModuleType) and (name in listed or _is_own(value))
        }
        if own:
            yield path, own


def _is_own(value: Any) -> bool:
    module = getattr(value, "__module__", None)
    return type(value).__module__ != "__future__" and (module is None or str(module).startswith("thalweg"))


def _dotted(path: Name) -> str:
    return ".".join(("tf", *path))


def _uri(path: Name) -> str:
    return f"reference/{_dotted(path)}.md"


def _page(path: Name, values: dict[str, Any], described: dict[int, str]) -> str:
    """Returns the page of a namespace: constants, then classes and functions, then aliases."""
    constants, entries, aliases = [], [], []
    for name, value in sorted(values.items(), key=lambda item: item[0].lower()):
        full = _dotted((*path, name))
        if not callable(value):
            constants.append(f"| `{full}` | `{_plain(repr(value))}` |")
        elif (first := described[id(value)]) != full:
            page = first.rpartition(".")[0]
            aliases.append(f"| `{full}` | [{first}]({page}.md#{_anchor(first)}) |")
        else:
            entries.append(f"## {full} {{ #{_anchor(full)} data-toc-label='{name}' }}\n\n{_entry(full, value)}")
    text = f"# {_dotted(path)}\n\n" + "\n\n".join(entries)
    for title, rows in (("Constants", constants), ("Aliases", aliases)):
        if rows:
            text += f"\n\n## {title}\n\n| name | |\n|---|---|\n" + "\n".join(rows)
    return text + "\n"


def _anchor(name: str) -> str:
    return name.replace(".", "-")


def _entry(full: str, value: Any) -> str:
    parts = [f"```python\n{_call(full, value)}\n```", _markdown(inspect.getdoc(_described(value)) or "")]
    if isinstance(value, type):
        parts += [
            f"#### {member} {{ #{_anchor(full)}-{member} }}\n\n```python\n{_call(member, function)}\n```\n\n"
            f"{_markdown(inspect.getdoc(function) or '')}"
            for member, function in _methods(value)
        ]
    return "\n\n".join(part for part in parts if part)


def _described(value: Any) -> Any:
    """Returns the object whose docstring describes a value."""
    op = getattr(value, "__self__", None)
    return op if isinstance(op, OpDef) else getattr(value, "func", value)


def _methods(owner: type) -> Iterator[tuple[str, Any]]:
    """Yields the public methods that a class defines itself; those of its bases are described there."""
    for name, member in sorted(vars(owner).items()):
        function = inspect.unwrap(getattr(member, "__func__", member))
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


def _call(name: str, value: Any) -> str:
    """Returns how something is called: names and defaults of parameters, one per line where they are many."""
    op = getattr(value, "__self__", value)  # of a bound method such as `OpDef.many`
    if isinstance(op, OpDef):
        inputs = [argument.name for argument in op.inputs]
        attrs = [f"{key}={op.defaults[key]!r}" if key in op.defaults else key for key in op.explicit]
        parameters = [*inputs, *sorted(attrs, key=lambda attr: "=" in attr), "name=None"]
    else:
        try:
            signature = inspect.signature(value)
        except (TypeError, ValueError):
            return f"{name}(...)"
        parameters = [
            str(parameter.replace(annotation=inspect.Parameter.empty))
            for parameter in signature.parameters.values()
            if parameter.name not in ("self", "cls")
        ]
    text = _plain(f"{name}({', '.join(parameters)})")
    return text if len(text) <= 72 else _plain(f"{name}(\n    " + ",\n    ".join(parameters) + ",\n)")


def _plain(text: str) -> str:
    """Returns a representation in which functions, classes and objects stand by their names, without addresses."""
    text = text.replace("<locals>.", "").replace("<lambda>", "lambda")
    text = re.sub(r"<op (\w+)\(.*?\) -> \(.*?\)>", r"\1", text)
    shown = r"<(?:function |class )?'?([\w.]+)'?(?: object)?(?: at 0x\w+|: [^<>]*)?>"
    return re.sub(shown, lambda found: found[1].rpartition(".")[2], text)


def _markdown(doc: str) -> str:
    """Returns a docstring as Markdown: sections such as `Args:` become lists, indented text stays code."""
    blocks = []
    for block in re.split(r"\n\s*\n", doc):
        title, _, rest = block.partition("\n")
        if re.fullmatch(r"(Args|Arguments|Returns|Raises|Yields):", title) and rest:
            items = re.findall(r"^(\S.*(?:\n[ ]+.*)*)", inspect.cleandoc(rest), re.MULTILINE)
            blocks.append(f"**{title[:-1]}**\n\n" + "\n".join(f"- {_item(' '.join(item.split()))}" for item in items))
        else:
            blocks.append(block if block.startswith("    ") else _escape(block))
    return "\n\n".join(blocks)


def _item(text: str) -> str:
    found = re.match(r"(\**\w+): (.*)", text)
    return f"`{found[1]}`: {_escape(found[2])}" if found else _escape(text)


def _escape(text: str) -> str:
    """Escapes what Markdown would read as markup, outside of backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<\[\]#|])", r"\\\1", part) for part in parts)
