"""tf.estimator: Estimators: models that a function describes, with training, evaluation, prediction and export."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.estimator.canned.baseline import (
    BaselineClassifier as BaselineClassifier,
    BaselineEstimator as BaselineEstimator,
    BaselineRegressor as BaselineRegressor,
)
from thalweg._src.estimator.canned.combined import (
    DNNLinearCombinedClassifier as DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator as DNNLinearCombinedEstimator,
    DNNLinearCombinedRegressor as DNNLinearCombinedRegressor,
)
from thalweg._src.estimator.canned.dnn import (
    DNNClassifier as DNNClassifier,
    DNNEstimator as DNNEstimator,
    DNNRegressor as DNNRegressor,
)
from thalweg._src.estimator.canned.linear import (
    LinearClassifier as LinearClassifier,
    LinearEstimator as LinearEstimator,
    LinearRegressor as LinearRegressor,
)
from thalweg._src.estimator.canned.parsing import (
    classifier_parse_example_spec as classifier_parse_example_spec,
    regressor_parse_example_spec as regressor_parse_example_spec,
)
from thalweg._src.estimator.estimator import Estimator as Estimator
from thalweg._src.estimator.exporters import (
    BestExporter as BestExporter,
    Exporter as Exporter,
    FinalExporter as FinalExporter,
    LatestExporter as LatestExporter,
)
from thalweg._src.estimator.extenders import add_metrics as add_metrics
from thalweg._src.estimator.heads.base import Head as Head
from thalweg._src.estimator.heads.classification import (
    BinaryClassHead as BinaryClassHead,
    MultiClassHead as MultiClassHead,
    MultiLabelHead as MultiLabelHead,
)
from thalweg._src.estimator.heads.multi_head import MultiHead as MultiHead
from thalweg._src.estimator.heads.regression import (
    LogisticRegressionHead as LogisticRegressionHead,
    PoissonRegressionHead as PoissonRegressionHead,
    RegressionHead as RegressionHead,
)
from thalweg._src.estimator.run_config import RunConfig as RunConfig
from thalweg._src.estimator.spec import EstimatorSpec as EstimatorSpec
from thalweg._src.estimator.train_and_evaluate import (
    EvalSpec as EvalSpec,
    TrainSpec as TrainSpec,
    train_and_evaluate as train_and_evaluate,
)
from thalweg._src.estimator.warm_starts import (
    VocabInfo as VocabInfo,
    WarmStartSettings as WarmStartSettings,
)
from thalweg._src.training.checkpoint_hook import (
    CheckpointSaverHook as CheckpointSaverHook,
    CheckpointSaverListener as CheckpointSaverListener,
)
from thalweg._src.training.mode_keys import ModeKeys as ModeKeys
from thalweg._src.training.report_hooks import (
    LoggingTensorHook as LoggingTensorHook,
    ProfilerHook as ProfilerHook,
    SummarySaverHook as SummarySaverHook,
)
from thalweg._src.training.session_run_hook import (
    SessionRunArgs as SessionRunArgs,
    SessionRunContext as SessionRunContext,
    SessionRunHook as SessionRunHook,
    SessionRunValues as SessionRunValues,
)
from thalweg._src.training.step_hooks import (
    GlobalStepWaiterHook as GlobalStepWaiterHook,
    StepCounterHook as StepCounterHook,
    StopAtStepHook as StopAtStepHook,
)
from thalweg._src.training.timers import SecondOrStepTimer as SecondOrStepTimer
from thalweg._src.training.value_hooks import (
    FeedFnHook as FeedFnHook,
    FinalOpsHook as FinalOpsHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.estimator import experimental as experimental
    from thalweg.estimator import export as export
    from thalweg.estimator import inputs as inputs
    from thalweg.estimator import tpu as tpu

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["experimental", "export", "inputs", "tpu"],
    {},
)

__all__ = [
    "BaselineClassifier", "BaselineEstimator", "BaselineRegressor", "BestExporter", "BinaryClassHead",
    "CheckpointSaverHook", "CheckpointSaverListener", "DNNClassifier", "DNNEstimator", "DNNLinearCombinedClassifier",
    "DNNLinearCombinedEstimator", "DNNLinearCombinedRegressor", "DNNRegressor", "Estimator", "EstimatorSpec",
    "EvalSpec", "Exporter", "FeedFnHook", "FinalExporter", "FinalOpsHook", "GlobalStepWaiterHook", "Head",
    "LatestExporter", "LinearClassifier", "LinearEstimator", "LinearRegressor", "LoggingTensorHook",
    "LogisticRegressionHead", "ModeKeys", "MultiClassHead", "MultiHead", "MultiLabelHead", "NanLossDuringTrainingError",
    "NanTensorHook", "PoissonRegressionHead", "ProfilerHook", "RegressionHead", "RunConfig", "SecondOrStepTimer",
    "SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues", "StepCounterHook", "StopAtStepHook",
    "SummarySaverHook", "TrainSpec", "VocabInfo", "WarmStartSettings", "add_metrics", "classifier_parse_example_spec",
    "experimental", "export", "inputs", "regressor_parse_example_spec", "tpu", "train_and_evaluate",
]
