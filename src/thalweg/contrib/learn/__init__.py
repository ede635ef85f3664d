"""tf.contrib.learn: Estimators with `fit`, experiments, data sets, and documents as rows of ids."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.compat.contrib.learn.estimator import Estimator as Estimator
from thalweg._src.compat.contrib.learn.experiment import Experiment as Experiment
from thalweg._src.compat.contrib.learn.export_strategy import (
    ExportStrategy as ExportStrategy,
    make_export_strategy as make_export_strategy,
)
from thalweg._src.compat.contrib.learn.mode_keys import ModeKeys as ModeKeys
from thalweg._src.compat.contrib.learn.model_fn_ops import (
    MetricSpec as MetricSpec,
    ModelFnOps as ModelFnOps,
)
from thalweg._src.compat.contrib.learn.run_config import RunConfig as RunConfig
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.learn import datasets as datasets
    from thalweg.contrib.learn import learn_runner as learn_runner
    from thalweg.contrib.learn import preprocessing as preprocessing

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["datasets", "learn_runner", "preprocessing"],
    {},
)

__all__ = [
    "Estimator", "Experiment", "ExportStrategy", "MetricSpec", "ModeKeys", "ModelFnOps", "RunConfig", "datasets",
    "learn_runner", "make_export_strategy", "preprocessing",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
