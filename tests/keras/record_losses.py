"""Records the answers of tf_keras to losses and metrics in tests/fixtures/keras_losses.json.gz.

.venv-bench/tf/bin/python tests/keras/record_losses.py
"""

import gzip
import itertools
import json
import os
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf

FIXTURE = Path(__file__).parent.parent / "fixtures" / "keras_losses.json.gz"
REDUCTIONS = ("auto", "none", "sum", "sum_over_batch_size")

random = np.random.RandomState(7)


def distributions(*shape):
    values = random.uniform(0.05, 1.0, shape)
    return values / values.sum(-1, keepdims=True)


def one_hot(classes, depth):
    return np.eye(depth)[classes]


REAL = random.normal(size=(3, 4)), random.normal(size=(3, 4))
POSITIVE = random.uniform(0.1, 3, (3, 4)), random.uniform(0.1, 3, (3, 4))
BITS = random.randint(0, 2, (3, 4)), np.clip(random.uniform(-0.1, 1.1, (3, 4)), 0, 1)
LOGITS = BITS[0], 3 * random.normal(size=(3, 4))
CLASSES = random.randint(0, 4, (3,))
COLUMN = random.randint(0, 2, (3,)), random.uniform(0.1, 0.9, (3, 1))
CUBE = random.normal(size=(3, 2, 4)), random.normal(size=(3, 2, 4))
SOFT = distributions(3, 4), distributions(3, 4)
HOT = one_hot(CLASSES, 4), distributions(3, 4)
HOT_LOGITS = one_hot(CLASSES, 4), 3 * random.normal(size=(3, 4))
STEPS = random.randint(0, 4, (3, 2)), distributions(3, 2, 4)
WEIGHTS = None, 2.5, [0.5, 2.0, 0.0], [[0.5], [2.0], [1.5]]

LOSSES = [
    ("MeanSquaredError", {}, REAL),
    ("MeanSquaredError", {}, CUBE),
    ("MeanSquaredError", {}, COLUMN),
    ("MeanAbsoluteError", {}, REAL),
    ("MeanAbsolutePercentageError", {}, POSITIVE),
    ("MeanAbsolutePercentageError", {}, BITS),
    ("MeanSquaredLogarithmicError", {}, POSITIVE),
    ("MeanSquaredLogarithmicError", {}, REAL),
    ("LogCosh", {}, (REAL[0], 30 * REAL[1])),
    ("Huber", {"delta": 0.7}, REAL),
    ("Hinge", {}, LOGITS),
    ("Hinge", {}, REAL),
    ("SquaredHinge", {}, LOGITS),
    ("CategoricalHinge", {}, HOT_LOGITS),
    ("BinaryCrossentropy", {}, BITS),
    ("BinaryCrossentropy", {}, COLUMN),
    ("BinaryCrossentropy", {"label_smoothing": 0.2}, BITS),
    ("BinaryCrossentropy", {"from_logits": True}, LOGITS),
    ("CategoricalCrossentropy", {}, HOT),
    ("CategoricalCrossentropy", {}, POSITIVE),
    ("CategoricalCrossentropy", {"label_smoothing": 0.2}, HOT),
    ("CategoricalCrossentropy", {"from_logits": True, "label_smoothing": 0.1}, HOT_LOGITS),
    ("SparseCategoricalCrossentropy", {}, (CLASSES, HOT[1])),
    ("SparseCategoricalCrossentropy", {}, (CLASSES[:, None], HOT[1])),
    ("SparseCategoricalCrossentropy", {}, STEPS),
    ("SparseCategoricalCrossentropy", {"from_logits": True}, (CLASSES, HOT_LOGITS[1])),
    ("KLDivergence", {}, SOFT),
    ("KLDivergence", {}, HOT),
    ("Poisson", {}, POSITIVE),
    ("CosineSimilarity", {}, REAL),
    ("CosineSimilarity", {"axis": 1}, CUBE),
]


def batches(make, *weights):
    """Returns three batches of targets and predictions, with weights."""
    return [[*make(), weight] for weight in (weights or (None, [0.5, 2.0, 1.5], None))]


def real():
    return random.normal(size=(3, 4)), random.normal(size=(3, 4))


def positive():
    return random.uniform(0.1, 3, (3, 4)), random.uniform(0.1, 3, (3, 4))


def bits():
    return random.randint(0, 2, (3, 4)), random.uniform(0, 1, (3, 4))


def column():
    return random.randint(0, 2, (3,)), random.uniform(0, 1, (3, 1))


def flat():
    return random.randint(0, 2, (3,)), random.uniform(0, 1, (3,))


def hot():
    return one_hot(random.randint(0, 4, (3,)), 4), distributions(3, 4)


def sparse():
    return random.randint(0, 4, (3,)), distributions(3, 4)


def steps():
    return random.randint(0, 4, (3, 2)), distributions(3, 2, 4)


def classes():
    return random.randint(0, 4, (3,)), random.randint(0, 4, (3,))


def values():
    return (random.normal(size=(3, 4)),)


def cubes():
    return (random.normal(size=(3, 2, 4)),)


METRICS = [
    ("Mean", {}, batches(values, None, 2.0, [1.0, 0.0, 3.0])),
    ("Mean", {}, batches(cubes, None, [1.0, 0.0, 3.0], [[1.0, 2.0]] * 3)),
    ("Sum", {}, batches(values, None, 2.0, [[1.0], [0.0], [3.0]])),
    ("Sum", {}, batches(cubes, None, [1.0, 0.0, 3.0])),
    ("MeanTensor", {}, batches(values, None, 2.0, [[1.0], [0.0], [3.0]])),
    ("MeanRelativeError", {"normalizer": [1.0, 0.0, 3.0, -2.0]}, batches(real)),
    ("Accuracy", {}, batches(classes)),
    ("BinaryAccuracy", {}, batches(bits)),
    ("BinaryAccuracy", {"threshold": 0.2}, batches(column)),
    ("CategoricalAccuracy", {}, batches(hot)),
    ("SparseCategoricalAccuracy", {}, batches(sparse)),
    ("SparseCategoricalAccuracy", {}, batches(steps)),
    ("TopKCategoricalAccuracy", {"k": 2}, batches(hot)),
    ("SparseTopKCategoricalAccuracy", {"k": 2}, batches(sparse)),
    ("SparseTopKCategoricalAccuracy", {"k": 3}, batches(steps)),
    ("MeanSquaredError", {}, batches(real)),
    ("RootMeanSquaredError", {}, batches(real)),
    ("MeanAbsoluteError", {}, batches(real)),
    ("MeanAbsolutePercentageError", {}, batches(positive)),
    ("MeanSquaredLogarithmicError", {}, batches(positive)),
    ("LogCoshError", {}, batches(real)),
    ("Hinge", {}, batches(bits)),
    ("SquaredHinge", {}, batches(real)),
    ("CategoricalHinge", {}, batches(hot)),
    ("KLDivergence", {}, batches(hot)),
    ("Poisson", {}, batches(positive)),
    ("CosineSimilarity", {}, batches(real)),
    ("BinaryCrossentropy", {"label_smoothing": 0.1}, batches(bits)),
    ("BinaryCrossentropy", {"from_logits": True}, batches(real)),
    ("CategoricalCrossentropy", {}, batches(hot)),
    ("SparseCategoricalCrossentropy", {}, batches(sparse)),
    ("SparseCategoricalCrossentropy", {"from_logits": True}, batches(steps)),
    *((name, {}, batches(bits)) for name in ("TruePositives", "TrueNegatives", "FalsePositives", "FalseNegatives")),
    *((name, {"thresholds": [0.2, 0.7]}, batches(flat)) for name in ("TruePositives", "FalseNegatives")),
    *((name, {}, batches(bits)) for name in ("Precision", "Recall")),
    *((name, {"thresholds": [0.0, 0.4, 0.9]}, batches(bits)) for name in ("Precision", "Recall")),
    *((name, {"top_k": 2}, batches(bits)) for name in ("Precision", "Recall")),
    *(
        (name, {"top_k": 2, "class_id": 1, "thresholds": 0.3}, batches(bits, None, None))
        for name in ("Precision", "Recall")
    ),
    *((name, {"class_id": 2}, batches(bits, None, 2.0)) for name in ("Precision", "Recall")),
    ("MeanIoU", {"num_classes": 4}, batches(classes)),
    *(
        ("AUC", {"curve": curve, "summation_method": method, "num_thresholds": 7}, batches(bits))
        for curve, method in itertools.product(("ROC", "PR"), ("interpolation", "minoring", "majoring"))
    ),
    ("AUC", {}, batches(flat)),
    ("AUC", {"curve": "PR"}, batches(bits)),
    ("AUC", {"thresholds": [0.1, 0.35, 0.8]}, batches(bits)),
]


def plain(value):
    """Returns a value as JSON has it; floats are those of float32."""
    if value is None or isinstance(value, float):
        return value
    array = np.asarray(value)
    return (array.astype(np.float32) if array.dtype.kind == "f" else array).tolist()


def tensors(given):
    return [
        None if x is None else tf.constant(np.asarray(x), None if np.asarray(x).dtype.kind == "i" else tf.float32)
        for x in given
    ]


def losses():
    for name, config, data in LOSSES:
        answers = []
        for weight, reduction in itertools.product(WEIGHTS, REDUCTIONS):
            if name == "Huber" and reduction in ("none", "sum"):  # in TensorFlow 1.15 each element has a loss
                continue
            y_true, y_pred, sample_weight = tensors([*data, weight])
            loss = getattr(tf.keras.losses, name)(reduction=reduction, **config)
            try:
                value = loss(y_true, y_pred, sample_weight)
            except tf.errors.InvalidArgumentError:  # weights that do not fit
                continue
            answers.append({"weight": weight, "reduction": reduction, "value": plain(value.numpy())})
        yield {"class": name, "config": config, "data": [plain(x) for x in data], "answers": answers}


def metrics():
    for name, config, updates in METRICS:
        metric = getattr(tf.compat.v1.keras.metrics, name)(**config)
        results = []
        for update in updates:
            *data, weight = tensors(update)
            metric.update_state(*data, sample_weight=weight)
            results.append(plain(metric.result().numpy()))
        yield {"class": name, "config": config, "updates": [[plain(x) for x in u] for u in updates], "results": results}


if __name__ == "__main__":
    recorded = json.dumps({"losses": list(losses()), "metrics": list(metrics())})
    FIXTURE.write_bytes(gzip.compress(recorded.encode(), mtime=0))
