"""tf.keras.metrics: Metrics."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.losses.functions import (
    binary_crossentropy as binary_crossentropy,
    categorical_crossentropy as categorical_crossentropy,
    cosine_similarity as cosine,
    cosine_similarity as cosine_proximity,
    hinge as hinge,
    kullback_leibler_divergence as KLD,
    kullback_leibler_divergence as kld,
    kullback_leibler_divergence as kullback_leibler_divergence,
    mean_absolute_error as MAE,
    mean_absolute_error as mae,
    mean_absolute_error as mean_absolute_error,
    mean_absolute_percentage_error as MAPE,
    mean_absolute_percentage_error as mape,
    mean_absolute_percentage_error as mean_absolute_percentage_error,
    mean_squared_error as MSE,
    mean_squared_error as mean_squared_error,
    mean_squared_error as mse,
    mean_squared_logarithmic_error as MSLE,
    mean_squared_logarithmic_error as mean_squared_logarithmic_error,
    mean_squared_logarithmic_error as msle,
    poisson as poisson,
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
    squared_hinge as squared_hinge,
)
from thalweg._src.keras.metrics.accuracy import (
    Accuracy as Accuracy,
    BinaryAccuracy as BinaryAccuracy,
    CategoricalAccuracy as CategoricalAccuracy,
    SparseCategoricalAccuracy as SparseCategoricalAccuracy,
    SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy,
    TopKCategoricalAccuracy as TopKCategoricalAccuracy,
    binary_accuracy as binary_accuracy,
    categorical_accuracy as categorical_accuracy,
    sparse_categorical_accuracy as sparse_categorical_accuracy,
    sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy,
    top_k_categorical_accuracy as top_k_categorical_accuracy,
)
from thalweg._src.keras.metrics.base import (
    Mean as Mean,
    MeanRelativeError as MeanRelativeError,
    MeanTensor as MeanTensor,
    Metric as Metric,
    Sum as Sum,
)
from thalweg._src.keras.metrics.confusion import (
    FalseNegatives as FalseNegatives,
    FalsePositives as FalsePositives,
    MeanIoU as MeanIoU,
    Precision as Precision,
    Recall as Recall,
    TrueNegatives as TrueNegatives,
    TruePositives as TruePositives,
)
from thalweg._src.keras.metrics.curves import (
    AUC as AUC,
    SensitivityAtSpecificity as SensitivityAtSpecificity,
    SpecificityAtSensitivity as SpecificityAtSensitivity,
)
from thalweg._src.keras.metrics.lookup import (
    deserialize as deserialize,
    get as get,
    serialize as serialize,
)
from thalweg._src.keras.metrics.means import (
    BinaryCrossentropy as BinaryCrossentropy,
    CategoricalCrossentropy as CategoricalCrossentropy,
    CategoricalHinge as CategoricalHinge,
    CosineSimilarity as CosineSimilarity,
    Hinge as Hinge,
    KLDivergence as KLDivergence,
    LogCoshError as LogCoshError,
    MeanAbsoluteError as MeanAbsoluteError,
    MeanAbsolutePercentageError as MeanAbsolutePercentageError,
    MeanSquaredError as MeanSquaredError,
    MeanSquaredLogarithmicError as MeanSquaredLogarithmicError,
    Poisson as Poisson,
    RootMeanSquaredError as RootMeanSquaredError,
    SparseCategoricalCrossentropy as SparseCategoricalCrossentropy,
    SquaredHinge as SquaredHinge,
)

__all__ = [
    "AUC", "Accuracy", "BinaryAccuracy", "BinaryCrossentropy", "CategoricalAccuracy", "CategoricalCrossentropy",
    "CategoricalHinge", "CosineSimilarity", "FalseNegatives", "FalsePositives", "Hinge", "KLD", "KLDivergence",
    "LogCoshError", "MAE", "MAPE", "MSE", "MSLE", "Mean", "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanIoU",
    "MeanRelativeError", "MeanSquaredError", "MeanSquaredLogarithmicError", "MeanTensor", "Metric", "Poisson",
    "Precision", "Recall", "RootMeanSquaredError", "SensitivityAtSpecificity", "SparseCategoricalAccuracy",
    "SparseCategoricalCrossentropy", "SparseTopKCategoricalAccuracy", "SpecificityAtSensitivity", "SquaredHinge", "Sum",
    "TopKCategoricalAccuracy", "TrueNegatives", "TruePositives", "binary_accuracy", "binary_crossentropy",
    "categorical_accuracy", "categorical_crossentropy", "cosine", "cosine_proximity", "deserialize", "get", "hinge",
    "kld", "kullback_leibler_divergence", "mae", "mape", "mean_absolute_error", "mean_absolute_percentage_error",
    "mean_squared_error", "mean_squared_logarithmic_error", "mse", "msle", "poisson", "serialize",
    "sparse_categorical_accuracy", "sparse_categorical_crossentropy", "sparse_top_k_categorical_accuracy",
    "squared_hinge", "top_k_categorical_accuracy",
]
