"""tf.estimator.export: How exported models take their inputs and name their outputs."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.estimator.export_outputs import (
    ClassificationOutput as ClassificationOutput,
    EvalOutput as EvalOutput,
    ExportOutput as ExportOutput,
    PredictOutput as PredictOutput,
    RegressionOutput as RegressionOutput,
)
from thalweg._src.estimator.exporting import (
    ServingInputReceiver as ServingInputReceiver,
    TensorServingInputReceiver as TensorServingInputReceiver,
    build_parsing_serving_input_receiver_fn as build_parsing_serving_input_receiver_fn,
    build_raw_serving_input_receiver_fn as build_raw_serving_input_receiver_fn,
)

__all__ = [
    "ClassificationOutput", "EvalOutput", "ExportOutput", "PredictOutput", "RegressionOutput", "ServingInputReceiver",
    "TensorServingInputReceiver", "build_parsing_serving_input_receiver_fn", "build_raw_serving_input_receiver_fn",
]
