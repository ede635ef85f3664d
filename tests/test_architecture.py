"""The layering of the package, proved from syntax trees: imports point down, files and functions stay small."""

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from tests import children

PACKAGE = "thalweg._src"
ROOT = Path(__file__).parent.parent / "src" / "thalweg" / "_src"
FILES = sorted(ROOT.rglob("*.py"))

FOUNDATION = {
    *("errors", "dtypes", "shapes", "devices", "messages", "config", "registry", "entropy"),
    *("export", "documentation", "parameter_docs", "lazy_names", "read_only", "signatures"),
}
# Which folders a folder may import, besides itself, the foundation, and what those may import; lower ones come first.
DOWN = {
    # the user's graph
    "formats": set(),
    "graph": set(),
    "ops": {"graph"},
    "control_flow": {"ops"},
    "autodiff": {"control_flow"},
    "autograph": {"control_flow"},
    # the compiler: step graph in, step graph out
    "optimize": {"graph"},
    "place": {"graph"},
    "schedule": {"place"},
    "partition": {"schedule"},
    "simulate": {"optimize", "place"},
    # torch
    "resources": {"formats"},
    "kernels": {"ops", "resources"},
    "compile": {"kernels", "partition"},
    "execute": {"compile"},
    "runtime": {"execute", "optimize"},
    "distributed": {"runtime"},
    # what a user calls
    "observe": {"formats", "place"},
    "session": {"autodiff", "distributed"},
    "compat": {"graph", "resources"},
    "eager": {"autodiff", "runtime"},
    "testing": {"compat", "session"},
    "variables": {"autodiff", "compat", "eager"},
    "function": {"autograph", "runtime", "variables"},
    "optimizers": {"variables"},
    "checkpoint": {"optimizers"},
    "saved_model": {"checkpoint", "function"},
    "input": {"checkpoint", "session"},
    "data": {"autograph", "input"},
    "nn": {"input"},
    "training": {"input", "observe"},
    "distribute": {"data", "training"},
    "debug": {"training"},
    "keras": {"distribute", "function", "nn", "saved_model"},
    "estimator": {"keras"},
    "ray": {"compat", "distributed"},
    # from research to production
    "transform": {"saved_model", "session"},
    "quantize": {"data", "nn", "transform"},
    "onnx_export": {"quantize"},
    "serving": {"input", "saved_model"},
    "contrib": {"estimator"},
    "internals": {"contrib", "testing", "transform"},
    "gen_ops": {"ops"},
    # the generated modules around the package, and the tools that look names up in them
    "public": {"contrib", "estimator", "gen_ops", "internals", "keras", "onnx_export", "ray", "serving", "testing"},
    "cli": {"public", "simulate"},
}
TORCH = {"resources", "kernels", "compile", "execute", "runtime", "distributed", "eager", "function"}
# What a function may import, since `import thalweg` does without it; fcntl does not exist on every platform.
ON_DEMAND = (
    *("google.protobuf", "tensorboard", "PIL", "lmdb", "matplotlib", "scipy", "ml_dtypes", "google_crc32c", "fcntl"),
    *(
        "gast",
        "grpc",
        "h5py",
        "httptools",
        "kubernetes",
        "googleapiclient",
        "pandas",
        "onnx",
        "ray",
        "requests",
        "uvloop",
        "yaml",
    ),
    *("pydot", "sklearn", "yaml"),
    *("torch._guards", "torch._inductor", "torch._subclasses", "torch.fx.experimental"),
)
# Imports for type checkers alone: a tensor, its operation, their graph, its functions and the schema of an op refer to
# each other.
FOR_TYPES = {
    "graph.function_def": {"graph.function"},
    "graph.graph": {"graph.function"},
    "graph.building_mode": {"graph.operation", "graph.tensor"},
    "graph.graphdef": {"graph.graph", "graph.operation"},
    "graph.op_def": {"graph.infer", "graph.operation", "graph.tensor"},
    "graph.operation": {"graph.graph", "graph.tensor"},
    "graph.private_names": {"graph.function", "graph.operation"},
    "graph.tensor": {"graph.graph", "graph.operation"},
}
TABLES = {"gen_ops", "parameter_docs"}  # generated code and a table of texts may be long
MAX_LINES = 600
MAX_FUNCTION = 80


class Import(NamedTuple):
    """A module that is imported: by the module itself, in a "function", or for type checkers in "typing"."""

    line: int
    module: str
    place: str


def _id(path):
    return str(path.relative_to(ROOT))


def _module(path):
    """Returns the full name of a file's module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join((PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)))


MODULES = {_module(path): path for path in FILES}


@cache
def _tree(path):
    return ast.parse(path.read_text(), _id(path))


@cache
def _imports(path):
    """Returns all imports of a file, those by `import_module` of a name in quotes included."""
    found = []

    def visit(node, place):
        if isinstance(node, ast.Import):
            found.extend(Import(node.lineno, alias.name, place) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{_id(path)}:{node.lineno} relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.append(Import(node.lineno, full if full in MODULES else node.module, place))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            if isinstance(node.args[0], ast.Constant):
                found.append(Import(node.lineno, node.args[0].value, place))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                visit(child, "typing")
            for child in node.orelse:
                visit(child, place)
            return
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            place = "function"
        for child in ast.iter_child_nodes(node):
            visit(child, place)

    visit(_tree(path), "module")
    return found


def _layer(module):
    """Returns the folder or foundation module that a module of thalweg belongs to, None for other packages."""
    parts = module.split(".")
    if parts[0] != "thalweg":
        return None
    return parts[2] if parts[1:2] == ["_src"] and len(parts) > 2 else "public"


def _is_ours(module):
    return module.split(".")[0] == "thalweg"


def _allowed(layer):
    if layer in FOUNDATION:
        return FOUNDATION
    return {layer} | FOUNDATION | {deeper for below in DOWN[layer] for deeper in _allowed(below)}


def _graph(*places):
    """Returns which modules of the package each of them imports in some places."""
    return {
        name: {each.module for each in _imports(path) if each.place in places and each.module in MODULES}
        for name, path in MODULES.items()
    }


def test_every_folder_is_in_the_layer_list():
    folders = {_layer(module) for module in MODULES if module != PACKAGE}
    assert folders == (set(DOWN) - {"public"}) | FOUNDATION


def test_lower_folders_come_first():
    names = list(DOWN)
    assert all(names.index(below) < names.index(layer) for layer in names for below in DOWN[layer])


def test_imports_point_down():
    assert not _imports(ROOT / "__init__.py")
    allowed = {layer: _allowed(layer) for layer in {*DOWN, *FOUNDATION}}
    wrong = [
        f"{_id(path)}:{line} imports {module}"
        for path in FILES
        for line, module, _ in _imports(path)
        if _is_ours(module) and _layer(module) not in allowed[_layer(_module(path))]
    ]
    assert not wrong


def test_no_module_cycles():
    TopologicalSorter(_graph("module", "function")).prepare()  # raises CycleError, which names the modules


def test_imports_for_type_checkers_are_those_of_the_graph():
    def short(module):
        return module.removeprefix(f"{PACKAGE}.")

    found = {short(name): {short(each) for each in below} for name, below in _graph("typing").items() if below}
    assert found == FOR_TYPES


def test_functions_import_only_what_a_feature_needs():
    wrong = [
        f"{_id(path)}:{line} imports {module} in a function"
        for path in FILES
        for line, module, place in _imports(path)
        if place == "function"
        and not any(f"{module}.".startswith(f"{name}.") for name in ON_DEMAND)
        and not (module == "thalweg" and _layer(_module(path)) == "cli")
    ]
    assert not wrong


def test_heavy_packages_stay_where_they_belong():
    wrong = []
    for path, (line, module, place) in ((path, each) for path in FILES for each in _imports(path)):
        if module.split(".")[0] == "torch" and _layer(_module(path)) not in TORCH:
            wrong.append(f"{_id(path)}:{line} imports {module}")
        if place == "module" and f"{module}.".startswith(tuple(f"{each}." for each in ON_DEMAND)):
            wrong.append(f"{_id(path)}:{line} imports {module}, which `import thalweg` must do without")
    assert not wrong


def test_files_and_functions_are_small_and_described():
    wrong = []
    for path in FILES:
        tree = _tree(path)
        if not ast.get_docstring(tree):
            wrong.append(f"{_id(path)} has no docstring")
        names = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]  # a list is no code
        lines = len(path.read_text().splitlines()) - sum(node.end_lineno - node.lineno for node in names)
        if lines > MAX_LINES and _layer(_module(path)) not in TABLES:
            wrong.append(f"{_id(path)} has {lines} lines")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = node.end_lineno - node.lineno + 1
                if length > MAX_FUNCTION:
                    wrong.append(f"{_id(path)}:{node.lineno} {node.name} has {length} lines")
    assert not wrong


def test_importing_thalweg_needs_numpy_and_torch_alone():
    code = (
        "import sys, thalweg\n"
        "heavy = ('google.protobuf', 'grpc', 'tensorboard', 'ml_dtypes', 'gast')\n"
        "print(sorted(m for m in sys.modules if m.startswith(heavy)))"
    )
    assert children.run([sys.executable, "-c", code]).stdout.strip() == "[]"
