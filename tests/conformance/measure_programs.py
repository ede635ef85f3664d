"""Small programs of tf.losses, tf.metrics and tf.summary, each a function of `tf` that returns what it found.

Needs neither Thalweg nor TensorFlow itself, so both Pythons can load it.
"""

import itertools
import zlib

import numpy as np


def _rng(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def _error(tf, error):
    """Returns the class of an error that a program would catch."""
    known = (tf.errors.InvalidArgumentError, ValueError, TypeError)
    return next((kind.__name__ for kind in known if isinstance(error, kind)), type(error).__name__)


def _fed(tf, array, known):
    """Returns a placeholder for an array: with its shape, with its rank, or with nothing known."""
    shape = {"shape": array.shape, "rank": [None] * array.ndim, "none": None}[known]
    return tf.placeholder(tf.as_dtype(array.dtype), shape)


# -- losses -----------------------------------------------------------------------------------------------------------

LOSSES = {
    "absolute_difference": {},
    "cosine_distance": {"axis": 1},
    "hinge_loss": {},
    "huber_loss": {"delta": 0.7},
    "log_loss": {},
    "mean_pairwise_squared_error": {},
    "mean_squared_error": {},
    "sigmoid_cross_entropy": {"label_smoothing": 0.1},
    "softmax_cross_entropy": {"label_smoothing": 0.2},
    "sparse_softmax_cross_entropy": {},
}
REDUCTIONS = (
    "none",
    "weighted_sum",
    "weighted_mean",
    "weighted_sum_over_batch_size",
    "weighted_sum_by_nonzero_weights",
)
WEIGHTS = {
    "one": lambda rows, columns: 1.0,
    "zero": lambda rows, columns: 0.0,
    "scalar": lambda rows, columns: np.float32(2.5),
    "row": lambda rows, columns: np.arange(rows, dtype=np.float32).reshape(rows, 1),
    "column": lambda rows, columns: np.arange(columns, dtype=np.float32).reshape(1, columns) - 1,
    "vector": lambda rows, columns: np.arange(rows, dtype=np.float32),
    "each": lambda rows, columns: (np.arange(rows * columns) % 3).astype(np.float32).reshape(rows, columns),
    "more": lambda rows, columns: np.ones((rows + 1, columns), np.float32),
    "rank 3": lambda rows, columns: np.ones((rows, columns, 1), np.float32),
}


def _loss(name, weights, reduction, known):
    """A loss, its gradient and its collection, or the class of its error."""

    def program(tf):
        rng = _rng(name)
        labels = (rng.random((4, 3)) > 0.5).astype(np.float32)
        predictions = rng.random((4, 3)).astype(np.float32)
        if name == "sparse_softmax_cross_entropy":
            labels = rng.integers(0, 3, (4, 1))
        feeds, arguments = {}, []
        for array in (labels, predictions):
            arguments.append(_fed(tf, array, known))
            feeds[arguments[-1]] = array
        factors = WEIGHTS[weights](4, 3)
        if isinstance(factors, np.ndarray):
            array, factors = factors, _fed(tf, factors, known)
            feeds[factors] = array
        options = {} if name == "mean_pairwise_squared_error" else {"reduction": reduction}
        try:
            loss = getattr(tf.losses, name)(*arguments, weights=factors, **LOSSES[name], **options)
            gradient = tf.gradients(loss, arguments[1])[0]
        except Exception as error:
            return {"error": _error(tf, error)}
        found = {"collected": tf.losses.get_losses() == [loss], "dtype": loss.dtype.name}
        with tf.Session() as session:
            try:
                found["value"], found["gradient"] = session.run([loss, gradient], feeds)
            except Exception as error:
                return {"error": _error(tf, error)}
        return found

    return program


def _total_loss(tf):
    """Names, scopes and collections of losses."""
    with tf.variable_scope("outer"):
        first = tf.losses.mean_squared_error([1.0, 2.0], [3.0, 5.0])
        second = tf.losses.absolute_difference([1.0], [3.0], scope="mine")
    left_out = tf.losses.hinge_loss([1.0], [0.5], loss_collection=None)
    own = tf.losses.compute_weighted_loss(tf.constant([1.0, 2.0], tf.float64), 3.0, loss_collection="own")
    tf.losses.add_loss(tf.constant(7.0))
    tf.get_variable("w", [2], initializer=tf.ones_initializer(), regularizer=lambda w: 0.5 * tf.reduce_sum(w * w))
    total, scoped = tf.losses.get_total_loss(), tf.losses.get_total_loss(scope="outer", name="scoped")
    plain = tf.losses.get_total_loss(add_regularization_losses=False)
    nothing = tf.losses.get_regularization_loss(scope="nowhere")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run([first, second, left_out, own, total, scoped, plain, nothing])
        values.append(session.run(tf.losses.get_regularization_loss()))
    return {
        "values": values,
        "names": [tensor.name for tensor in (first, second, left_out, own, total, scoped)],
        "counts": [len(tf.losses.get_losses()), len(tf.losses.get_losses(loss_collection="own"))],
    }


def _of_type(dtype):
    """Losses of numbers that are not float32."""

    def program(tf):
        a, b = np.array([[1, 0, 1], [0, 1, 1]], dtype), np.array([[0, 1, 1], [0, 0, 1]], dtype)
        losses = [tf.losses.mean_squared_error(a, b), tf.losses.absolute_difference(a, b, weights=2)]
        if np.dtype(dtype).kind == "f":
            losses.append(tf.losses.sigmoid_cross_entropy(a, b))
            losses.append(tf.losses.softmax_cross_entropy(a, b, weights=[1.0, 0.0]))
        with tf.Session() as session:
            return {"values": session.run(losses), "dtypes": [loss.dtype.name for loss in losses]}

    return program


# -- metrics ----------------------------------------------------------------------------------------------------------

_BATCHES = 3


def _truths(rng, shape):
    return rng.random(shape) > 0.4


def _probabilities(rng, shape):
    return rng.random(shape).astype(np.float32)


def _numbers(rng, shape):
    return rng.normal(size=shape).astype(np.float32)


def _classes(rng, shape):
    return rng.integers(0, 5, shape)


# The kind of labels and of predictions, and further arguments by name.
METRICS = {
    "accuracy": (_classes, _classes, {}),
    "auc": (_truths, _probabilities, {"num_thresholds": 17}),
    "false_negatives": (_truths, _truths, {}),
    "false_negatives_at_thresholds": (_truths, _probabilities, {"thresholds": [0.1, 0.5, 0.9]}),
    "false_positives": (_truths, _truths, {}),
    "false_positives_at_thresholds": (_truths, _probabilities, {"thresholds": [0.1, 0.5, 0.9]}),
    "mean_absolute_error": (_numbers, _numbers, {}),
    "mean_cosine_distance": (_numbers, _numbers, {"dim": 0}),
    "mean_squared_error": (_numbers, _numbers, {}),
    "precision": (_truths, _truths, {}),
    "precision_at_thresholds": (_truths, _probabilities, {"thresholds": [0.1, 0.5, 0.9]}),
    "recall": (_truths, _truths, {}),
    "recall_at_thresholds": (_truths, _probabilities, {"thresholds": [0.1, 0.5, 0.9]}),
    "root_mean_squared_error": (_numbers, _numbers, {}),
    "sensitivity_at_specificity": (_truths, _probabilities, {"specificity": 0.6, "num_thresholds": 11}),
    "specificity_at_sensitivity": (_truths, _probabilities, {"sensitivity": 0.6, "num_thresholds": 11}),
    "true_negatives": (_truths, _truths, {}),
    "true_negatives_at_thresholds": (_truths, _probabilities, {"thresholds": [0.1, 0.5, 0.9]}),
    "true_positives": (_truths, _truths, {}),
    "true_positives_at_thresholds": (_truths, _probabilities, {"thresholds": [0.1, 0.5, 0.9]}),
}
METRIC_WEIGHTS = ("no", "scalar", "row", "each", "more", "vector")


def _run_metric(tf, made, feeds):
    """Runs a metric over batches; returns values, updates and names, or the class of its error."""
    try:
        value, update = made(tf)
    except Exception as error:
        return {"error": _error(tf, error)}
    found = {
        "variables": sorted(v.name for v in tf.local_variables()),
        "metric variables": len(tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)),
        "collected": [tf.get_collection("values") == [value], tf.get_collection("updates") == [update]],
        "dtypes": [value.dtype.base_dtype.name, update.dtype.base_dtype.name],
        "steps": [],
    }
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        try:
            found["steps"].append(session.run(value))
            for feed in feeds(tf):
                found["steps"].append(session.run(update, feed))
                found["steps"].append(session.run(value))
        except Exception as error:
            return {"error": _error(tf, error)}
    return found


def _metric(name, weights, known, **options):
    """A metric of labels and predictions over batches of which the last has a column more of nothing."""

    def program(tf):
        rng = _rng(name)
        labels_of, predictions_of, arguments = METRICS[name]
        batches = [(labels_of(rng, (4, 3)), predictions_of(rng, (4, 3))) for _ in range(_BATCHES)]
        tensors = [_fed(tf, array, known) for array in batches[0]]
        factors = None if weights == "no" else WEIGHTS[weights](4, 3)
        extra = {}
        if isinstance(factors, np.ndarray):
            array, factors = factors, _fed(tf, factors, known)
            extra[factors] = array

        def made(tf):
            collections = {"metrics_collections": "values", "updates_collections": "updates"}
            return getattr(tf.metrics, name)(*tensors, weights=factors, **collections, **arguments, **options)

        return _run_metric(tf, made, lambda tf: [{**dict(zip(tensors, batch)), **extra} for batch in batches])

    return program


def _values_metric(name, weights, **arguments):
    """A metric of values alone."""

    def program(tf):
        batches = [_numbers(_rng(f"{name}{i}"), (4, 3)) for i in range(_BATCHES)]
        tensor = tf.placeholder(tf.float32, [4, 3])
        factors = None if weights == "no" else WEIGHTS[weights](4, 3)

        def made(tf):
            collections = {"metrics_collections": ["values"], "updates_collections": ["updates"]}
            return getattr(tf.metrics, name)(tensor, weights=factors, **collections, **arguments)

        return _run_metric(tf, made, lambda tf: [{tensor: batch} for batch in batches])

    return program


def _class_metric(name, weights):
    """A metric of classes, of which one is never seen."""

    def program(tf):
        rng = _rng(name)
        batches = [(_classes(rng, (4, 3)), _classes(rng, (4, 3))) for _ in range(_BATCHES)]
        tensors = [tf.placeholder(tf.int64, [4, 3]) for _ in range(2)]
        factors = None if weights == "no" else tf.constant(np.broadcast_to(WEIGHTS[weights](4, 3), (4, 3)))

        def made(tf):
            collections = {"metrics_collections": "values", "updates_collections": "updates"}
            return getattr(tf.metrics, name)(*tensors, num_classes=6, weights=factors, **collections)

        return _run_metric(tf, made, lambda tf: [dict(zip(tensors, batch)) for batch in batches])

    return program


def _relative_error(tf):
    rng = _rng("relative")
    batches = [[_numbers(rng, (4, 3)) for _ in range(2)] + [np.round(_numbers(rng, (4, 3)))] for _ in range(_BATCHES)]
    tensors = [tf.placeholder(tf.float32, [None, 3]) for _ in range(3)]
    made = lambda tf: tf.metrics.mean_relative_error(*tensors)  # noqa: E731
    return _run_metric(tf, made, lambda tf: [dict(zip(tensors, batch)) for batch in batches])


RANKING = ("precision_at_k", "recall_at_k", "average_precision_at_k", "precision_at_top_k", "recall_at_top_k")
LABELS = ("one", "dense", "sparse")


def _ranked(name, labels, weights, class_id=None, k=3):
    """A metric of the k best of 7 classes; labels beyond the classes and missing ones are among the labels."""

    def program(tf):
        rng = _rng(name + labels)
        batches = []
        for _ in range(_BATCHES):
            predictions = rng.permuted(np.tile(np.arange(7.0, dtype=np.float32), (4, 1)), axis=1)
            if name.endswith("top_k"):
                predictions = np.argsort(-predictions, axis=1)[:, :k].astype(np.int64)
            batches.append(
                (rng.integers(-1 if labels == "dense" else 0, 9, (4, 1 if labels == "one" else 2)), predictions)
            )
        scores = tf.placeholder(batches[0][1].dtype, batches[0][1].shape)
        if labels == "sparse":
            parts = [tf.placeholder(tf.int64, shape) for shape in ([None, 2], [None], [2])]
            truth = tf.SparseTensor(*parts)
        else:
            truth = tf.placeholder(tf.int64, [4, 2] if labels == "dense" else [4])
        factors = None if weights == "no" else tf.constant([0.0, 1.0, 2.0, 3.0] if weights == "vector" else 2.0)

        def made(tf):
            options = {} if class_id is None else {"class_id": class_id}
            collections = {"metrics_collections": "values", "updates_collections": "updates"}
            return getattr(tf.metrics, name)(truth, scores, k=k, weights=factors, **collections, **options)

        def feeds(tf):
            for classes, predictions in batches:
                given = classes[:, 0] if labels == "one" else classes
                if labels == "sparse":
                    places = np.argwhere((classes + np.arange(2)) % 4 > 0)
                    yield {**dict(zip(parts, (places, classes[tuple(places.T)], [4, 2]))), scores: predictions}
                else:
                    yield {truth: given, scores: predictions}

        found = _run_metric(tf, made, feeds)
        if name == "average_precision_at_k":
            del found["variables"]  # there "max_1", after an operation Max that nothing needs here
        return found

    return program


def _metric_names(tf):
    """Names of metrics made twice, in scopes and by name."""
    tensors = []
    for name in (None, "mine", None):
        with tf.variable_scope("outer"):
            tensors += tf.metrics.accuracy([1, 2], [1, 3], name=name)
            tensors += tf.metrics.precision([True], [False], name=name)
            tensors += tf.metrics.auc([True], tf.constant([0.5]), name=name)
            tensors += tf.metrics.recall_at_k(np.array([[1]]), [[0.1, 0.2]], 1, name=name)
    return {"variables": sorted(v.name for v in tf.local_variables()), "count": len(tensors)}


# -- summaries --------------------------------------------------------------------------------------------------------


def _hex(value):
    return value.hex()


def _refused(tf, error):
    """Returns the class of an error; what TensorFlow sees only in the step may be seen while the graph is built."""
    name = _error(tf, error)
    return "refused" if name in ("ValueError", "InvalidArgumentError") else name


def _summarized(make):
    """The bytes of a summary, or the class of the error."""

    def program(tf):
        try:
            summary = make(tf)
            with tf.Session() as session:
                return {"bytes": _hex(session.run(summary)), "name": summary.name}
        except Exception as error:
            return {"error": _refused(tf, error)}

    return program


_SPREAD = np.concatenate([np.random.default_rng(5).normal(size=900) * 10.0 ** np.arange(-15, 15).repeat(30), [0, -0.0]])
HISTOGRAMS = {
    "normal": np.random.default_rng(3).normal(size=(50, 7)).astype(np.float32),
    "spread": _SPREAD,
    "empty": np.empty(0, np.float32),
    "one": np.float32(3.5),
    "zeros": np.zeros(4, np.float64),
    "huge": np.array([1e300, -1e300, 2.0]),
    "half": np.array([1.5, -2.5, 7], np.float16),
    "nan": np.array([1, np.nan], np.float32),
    "infinity": np.array([1, np.inf], np.float32),
    **{
        dtype: np.array([0, 1, 2, 100, 7, 7], dtype)
        for dtype in ("int8", "int32", "int64", "uint8", "uint16", "uint64")
    },
}


def _pictures(name):
    rng = _rng(name)
    pictures = rng.random((4, 5, 6, 3))
    if "negative" in name:
        pictures = pictures * 3 - 1
    if "nan" in name:
        pictures[1, 2, 3, 1], pictures[2, 0, 0, 2] = np.nan, np.inf
    if "small" in name:
        pictures *= 1e-8
    if "gray" in name:
        pictures = pictures[..., :1]
    if "alpha" in name:
        pictures = np.concatenate([pictures, pictures[..., :1]], -1)
    if "channels" in name:
        pictures = pictures[..., :2]
    if "none" in name:
        pictures = pictures[:0]
    return pictures


IMAGES = ("plain", "negative", "nan", "negative nan", "small", "gray", "alpha", "channels", "none")


def _image(name, dtype, **options):
    """The pixels, sizes and tags of an image summary."""

    def program(tf):
        pictures = _pictures(name)
        pictures = (pictures * 255).astype(np.uint8) if dtype == "uint8" else pictures.astype(dtype)
        try:
            summary = tf.summary.image("pictures", tf.constant(pictures), **options)
            with tf.Session() as session:
                message = tf.summary.Summary.FromString(session.run(summary))
                pixels = [session.run(tf.image.decode_png(v.image.encoded_image_string)) for v in message.value]
        except Exception as error:
            return {"error": _refused(tf, error)}
        sizes = [[v.image.height, v.image.width, v.image.colorspace] for v in message.value]
        return {"tags": [v.tag for v in message.value], "sizes": sizes, "pixels": pixels}

    return program


def _tags(tf):
    """Names and tags of summaries in scopes, with families, and made twice."""
    with tf.name_scope("outer"):
        summaries = [
            tf.summary.scalar("a", 1.0),
            tf.summary.scalar("a", 2.0),
            tf.summary.scalar("b c:d", 3.0),
            tf.summary.scalar("/e", 4.0),
            tf.summary.scalar("f", 5.0, family="family"),
            tf.summary.histogram("g", [1.0], family="family", collections=["own"]),
            tf.summary.text("h", tf.constant("text")),
        ]
        merged = tf.summary.merge(summaries[:3])
        named = tf.summary.merge(summaries[:2], name="both", collections=["own"])
    everything = tf.summary.merge_all()
    with tf.Session() as session:
        values = session.run([*summaries, merged, named, everything, tf.summary.merge_all(scope="outer/a")])
    tensors = [*summaries, merged, named, everything]
    return {
        "names": [tensor.name for tensor in tensors],
        "types": [tensor.op.type for tensor in tensors],
        "bytes": [_hex(value) for value in values],
        "collections": [len(tf.get_collection(key)) for key in ("summaries", "own")],
        "none": tf.summary.merge_all("nothing"),
    }


def _summary_programs():
    found = {"summary/tags": _tags}
    for name, values in HISTOGRAMS.items():
        found[f"summary/histogram/{name}"] = _summarized(lambda tf, v=values: tf.summary.histogram("h", tf.constant(v)))
    for dtype in ("float32", "float64", "float16", "int32", "uint8", "int64"):
        found[f"summary/scalar/{dtype}"] = _summarized(lambda tf, d=dtype: tf.summary.scalar("s", tf.constant(7, d)))
        found[f"summary/tensor/{dtype}"] = _summarized(
            lambda tf, d=dtype: tf.summary.tensor_summary("t", tf.constant([[1, 2, 3]], d), display_name="shown")
        )
    for name in IMAGES:
        for dtype in ("uint8", "float32", "float16", "float64"):
            if dtype != "uint8" or name in ("plain", "gray", "alpha", "channels", "none"):
                found[f"summary/image/{name}/{dtype}"] = _image(name, dtype)
    found["summary/image/one"] = _image("plain", "float32", max_outputs=1)
    found["summary/image/many"] = _image("plain", "float32", max_outputs=9, family="f")
    sound = np.sin(np.arange(60, dtype=np.float32)).reshape(2, 10, 3) * 1.2
    for name, rate, shape in (
        ("3", 44.4, (2, 10, 3)),
        ("2", 8000.0, (2, 30)),
        ("low", 0.2, (6, 10)),
        ("bad", 0.0, (2, 30)),
    ):
        found[f"summary/audio/{name}"] = _summarized(
            lambda tf, r=rate, s=shape: tf.summary.audio("a", tf.constant(sound.reshape(s)), r)
        )
    found |= {
        "summary/audio/rank": _summarized(lambda tf: tf.summary.audio("a", tf.constant(sound[0, 0]), 1.0)),
        "summary/scalar/shape": _summarized(
            lambda tf: tf.summary.scalar("s", tf.placeholder_with_default([1.0], None))
        ),
        "summary/scalar/infinity": _summarized(lambda tf: tf.summary.scalar("s", np.inf)),
        "summary/scalar/big": _summarized(lambda tf: tf.summary.scalar("s", tf.constant(1e300, tf.float64))),
        "summary/text": _summarized(lambda tf: tf.summary.text("t", tf.constant([["a", "b"], ["c", "d"]]))),
        "summary/text/number": _summarized(lambda tf: tf.summary.text("t", tf.constant(1))),
        "summary/empty tensor": _summarized(lambda tf: tf.summary.tensor_summary("t", tf.constant([], tf.int32))),
        "summary/described": _summarized(
            lambda tf: tf.summary.tensor_summary("t", tf.constant([True]), summary_description="said", family="f")
        ),
        "summary/merge/garbage": _summarized(lambda tf: tf.summary.merge([tf.constant(b"\xff\xff"), tf.constant("")])),
        "summary/merge/twice": _summarized(lambda tf: tf.summary.merge([tf.summary.scalar("s", 1.0)] * 2)),
        "summary/merge/vector": _summarized(lambda tf: tf.summary.merge([tf.stack([tf.summary.scalar("s", 1.0), ""])])),
    }
    return found


# -- the table --------------------------------------------------------------------------------------------------------


def programs():
    """Returns all programs by name."""
    found = {"total loss": _total_loss, "metric names": _metric_names, "mean_relative_error": _relative_error}
    for name, weights in itertools.product(LOSSES, WEIGHTS):
        for reduction in REDUCTIONS if weights in ("one", "each") else REDUCTIONS[-1:]:
            found[f"{name}/{weights}/{reduction}"] = _loss(name, weights, reduction, "shape")
        for known in ("rank", "none"):
            found[f"{name}/{weights}/{known}"] = _loss(name, weights, REDUCTIONS[-1], known)
    found |= {f"losses/{dtype}": _of_type(dtype) for dtype in ("float64", "float16", "int32", "uint8", "bool")}
    for name, weights in itertools.product(METRICS, METRIC_WEIGHTS):
        found[f"{name}/{weights}"] = _metric(name, weights, "shape")
        if weights in ("no", "row", "vector"):
            found[f"{name}/{weights}/none"] = _metric(name, weights, "none")
    for curve, method in itertools.product(
        ("ROC", "PR"), ("trapezoidal", "careful_interpolation", "minoring", "majoring")
    ):
        found[f"auc/{curve}/{method}"] = _metric("auc", "no", "shape", curve=curve, summation_method=method)
    found["auc/thresholds"] = _metric("auc", "each", "shape", thresholds=[0.7, 0.2, 0.3])
    found["auc/bad curve"] = _metric("auc", "no", "shape", curve="X")
    for weights in METRIC_WEIGHTS:
        found[f"mean/{weights}"] = _values_metric("mean", weights)
        found[f"mean_tensor/{weights}"] = _values_metric("mean_tensor", weights)
        found[f"percentage_below/{weights}"] = _values_metric("percentage_below", weights, threshold=0.3)
    for name, weights in itertools.product(("mean_iou", "mean_per_class_accuracy"), ("no", "each", "row")):
        found[f"{name}/{weights}"] = _class_metric(name, weights)
    for name, labels, weights in itertools.product(RANKING, LABELS, ("no", "scalar", "vector")):
        if labels == "one" and name == "average_precision_at_k":
            continue
        found[f"{name}/{labels}/{weights}"] = _ranked(name, labels, weights)
        if name != "average_precision_at_k":
            found[f"{name}/{labels}/{weights}/class"] = _ranked(name, labels, weights, class_id=2)
    return found | _summary_programs()


def run(tf, program):
    """Runs a program in a graph of its own; returns what it found as plain lists."""
    with tf.Graph().as_default():
        return _plain(program(tf))


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value)
        return {"shape": list(value.shape), "dtype": value.dtype.name, "values": value.astype(float).ravel().tolist()}
    return value
