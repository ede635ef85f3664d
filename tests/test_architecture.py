"""The layering of the package, proved from syntax trees: imports point down, files and functions stay small."""

import ast
import re
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from tests import children

PACKAGE = "thalweg._src"
ROOT = Path(__file__).parent.parent / "src" / "thalweg" / "_src"
PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
FILES = sorted(path for path in ROOT.rglob("*.py") if not path.stem.endswith("_pb2"))  # those are generated

# The groups, in the order of processing: a module imports only its own group and those before it.
GROUPS = (
    "base",
    "graph",
    "compiler",
    "runtime",
    "cluster",
    "training",
    "deploy",
    "keras",
    "estimator",
    "compat",
    "tools",
)
# Which folders a folder may import, besides itself, `base`, and what those may import; lower ones come first.
DOWN = {
    "base": set(),
    "base.formats": {"base"},
    "graph": {"base.formats"},  # the user's graph
    "graph.ops": {"graph"},
    "graph.control_flow": {"graph.ops"},
    "graph.autodiff": {"graph.control_flow"},
    "graph.autograph": {"graph.control_flow"},
    "compiler.optimize": {"graph"},  # step graph in, step graph out
    "compiler.place": {"graph"},
    "compiler.schedule": {"compiler.place"},
    "compiler.partition": {"compiler.schedule"},
    "runtime.resources": {"base.formats"},  # torch
    "runtime.kernels": {"graph.ops", "runtime.resources"},
    "runtime.compile": {"runtime.kernels", "compiler.partition"},
    "runtime.execute": {"runtime.compile"},
    "runtime": {"runtime.execute", "compiler.optimize"},
    "runtime.session": {"graph.autodiff", "runtime"},
    "runtime.eager": {"graph.autodiff", "runtime"},
    "runtime.function": {"graph.autograph", "runtime.eager"},
    "cluster.distributed": {"runtime.session"},
    "cluster.resolvers": {"cluster.distributed"},
    "training.observe": {"base.formats", "compiler.place"},
    "training.variables": {"runtime.eager"},
    "training.optimizers": {"training.variables"},
    "training.checkpoint": {"training.optimizers"},
    "training.input": {"training.checkpoint", "runtime.session"},
    "training.data": {"graph.autograph", "training.input"},
    "training.nn": {"training.input"},
    "training": {"cluster.distributed", "training.input", "training.observe"},
    "training.distribute": {"cluster.resolvers", "training", "training.data"},
    "deploy.saved_model": {"runtime.function", "training.checkpoint"},
    "deploy.transform": {"deploy.saved_model", "runtime.session"},
    "deploy.quantize": {"deploy.transform", "training.data", "training.nn"},
    "deploy.onnx_export": {"deploy.quantize"},
    "deploy.serving": {"cluster.distributed", "deploy.saved_model", "training.input"},
    "keras": {"deploy.saved_model", "runtime.function", "training.distribute", "training.nn"},
    "estimator": {"keras"},
    "compat": {"graph", "runtime.resources"},
    "compat.contrib": {"compat", "estimator"},
    "compat.internals": {"compat.contrib", "deploy.transform"},
    "compat.gen_ops": {"graph.ops"},
    "tools.simulate": {"compiler.optimize", "compiler.place"},
    "tools.testing": {"cluster.distributed", "training.input"},
    "tools.debug": {"training"},
    "tools.ray": {"cluster.distributed", "compat"},
    # the generated modules around the package, and the tools that look names up in them
    "public": {
        *("cluster.resolvers", "compat.gen_ops", "compat.internals", "deploy.onnx_export", "deploy.serving"),
        *("tools.debug", "tools.ray", "tools.testing"),
    },
    "tools.cli": {"public", "tools.simulate"},
}
TORCH = {
    *("runtime", "runtime.resources", "runtime.kernels", "runtime.compile", "runtime.execute", "runtime.eager"),
    *("runtime.function", "cluster.distributed"),
}
# What a function may import, since `import thalweg` does without it; fcntl does not exist on every platform.
ON_DEMAND = (
    *("google.protobuf", "tensorboard", "PIL", "lmdb", "matplotlib", "scipy", "ml_dtypes", "google_crc32c", "fcntl"),
    *(
        "gast",
        "grpc",
        "grpc_health",
        "grpc_reflection",
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
    "graph.operation": {"graph.graph", "graph.scope_stacks", "graph.tensor"},
    "graph.private_names": {"graph.function", "graph.operation"},
    "graph.tensor": {"graph.graph", "graph.operation"},
}
TABLES = ("compat.gen_ops",)  # generated code may be long
# Attributes of classes, declared as `Hook`, that a lower module calls and a higher one sets when it is imported.
HOOKS = {
    "graph.op_def.OpDef.apply": "graph.apply",
    "graph.op_def.OpDef.execute": "runtime.eager.execute",
    "graph.function.GraphFunction.differentiate": "graph.autodiff.functions",
    "graph.control_flow.tensor_array.TensorArray._eager": "graph.control_flow.eager_tensor_array",
    "runtime.session.session.BaseSession.connect": "cluster.distributed.client",
    "runtime.session.session.BaseSession.reset_server": "cluster.distributed.client",
    "training.variables.variables.Variable._use_resource_in_scope": "training.variables.variable_scope",
    "training.data.structure.DatasetSpec.make": "training.data.dataset",
    "training.nn.linear_operators.base.LinearOperator._lower_triangular_of": "training.nn.linear_operators.plain",
    "training.nn.linear_operators.base.LinearOperator._adjoint_of": "training.nn.linear_operators.combined",
    "training.nn.linear_operators.base.LinearOperator._inversion_of": "training.nn.linear_operators.combined",
    "training.nn.linear_operators.base.LinearOperator._composition_of": "training.nn.linear_operators.combined",
    "keras.engine.operation_layers.LayerMaker.make": "keras.engine.operation_layer",
}
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


def _short(module):
    return module.removeprefix(f"{PACKAGE}.")


def _layer(module):
    """Returns the key of DOWN that a module of thalweg belongs to, None for other packages."""
    if not _is_ours(module):
        return None
    if not module.startswith(f"{PACKAGE}."):
        return "public"
    group, *inner = _short(module).split(".")
    folder = ".".join((group, *inner[:1]))
    return folder if folder in DOWN else group


def _group(module):
    return _short(module).split(".")[0]


def _is_ours(module):
    return module.split(".")[0] == "thalweg"


def _allowed(layer):
    return {layer, "base"} | {deeper for below in DOWN[layer] for deeper in _allowed(below)}


def _graph(*places):
    """Returns which modules of the package each of them imports in some places."""
    return {
        name: {each.module for each in _imports(path) if each.place in places and each.module in MODULES}
        for name, path in MODULES.items()
    }


def test_every_folder_is_in_the_layer_list():
    assert {_layer(module) for module in MODULES if module.count(".") > 2 or module.endswith("base")} <= DOWN.keys()
    assert {path.name for path in ROOT.iterdir() if path.suffix != ".py" and path.name != "__pycache__"} == set(GROUPS)
    folders = {f"{path.parent.name}.{path.name}" for path in ROOT.glob("*/*") if (path / "__init__.py").exists()}
    inner = {"graph.ir"} | {name for name in folders if name.startswith(("keras", "estimator"))}
    assert folders - inner <= DOWN.keys()


def test_lower_folders_come_first():
    names = list(DOWN)
    assert all(names.index(below) < names.index(layer) for layer in names for below in DOWN[layer])


def test_imports_point_down():
    assert not _imports(ROOT / "__init__.py")
    allowed = {layer: _allowed(layer) for layer in DOWN}
    wrong = [
        f"{_id(path)}:{line} imports {module}"
        for path in FILES
        for line, module, _ in _imports(path)
        if _is_ours(module) and _layer(module) not in allowed[_layer(_module(path))]
    ]
    assert not wrong


def test_groups_import_only_earlier_groups():
    wrong = [
        f"{_id(path)}:{line} imports {module}"
        for path in FILES
        for line, module, _ in _imports(path)
        if module.startswith(f"{PACKAGE}.") and GROUPS.index(_group(module)) > GROUPS.index(_group(_module(path)))
    ]
    assert not wrong


def test_the_documented_table_of_groups_is_that_of_the_imports():
    edges = {group: set() for group in GROUPS}
    for path in FILES:
        for _, module, _ in _imports(path):
            if module.startswith(f"{PACKAGE}."):
                edges[_group(_module(path))].add(_group(module))
    rows = re.findall(r"^\| `(\w+)/` \|.*\| ([\w, ]+) \|$", PAGE.read_text(), re.MULTILINE)
    assert [name for name, _ in rows] == list(GROUPS)
    table = {name: set(groups.split(", ")) - {"nothing"} for name, groups in rows}
    assert table == {group: below - {group} for group, below in edges.items()}


def test_no_module_cycles():
    TopologicalSorter(_graph("module", "function")).prepare()  # raises CycleError, which names the modules


def test_imports_for_type_checkers_are_those_of_the_graph():
    imports = {_short(name): {_short(module) for module in below} for name, below in _graph("typing").items() if below}
    assert imports == FOR_TYPES


def test_hooks_are_those_of_the_table():
    hooks = {}
    for path in FILES:
        classes = {  # that this module imports, by name
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in _tree(path).body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name[0].isupper()
        }
        targets = [target for node in _tree(path).body if isinstance(node, ast.Assign) for target in node.targets]
        for target in targets:
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) in classes:
                hooks[f"{_short(classes[ast.unparse(target.value)])}.{target.attr}"] = _short(_module(path))
    assert hooks == HOOKS


def test_hooks_are_declared_as_such():
    declared = {
        f"{_short(_module(path))}.{node.name}.{statement.target.id}"
        for path in FILES
        for node in _tree(path).body
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and "Hook[" in ast.unparse(statement.annotation)
    }
    assert declared == HOOKS.keys()


def test_functions_import_only_what_a_feature_needs():
    wrong = [
        f"{_id(path)}:{line} imports {module} in a function"
        for path in FILES
        for line, module, place in _imports(path)
        if place == "function"
        and not any(f"{module}.".startswith(f"{name}.") for name in ON_DEMAND)
        and not (module == "thalweg" and _layer(_module(path)) == "tools.cli")
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


def _docstring_lines(node):
    """Returns the lines of a function's or class's docstring, which describes parameters and is no code."""
    described = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(node)
    return node.body[0].end_lineno - node.body[0].lineno + 1 if described else 0


def test_files_and_functions_are_small_and_described():
    wrong = []
    for path in FILES:
        tree = _tree(path)
        if not ast.get_docstring(tree):
            wrong.append(f"{_id(path)} has no docstring")
        names = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]  # a list is no code
        lines = len(path.read_text().splitlines()) - sum(node.end_lineno - node.lineno for node in names)
        lines -= sum(_docstring_lines(node) for node in ast.walk(tree))
        if lines > MAX_LINES and _layer(_module(path)) not in TABLES:
            wrong.append(f"{_id(path)} has {lines} lines")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = node.end_lineno - node.lineno + 1 - _docstring_lines(node)
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
