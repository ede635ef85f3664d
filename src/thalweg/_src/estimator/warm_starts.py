"""WarmStartSettings: the checkpoint and the variables that a new model starts from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.deploy.saved_model.files import contains_saved_model, variables_prefix
from thalweg._src.training.checkpoint.warm_start import VocabInfo as VocabInfo, warm_start
from thalweg._src.training.variables.variables import Variable

export("estimator.VocabInfo")(VocabInfo)


class _Fields(NamedTuple):
    ckpt_to_initialize_from: Any
    vars_to_warm_start: Any
    var_name_to_vocab_info: dict[str, VocabInfo]
    var_name_to_prev_var_name: dict[str, str]


@export("estimator.WarmStartSettings")
class WarmStartSettings(_Fields):
    """Which variables of a new model start from a checkpoint of an earlier one, and under which names."""

    __slots__ = ()

    def __new__(
        cls,
        ckpt_to_initialize_from: PathLike,
        vars_to_warm_start: str | Sequence[str | Variable] | None = ".*",
        var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
        var_name_to_prev_var_name: Mapping[str, str] | None = None,
    ) -> WarmStartSettings:
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        infos, names = dict(var_name_to_vocab_info or {}), dict(var_name_to_prev_var_name or {})
        return super().__new__(cls, ckpt_to_initialize_from, vars_to_warm_start, infos, names)


def settings_of(warm_start_from: object) -> WarmStartSettings | None:
    """Returns settings, for a checkpoint, a SavedModel or a folder of either too; None for None."""
    if warm_start_from is None:
        return None
    if isinstance(warm_start_from, str | bytes | os.PathLike):
        path = os.fsdecode(warm_start_from)
        if contains_saved_model(path):
            path = variables_prefix(path)
        logging.info("Warm-starting with settings: %s", path)
        return WarmStartSettings(path)
    if isinstance(warm_start_from, WarmStartSettings):
        return warm_start_from
    raise ValueError(f"warm_start_from must be a string or a WarmStartSettings, received {warm_start_from!r}")


def start_from(settings: WarmStartSettings) -> None:
    """Initializes the variables of the default graph as settings say."""
    logging.info("Warm-starting with WarmStartSettings: %s", settings)
    warm_start(*settings)
