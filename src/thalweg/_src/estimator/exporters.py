"""Exporters: which of the evaluated models are exported, and how many exports are kept."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.estimator.calls import parameter_names
from thalweg._src.estimator.estimator_like import EstimatorLike
from thalweg._src.estimator.event_values import events_of, numbers_of
from thalweg._src.estimator.spec import LOSS_KEY
from thalweg._src.graph.scopes import GraphKeys


@export("estimator.Exporter")
class Exporter:
    """The base class of exporters, which `train_and_evaluate` calls after each evaluation."""

    @property
    def name(self) -> str:
        """The name, which is that of the folder of the exports too."""
        raise TypeError(f"{type(self).__name__} does not implement name")

    def export(
        self,
        estimator: EstimatorLike,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Exports a model if it should be; returns the folder, or None."""
        raise TypeError(f"{type(self).__name__} does not implement export")


class _SavedModelExporter(Exporter):
    """Exports a model for serving, in any case."""

    name = ReadOnly[str]("The name, which is that of the folder of the exports too.")

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any] | None,
        assets_extra: Mapping[str, PathLike] | None = None,
        as_text: bool = False,
    ) -> None:
        self._name = name
        self._serving_input_receiver_fn: Any = serving_input_receiver_fn
        self._assets_extra = assets_extra
        self._as_text = as_text

    def _export(self, estimator: EstimatorLike, export_path: str, checkpoint_path: str) -> Any:
        return estimator.export_saved_model(
            export_path,
            self._serving_input_receiver_fn,
            assets_extra=self._assets_extra,
            as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )


@export("estimator.FinalExporter")
class FinalExporter(_SavedModelExporter):
    """Exports the model once, at the end of training.

    Args:
        name: Name of the exporter, and of its folder of exports.
        as_text: Whether the graph is written as text, not binary.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, PathLike] | None = None,
        as_text: bool = False,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(
        self,
        estimator: EstimatorLike,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Exports the final model."""
        if not is_the_final_export:
            return None
        logging.info("Performing the final export in the end of training.")
        return self._export(estimator, export_path, checkpoint_path)


@export("estimator.LatestExporter")
class LatestExporter(_SavedModelExporter):
    """Exports every model that is evaluated, and keeps the newest exports.

    Args:
        name: Name of the exporter, and of its folder of exports.
        as_text: Whether the graph is written as text, not binary.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, PathLike] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        self._exports_to_keep = _checked_count(exports_to_keep)

    def export(
        self,
        estimator: EstimatorLike,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Exports the model, and deletes exports that are too old."""
        path = self._export(estimator, export_path, checkpoint_path)
        _keep_newest(export_path, self._exports_to_keep)
        return path


def _loss_smaller(best_eval_result: Mapping[str, Any], current_eval_result: Mapping[str, Any]) -> bool:
    """Returns whether the loss has become smaller."""
    for what, result in (("best_eval_result", best_eval_result), ("current_eval_result", current_eval_result)):
        if not result or LOSS_KEY not in result:
            raise ValueError(f"{what} cannot be empty or no loss is found in it.")
    return bool(best_eval_result[LOSS_KEY] > current_eval_result[LOSS_KEY])


@export("estimator.BestExporter")
class BestExporter(_SavedModelExporter):
    """Exports a model if its evaluation is better than all before, also those of earlier runs in the folder.

    Args:
        name: Name of the exporter, and of its folder of exports.
        event_file_pattern: Pattern of event files with earlier evaluations, below `model_dir`; None ignores them.
        compare_fn: Function of `best_eval_result` and `current_eval_result`; True exports the current model.
        as_text: Whether the graph is written as text, not binary.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Callable[[], Any] | None = None,
        event_file_pattern: str | None = "eval/*.tfevents.*",
        compare_fn: Callable[..., bool] = _loss_smaller,
        assets_extra: Mapping[str, PathLike] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        missing = sorted({"best_eval_result", "current_eval_result"} - set(parameter_names(compare_fn)))
        if missing:
            raise ValueError(f"compare_fn ({compare_fn}) must have the parameters {missing}")
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        self._compare_fn = compare_fn
        self._event_file_pattern = event_file_pattern
        self._exports_to_keep = _checked_count(exports_to_keep)
        self._model_dir: str | None = None
        self._best: Mapping[str, Any] | None = None

    def export(
        self,
        estimator: EstimatorLike,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Exports the model if it is the best, and deletes exports that are too old."""
        if self._model_dir != estimator.model_dir and self._event_file_pattern:
            self._model_dir = estimator.model_dir
            self._best = self._best_before(eval_result)
        if self._best is not None and not self._is_better(self._best, eval_result):
            return None
        logging.info("Performing best model export.")
        self._best = eval_result
        path = self._export(estimator, export_path, checkpoint_path)
        _keep_newest(export_path, self._exports_to_keep)
        return path

    def _best_before(self, eval_result: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Returns the best result of other evaluations in the folder; the event files have this one too."""
        best: Mapping[str, Any] | None = None
        for path in sorted(glob.glob(os.path.join(glob.escape(str(self._model_dir)), self._event_file_pattern or ""))):
            for event in events_of(path):
                values = numbers_of(event)
                is_other = event.step != eval_result.get(GraphKeys.GLOBAL_STEP)
                if values and is_other and (best is None or self._is_better(best, values)):
                    best = values
        return best

    def _is_better(self, best: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
        return self._compare_fn(best_eval_result=best, current_eval_result=current)


def _checked_count(exports_to_keep: int | None) -> int | None:
    if exports_to_keep is not None and exports_to_keep <= 0:
        raise ValueError(f"`exports_to_keep`, if provided, must be a positive number, received {exports_to_keep}")
    return exports_to_keep


def _keep_newest(export_path: str, count: int | None) -> None:
    """Deletes all but the newest exports of a folder; other folders there are left alone."""
    if count is None:
        return
    numbers = sorted(int(name) for name in os.listdir(export_path) if name.isdecimal())
    for number in numbers[:-count]:
        try:
            shutil.rmtree(os.path.join(export_path, str(number)))
        except OSError as error:
            logging.warning("Can not delete %s recursively: %s", number, error)
