"""The layering of the package, proved from syntax trees: imports point down, files and functions stay small."""

import ast
import sys
from pathlib import Path

import pytest

from tests import children

ROOT = Path(__file__).parent.parent / "src" / "thalweg" / "_src"
FILES = sorted(ROOT.rglob("*.py"))

FOUNDATION = {"errors", "dtypes", "shapes", "devices", "messages", "config", "registry"}
# Which folders a folder may import, besides itself, the foundation, and what those may import.
DOWN = {
    "formats": set(),
    "graph": set(),
    "ops": {"graph"},
    "control_flow": {"ops"},
    "autodiff": {"control_flow"},
    "optimize": {"ops"},
    "place": {"ops"},
    "partition": {"ops"},
    "resources": {"graph", "formats"},
    "kernels": {"resources", "ops"},
    "execute": {"kernels", "partition"},
    "runtime": {"execute", "optimize", "place", "partition"},
    "observe": {"runtime", "formats"},
    "client": {"runtime", "autodiff", "observe"},
    "datasets": {"client"},
    "library": {"client"},
    "api": {"library", "datasets"},
    "cli": {"client", "observe"},
}
TORCH = {"resources", "kernels", "execute", "runtime"}
PROTOBUF = ("google.protobuf", "tensorboard", "grpc")
PROTOBUF_HOMES = ("formats", "observe", "runtime/distributed")
MAX_LINES = 600
MAX_FUNCTION = 80


def _id(path):
    return str(path.relative_to(ROOT))


def _tree(path):
    return ast.parse(path.read_text(), _id(path))


def _is_type_checking(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _imports(tree, inside_functions=True):
    """Gives (line, module) for every import; blocks for type checkers alone are left out."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            yield node.lineno, node.module
            if node.module == "thalweg._src":
                yield from ((node.lineno, f"thalweg._src.{alias.name}") for alias in node.names)
        elif _is_type_checking(node):
            stack += node.orelse
        elif inside_functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            stack += ast.iter_child_nodes(node)


def _layer(module):
    """Returns the folder or foundation module that a module of the package belongs to."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["thalweg", "_src"] and len(parts) > 2 else None


def _allowed(layer):
    below = set(DOWN[layer])
    while True:
        more = {deeper for name in below for deeper in DOWN[name]} - below
        if not more:
            return below | FOUNDATION | {layer}
        below |= more


def _home(path):
    """Returns the layer of a file; None for the package's own front."""
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py") if first != "__init__.py" else None


def test_every_folder_has_its_place():
    folders = {_home(path) for path in FILES} - {None}
    assert folders <= set(DOWN) | FOUNDATION


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_imports_point_down(path):
    home = _home(path)
    if home is None:
        return
    allowed = FOUNDATION if home in FOUNDATION else _allowed(home)
    wrong = [
        f"{_id(path)}:{line} imports {module}"
        for line, module in _imports(_tree(path))
        if _layer(module) is not None and _layer(module) not in allowed
    ]
    assert not wrong


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_heavy_packages_stay_where_they_belong(path):
    home, name = _home(path), _id(path)
    tree = _tree(path)
    for line, module in _imports(tree):
        if module.split(".")[0] == "torch":
            assert home in TORCH, f"{name}:{line} imports {module}"
        if module.split(".")[0] == "grpc":
            assert name.startswith("runtime/distributed"), f"{name}:{line} imports {module}"
    if not name.startswith(PROTOBUF_HOMES):
        for line, module in _imports(tree, inside_functions=False):
            assert not module.startswith(PROTOBUF), f"{name}:{line} imports {module} for everybody"


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_files_and_functions_are_small_and_described(path):
    tree = _tree(path)
    assert ast.get_docstring(tree), f"{_id(path)} has no docstring"
    names = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]  # a list of names is no code
    lines = len(path.read_text().splitlines()) - sum(node.end_lineno - node.lineno for node in names)
    assert lines <= MAX_LINES, f"{_id(path)} has {lines} lines"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            assert length <= MAX_FUNCTION, f"{_id(path)}:{node.lineno} {node.name} has {length} lines"


def test_importing_thalweg_needs_numpy_and_torch_alone():
    code = (
        "import sys, thalweg\n"
        "heavy = ('google.protobuf', 'grpc', 'tensorboard', 'ml_dtypes')\n"
        "print(sorted(m for m in sys.modules if m.startswith(heavy)))"
    )
    assert children.run([sys.executable, "-c", code]).stdout.strip() == "[]"
