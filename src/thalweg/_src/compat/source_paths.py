"""TensorFlow's internal module paths, for programs that import from them: aliases of the public names.

`from tensorflow.python.ops import array_ops` was never public, but common. A path of `source_path_tables` is a module
that looks names up in the namespaces in which its functions are exported; names that are not public, but that published
programs use, are in `thalweg._src.compat.internals`. Other paths and names do not exist.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from thalweg._src.compat.source_path_tables import CONTRIB, CORE, PYTHON

_EVALUATION = "thalweg._src.compat.contrib.training.evaluation"
_PRIVATE = {  # names that are not public, with those that they have here
    "data.ops.dataset_ops.DatasetV1": "thalweg._src.training.data.dataset.Dataset",
    "data.ops.dataset_ops.DatasetV2": "thalweg._src.training.data.dataset.Dataset",
    "framework.tensor_util.MakeNdarray": "thalweg._src.graph.ops.tensor_proto.make_ndarray",
    "layers.base._Layer": "thalweg._src.training.nn.layers.base.Layer",
    "layers.normalization.BatchNorm": "thalweg._src.training.nn.layers.normalization.BatchNormalization",
    "ops.confusion_matrix.remove_squeezable_dimensions": "thalweg._src.training.nn.weights.squeeze_to_common_rank",
    "ops.control_flow_ops.CondContext": "thalweg._src.graph.control_flow.context.Branch",
    "ops.control_flow_ops.ControlFlowContext": "thalweg._src.graph.control_flow.context.Context",
    "ops.control_flow_ops.WhileContext": "thalweg._src.graph.control_flow.context.Loop",
    "ops.init_ops._compute_fans": "thalweg._src.training.variables.initializers._fans",
    "ops.metrics_impl._remove_squeezable_dimensions": "thalweg._src.training.nn.weights.squeeze_to_common_rank",
    "ops.nn_impl._compute_sampled_logits": "thalweg._src.training.nn.sampled_losses._sampled_logits",
    "ops.nn_ops._get_noise_shape": "thalweg._src.training.nn.dropout._noise_shape",
    "ops.rnn_cell_impl._LayerRNNCell": "thalweg._src.training.nn.rnn.cells.LayerRNNCell",
    "ops.script_ops.eager_py_func": "thalweg._src.runtime.eager.py_function.py_function",
    "ops.tensor_array_ops._GraphTensorArray": "thalweg._src.graph.control_flow.tensor_array.TensorArray",
    "ops.variable_scope._VariableStore": "thalweg._src.training.variables.variable_store.VariableStore",
    "ops.variable_scope._get_default_variable_store": "thalweg._src.training.variables.variable_scope.variable_store",
    "ops.variables.VariableV1": "thalweg._src.training.variables.variables.Variable",
    "training.evaluation._StopAfterNEvalsHook": f"{_EVALUATION}.StopAfterNEvalsHook",
    "training.evaluation._get_or_create_eval_step": f"{_EVALUATION}.get_or_create_eval_step",
    "training.monitored_session._CoordinatedSession": "thalweg._src.training.session_layers.CoordinatedSession",
    "training.monitored_session._HookedSession": "thalweg._src.training.session_layers.HookedSession",
    "training.monitored_session._RecoverableSession": "thalweg._src.training.session_layers.RecoverableSession",
    "training.monitored_session._WrappedSession": "thalweg._src.training.session_layers.Layer",
    "training.optimizer._deduplicate_indexed_slices": "thalweg._src.training.optimizers.optimizer._sum_equal_indices",
    "training.saver._get_saver_or_default": "thalweg._src.training.scaffold.saver_or_default",
}
_TABLES = {"thalweg.python": PYTHON, "thalweg.core": CORE, "thalweg.contrib": CONTRIB}
_OTHERS = ("absl", "contextlib", "inspect", "tensorboard")  # packages other than this one
_NEIGHBOURS = {path.rpartition(".")[2]: path for path in PYTHON}


def _opened(namespace: str) -> ModuleType:
    """Returns the module of a namespace under `tf`, or of a full name."""
    named = namespace.split(".")[0] in ("thalweg", *_OTHERS)
    return import_module(namespace if named else f"thalweg.{namespace}".rstrip("."))


class SourcePath(ModuleType):
    """A module for a path of TensorFlow's source."""

    def __init__(self, name: str, sources: tuple[str, ...] = ()) -> None:
        super().__init__(name, "Public names under a path of TensorFlow's source.")
        self.__path__: list[str] = []
        self._sources = sources
        sys.modules[name] = self

    def __getattr__(self, name: str) -> Any:
        if name == "__all__" and self._sources:
            return self._public_names()
        if name.startswith("__"):
            raise AttributeError(name)
        for opened in self._opened_sources():
            if hasattr(opened, name):
                return getattr(opened, name)
        inside = sys.modules.get(f"{self.__name__}.{name}")
        if inside is not None:
            return inside
        private = _PRIVATE.get(f"{self.__name__.removeprefix('thalweg.python.')}.{name}")
        if private is not None:
            module, _, attribute = private.rpartition(".")
            return getattr(import_module(module), attribute)
        if self._sources and name in _NEIGHBOURS:  # modules of the source re-export the modules that they import
            return import_module(f"thalweg.python.{_NEIGHBOURS[name]}")
        raise AttributeError(f"module {self.__name__!r} has no public name {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        """Sets an attribute, also where it is read if only one module of ours stands behind the path.

        A file below the path is found by its name instead, after the public names: `contrib.framework.python.ops` has
        the function `arg_scope` of the file `arg_scope`.
        """
        if isinstance(value, SourcePath) and self._sources:
            return
        super().__setattr__(name, value)
        if not name.startswith("__") and len(getattr(self, "_sources", ())) == 1 and name != "_sources":
            module = sys.modules.get(self._sources[0])
            if module is not None and name in vars(module):
                setattr(module, name, value)

    def _opened_sources(self) -> Iterator[ModuleType]:
        """Yields the modules whose names this one has; TensorBoard has the messages of most files, not all."""
        for source in self._sources:
            try:
                yield _opened(source)
            except ModuleNotFoundError as error:
                if error.name != source:  # a package that the module needs
                    raise

    def _public_names(self) -> list[str]:
        """Returns what `import *` imports: the names of all sources, and the modules that TensorFlow's import."""
        names = {name for module in self._opened_sources() for name in dir(module) if not name.startswith("_")}
        imported = {name for name, path in _NEIGHBOURS.items() if path.split(".")[0] in ("framework", "ops", "util")}
        return sorted(names | {name for name in imported if "_" in name or name in ("dtypes", "nest", "ops")})

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(self._public_names() if self._sources else ())]


def register(package: str) -> None:
    """Registers the modules of all paths below a package in `sys.modules`, each as an attribute of its parent."""
    for path, sources in _TABLES[package].items():
        *folders, last = path.split(".")
        parent = package
        for folder in folders:
            parent = f"{parent}.{folder}"
            inside_contrib = package == "thalweg.contrib" and ".python" in parent
            if parent not in sys.modules and (inside_contrib or package != "thalweg.contrib"):
                _show(SourcePath(parent, sources if inside_contrib else ()))
        _show(SourcePath(f"{parent}.{last}", sources))


def attach(namespace: str) -> None:
    """Makes the paths below a part of contrib, which were registered before it was imported, attributes of it."""
    _show(sys.modules[f"{namespace}.python"])


def _show(module: ModuleType) -> None:
    parent, _, last = module.__name__.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], last, module)
