"""Writes the public modules below src/thalweg from the names that the implementation exports: `make api`."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

from namespaces import DESCRIPTIONS

ROOT = Path(__file__).parent.parent / "src" / "thalweg"
if __name__ == "__main__":  # the modules to be written may be missing or broken: they are not imported
    sys.modules["thalweg"] = ModuleType("thalweg")
    sys.modules["thalweg"].__path__ = [str(ROOT)]

import thalweg._src
from thalweg._src.base.documentation import document_parameters
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import EXPORTS, Export
from thalweg._src.compat.source_path_tables import CONTRIB
from thalweg._src.graph.attr import REQUIRED, AttrDef
from thalweg._src.graph.op_def import ArgDef, OpDef

WIDTH = 120
OPS = "thalweg._src.compat.gen_ops"
NOTE = "# Written by `make api` from the names that thalweg/_src exports; edits are lost."
ALIASES = {"app.flags": "flags", "contrib.slim.layers": "contrib.layers"}
RAW_OPS = "from thalweg._src.compat.raw_ops import __dir__ as __dir__, __getattr__ as __getattr__\n"
SOURCE_PATHS = "from thalweg._src.compat.source_paths import register as _register\n\n_register(__name__)\n"
MAIN = f'''"""The command `python -m thalweg`."""

{NOTE}

from thalweg._src.tools.cli.main import module_main

if __name__ == "__main__":
    module_main()
'''
# The module that gives sessions their way to servers; nothing else imports it.
INSTALLER = "import thalweg._src.cluster.distributed.client as _client"
CONTRIB_PATHS = "from thalweg._src.compat.source_paths import attach as _attach\n\n_attach(__name__)\n"
V1 = {  # late TensorFlow 1 programs import the package under this name; type checkers read the stub
    "compat/v1/__init__.py": f'''"""tf.compat.v1: This package under its name in TensorFlow 2."""

{NOTE}

from thalweg._src.compat.version_1 import __dir__ as __dir__, __getattr__ as __getattr__, install as _install

_install()
''',
    "compat/v1/__init__.pyi": f"""{NOTE}

from typing import Any

from thalweg import *

def __getattr__(name: str) -> Any: ...
""",
}
DYNAMIC = {"raw_ops": RAW_OPS, "python": SOURCE_PATHS, "core": SOURCE_PATHS}  # names that are made on access

Tree = dict[str, dict[str, tuple[str, str, bool]]]  # namespace: public name: module, attribute, whether it is lazy


def load() -> None:
    """Imports the whole implementation, which declares its public names."""
    for module in walk_packages(thalweg._src.__path__, "thalweg._src."):
        if module.name not in (OPS, "thalweg._src.runtime.compile.inductor"):
            import_module(module.name)


def namespaces() -> Tree:
    """Returns every namespace with its names; nested ones make those around them."""
    tree: Tree = defaultdict(dict)
    for entry in EXPORTS:
        module, attribute = _source(entry)
        for name in entry.names:
            space, _, last = name.rpartition(".")
            if last in tree[space]:
                raise ValueError(f"{name} is exported by {tree[space][last][0]} and by {module}")
            tree[space][last] = (module, attribute, entry.lazy)
    for space in [*tree, *ALIASES, *DYNAMIC]:
        while space:
            tree.setdefault(space, {})
            space = space.rpartition(".")[0]
    return dict(tree)


def _source(entry: Export) -> tuple[str, str]:
    if isinstance(entry.value, OpDef):
        return OPS, entry.attribute_name()
    return entry.module, entry.attribute_name()


def modules() -> dict[str, str]:
    """Returns every file to write, by its path below the package."""
    tree = namespaces()
    inside: dict[str, list[str]] = defaultdict(list)
    for space in sorted(tree):
        if space:
            parent, _, last = space.rpartition(".")
            inside[parent].append(last)
    inside["compat"] = sorted({*inside["compat"], "v1"})
    files = {"_src/compat/gen_ops.py": _gen_ops(), "__main__.py": MAIN, **V1}
    for space, names in tree.items():
        files[_path(space, bool(inside[space]))] = _module(space, names, inside[space])
    return files


def _path(space: str, is_package: bool) -> str:
    path = space.replace(".", "/")
    return f"{path}/__init__.py".lstrip("/") if is_package or not space else f"{path}.py"


def _module(space: str, names: dict[str, tuple[str, str, bool]], inside: list[str]) -> str:
    full = f"thalweg.{space}".rstrip(".")
    title = f"tf.{space}: " if space else ""
    lines = [f'"""{title}{DESCRIPTIONS[space]}"""', "", NOTE, ""]
    if space in DYNAMIC:
        return "\n".join([*lines, DYNAMIC[space]])
    if space in ALIASES:
        return "\n".join([*lines, f"from thalweg.{ALIASES[space]} import *", ""])
    lazy = {name: module for name, (module, _, is_lazy) in names.items() if is_lazy}
    if inside or lazy:
        lines += ["from typing import TYPE_CHECKING as _TYPE_CHECKING", ""]
    by_module: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, (module, attribute, is_lazy) in names.items():
        if not is_lazy:
            by_module[module].append((attribute, name))
    lines += [line for module, pairs in sorted(by_module.items()) for line in _import(module, sorted(pairs))]
    if not space:
        lines.append(INSTALLER)
    if inside or lazy:
        lines += ["from thalweg._src.base.lazy_names import lazy_names as _lazy_names", "", "if _TYPE_CHECKING:"]
        lines += [f"    from {full} import {name} as {name}" for name in inside]
        lines += [f"    from {module} import {name} as {name}" for name, module in sorted(lazy.items())]
        lines += ["", "__getattr__, __dir__ = _lazy_names(", "    __name__,"]
        lines += _wrapped("    [", [f'"{name}"' for name in inside], "],")
        lines += [*_wrapped("    {", [f'"{name}": "{module}"' for name, module in sorted(lazy.items())], "},"), ")"]
    public = sorted({*(name for name in names if not name.startswith("__")), *inside})
    lines += ["", *_wrapped("__all__ = [", [f'"{name}"' for name in public], "]"), ""]
    if space == "contrib":
        lines.append(SOURCE_PATHS)
    elif any(f"contrib.{path}".startswith(f"{space}.python.") for path in CONTRIB):
        lines.append(CONTRIB_PATHS)
    return "\n".join(lines)


def _import(module: str, pairs: list[tuple[str, str]]) -> Iterator[str]:
    if len(pairs) == 1:
        yield f"from {module} import {pairs[0][0]} as {pairs[0][1]}"
        return
    yield f"from {module} import ("
    yield from (f"    {attribute} as {name}," for attribute, name in pairs)
    yield ")"


def _wrapped(start: str, entries: list[str], end: str) -> list[str]:
    """Returns a list or dict in one line, or else in as few lines of 120 characters as hold its entries."""
    line = f"{start}{', '.join(entries)}{end}"
    if len(line) <= WIDTH:
        return [line]
    indent = " " * (len(start) - len(start.lstrip()))
    lines = [f"{indent}   "]
    for entry in entries:
        if len(lines[-1]) + len(entry) + 2 > WIDTH:
            lines.append(f"{indent}   ")
        lines[-1] += f" {entry},"
    return [start, *lines, f"{indent}{end}"]


# -- functions of single ops ------------------------------------------------------------------------------------------


def _gen_ops() -> str:
    """Returns the functions of public names that are single ops, with the parameters of their schemas."""
    entries = {
        entry.attribute_name(): entry
        for entry in sorted(EXPORTS, key=lambda entry: entry.names)
        if isinstance(entry.value, OpDef)
    }
    lines = ['"""Functions that add one op each to the graph, with the parameters of its schema."""', "", NOTE, ""]
    lines += [
        "from __future__ import annotations",
        "",
        "from collections.abc import Sequence",
        "from typing import Any",
    ]
    lines += ["", "from thalweg._src.base import dtypes", "from thalweg._src.base.dtypes import DTypeLike"]
    by_module: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, entry in entries.items():
        by_module[entry.module].append((name, f"_{name}"))
    lines += [line for module, pairs in sorted(by_module.items()) for line in _import(module, sorted(pairs))]
    lines += ["from thalweg._src.graph.operation import Operation", "from thalweg._src.graph.tensor import Tensor"]
    lines += ["from thalweg._src.graph.types import TensorLike", "from thalweg._src.base.shapes import ShapeLike"]
    for name, entry in sorted(entries.items()):
        lines += ["", "", *_function(name, entry)]
    return "\n".join([*lines, ""])


def _function(name: str, entry: Export) -> list[str]:
    definition = entry.value
    parameters = [(arg.name, _input_type(arg), "") for arg in definition.inputs]
    defaulted = False
    for key in definition.explicit:
        attr = definition.attrs[key]
        default = "" if attr.default is REQUIRED else _default(attr)
        if not default and defaulted:
            default = "None"  # a parameter after one with a default must have one; the op itself asks for it
        defaulted = defaulted or bool(default)
        parameters.append((key, _attr_type(attr, default), default))
    inputs = [arg.name for arg in definition.inputs]
    passed = [*inputs, *(f"{key}={key}" for key in definition.explicit), "name=name"]
    method, result = _call(definition)
    shown = [f"{key}: {kind}" + (f" = {default}" if default else "") for key, kind, default in parameters]
    doc = [definition.doc, *_args([key for key, _, _ in parameters], entry)]
    return [
        f"def {name}({', '.join([*shown, 'name: str | None = None'])}) -> {result}:",
        *textwrap.indent('"""' + "\n".join(doc) + ('\n"""' if len(doc) > 1 else '"""'), "    ").splitlines(),
        f"    return _{name}{method}({', '.join(passed)})",
    ]


def _args(names: list[str], entry: Export) -> list[str]:
    block = document_parameters([*names, "name"], entry.module, entry.texts)
    return ["", *block.splitlines()] if block else []


def _call(definition: OpDef) -> tuple[str, str]:
    if definition.single_output:
        return "", "Tensor"
    return (".many", "Any") if definition.outputs else (".operation", "Operation")


def _input_type(arg: ArgDef) -> str:
    return "Sequence[TensorLike]" if arg.is_list else "TensorLike"


_TYPES = {"type": "DTypeLike", "int": "int", "float": "float", "bool": "bool", "string": "str", "shape": "ShapeLike"}


def _attr_type(attr: AttrDef, default: str) -> str:
    kind = _TYPES.get(attr.element, "Any")
    kind = f"Sequence[{kind}]" if attr.is_list else kind
    return f"{kind} | None" if default == "None" and kind not in ("Any", "ShapeLike") else kind


def _default(attr: AttrDef) -> str:
    def show(value: Any) -> str:
        return f"dtypes.{value.name}" if isinstance(value, DType) else repr(value)

    if attr.is_list:
        return "(" + "".join(f"{show(item)}, " for item in attr.default).rstrip() + ")"
    return show(attr.default)


# -- writing ----------------------------------------------------------------------------------------------------------


def stale() -> list[str]:
    """Returns the paths of public modules that are missing, outdated or left over."""
    files = modules()
    found = [path for path, text in files.items() if not (ROOT / path).exists() or (ROOT / path).read_text() != text]
    return sorted({*found, *(str(path) for path in _written() if str(path) not in files)})


def _written() -> Iterator[Path]:
    for path in ROOT.rglob("*.py*"):
        relative = path.relative_to(ROOT)
        if relative.parts[0] != "_src" and path.suffix in (".py", ".pyi"):
            yield relative


def write() -> None:
    """Writes all files and removes those that are no longer made."""
    files = modules()
    for path in _written():
        if str(path) not in files:
            (ROOT / path).unlink()
    for name, text in files.items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(text)
    for folder in sorted((path for path in ROOT.rglob("*") if path.is_dir()), reverse=True):
        if "_src" not in folder.parts and {path.name for path in folder.iterdir()} <= {"__pycache__"}:
            shutil.rmtree(folder)


if __name__ == "__main__":
    load()
    if sys.argv[1:] == ["--check"]:
        sys.exit("\n".join(["stale, run `make api`:", *stale()]) if stale() else 0)
    write()
