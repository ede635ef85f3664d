"""ExportStrategy: how an Experiment exports its model after an evaluation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.compat.contrib.learn.estimator import Estimator
from thalweg._src.estimator.calls import parameter_names
from thalweg._src.estimator.exporters import LatestExporter


@export("contrib.learn.ExportStrategy")
class ExportStrategy(NamedTuple):
    """A function that exports a model, with the name of its folder.

    Args:
        name: Name of the folder of exports.
        export_fn: Function of an Estimator and a folder, and of checkpoint_path and eval_result if it takes them.
        strip_default_attrs: Whether attributes with default values are left out; None leaves it to the function.
    """

    name: str
    export_fn: Callable[..., Any]
    strip_default_attrs: bool | None = None

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str | None = None, eval_result: Any = None
    ) -> Any:
        """Returns what the function returns: the path of the export, or None."""
        names = parameter_names(self.export_fn)
        available = {"checkpoint_path": checkpoint_path, "eval_result": eval_result}
        if self.strip_default_attrs is not None:
            available["strip_default_attrs"] = self.strip_default_attrs
        return self.export_fn(
            estimator, export_path, **{name: value for name, value in available.items() if name in names}
        )

    def _run(self, estimator: Any, eval_result: Any) -> Any:
        return self.export(estimator, os.path.join(estimator.model_dir, "export", self.name), None, eval_result)


@export("contrib.learn.make_export_strategy")
def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, PathLike] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """Returns a strategy that exports SavedModels, of which it keeps the newest ones.

    Args:
        serving_input_fn: Function without arguments that returns a `ServingInputReceiver`.
        default_output_alternative_key: Accepted for compatibility; the predictions are served.
        assets_extra: Further files to export: their paths by the name in the folder `assets.extra`.
        as_text: Whether the graph is written as text, not binary.
        exports_to_keep: Number of exports to keep; None keeps all.
        strip_default_attrs: Accepted for compatibility; attributes with default values are left out.
    """
    exporter = LatestExporter("Servo", serving_input_fn, assets_extra, as_text, exports_to_keep)

    def export_fn(estimator: Any, export_dir_base: str, checkpoint_path: str | None = None) -> Any:
        core = estimator._core if isinstance(estimator, Estimator) else estimator
        path = checkpoint_path or core.latest_checkpoint() or ""
        return exporter.export(core, export_dir_base, path, {}, False)

    return ExportStrategy("Servo", export_fn, strip_default_attrs)
