"""ResNet-18 in onnxruntime, quantized to 8 bits and with floats (see README.md).

    python bench/quantized.py [--steps N] [--rounds N] [--save]

The network of examples/resnet18.py, with 64 to 512 channels, learns one half of scikit-learn's digits, enlarged;
ranges are measured on some of these images, and the other half is classified. Both models run alternately.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import environments
import numpy as np
import onnxruntime
import quiet
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import thalweg as tf

sys.path.insert(0, str(environments.ROOT / "examples"))
from resnet18 import resnet18

PIXELS, CLASSES, BATCH, SAMPLES, RATE = 64, 10, 32, 256, 1e-3
LATENCY_BATCHES, PATIENCE_SECONDS = (1, 32), 60
SIZE_TARGET, POINTS_TARGET = 0.27, 1.0
RESULTS = environments.ROOT / "bench" / "results" / "quantized.json"
Array = np.ndarray[Any, Any]


def digits() -> list[Array]:
    """Returns images to learn, images to classify, and the labels of both."""
    images, labels = load_digits(return_X_y=True)
    with tf.Graph().as_default(), tf.Session() as session:
        scans = (images / 16).reshape(-1, 8, 8, 1).astype(np.float32)
        large = session.run(tf.image.grayscale_to_rgb(tf.image.resize_images(scans, [PIXELS, PIXELS])))
    return train_test_split(large, labels, test_size=0.5, random_state=0)  # type: ignore[no-any-return]


def train(images: Array, labels: Array, steps: int, folder: Path) -> None:
    """Trains the network, and saves it as a SavedModel."""
    random = np.random.default_rng(1)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [None, PIXELS, PIXELS, 3], name="images")
        wanted = tf.placeholder(tf.int64, [None])
        loss = tf.losses.sparse_softmax_cross_entropy(wanted, resnet18(x, CLASSES, training=True))
        with tf.variable_scope("", reuse=True):
            logits = resnet18(x, CLASSES)
        step = tf.train.get_or_create_global_step()
        rate = tf.train.polynomial_decay(RATE, step, steps, RATE / 20)
        minimize = tf.train.AdamOptimizer(rate).minimize(loss, step)
        learn = tf.group(minimize, tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            chosen = random.integers(len(images), size=BATCH)
            session.run(learn, {x: images[chosen], wanted: labels[chosen]})
        tf.saved_model.simple_save(session, str(folder), {"images": x}, {"logits": logits})


def batches(images: Array) -> list[Array]:
    return [images[start : start + BATCH] for start in range(0, len(images), BATCH)]


def runtime(path: Path, threads: int) -> Any:
    """Returns a model as a function from images to logits."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # which would slow the other model down
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda images: session.run(None, {"images": images})[0]


def latencies(models: dict[str, Any], images: Array, rounds: int) -> dict[str, float]:
    """Returns the median milliseconds of each model for each size of a batch."""
    results = {}
    for size in LATENCY_BATCHES:
        quiet.wait((), PATIENCE_SECONDS)
        found: dict[str, list[float]] = {name: [] for name in models}
        for _ in range(rounds):
            for name, model in models.items():
                start = time.perf_counter()
                model(images[:size])
                found[name].append(1e3 * (time.perf_counter() - start))
        results |= {f"{name}_ms_batch_{size}": median(times) for name, times in found.items()}
    return results


def measure(folder: Path, steps: int, rounds: int, threads: int) -> dict[str, float]:
    """Trains, exports and runs the network; returns the figures."""
    learned, images, learned_labels, labels = digits()
    start = time.perf_counter()
    train(learned, learned_labels, steps, folder / "saved")
    seconds = time.perf_counter() - start
    paths = {name: folder / f"{name}.onnx" for name in ("float", "quantized")}
    tf.onnx.from_saved_model(folder / "saved", path=paths["float"])
    calibrated = tf.export.calibrate(str(folder / "saved"), batches(learned[:SAMPLES]))
    tf.onnx.from_graph_def(calibrated.graph_def, calibrated.inputs, calibrated.outputs, paths["quantized"])
    models = {name: runtime(path, threads) for name, path in paths.items()}

    def top_1(model: Any) -> float:
        return 100 * float(np.mean(np.concatenate([model(each) for each in batches(images)]).argmax(1) == labels))

    with tf.Graph().as_default(), tf.Session() as session:
        loaded = tf.saved_model.load(session, ["serve"], str(folder / "saved"))
        logits = loaded.signature_def["serving_default"].outputs["logits"].name
        accuracy = top_1(lambda batch: session.run(logits, {"images:0": batch}))
    sizes = {name: path.stat().st_size for name, path in paths.items()}
    return {
        **{f"{name}_bytes": size for name, size in sizes.items()},
        "size_ratio": sizes["quantized"] / sizes["float"],
        "held_out_images": len(images),
        "thalweg_top_1": accuracy,
        **{f"{name}_top_1": top_1(model) for name, model in models.items()},
        **latencies(models, images, rounds),
        "training_seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    threads = environments.two_cores()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        results = measure(Path(folder), options.steps, options.rounds, threads)
    for name, value in results.items():
        print(f"{name:26}{value:>14,}" if isinstance(value, int) else f"{name:26}{value:>14.3f}")
    lost = results["float_top_1"] - results["quantized_top_1"]
    print(f"size: {results['size_ratio'] / SIZE_TARGET:.2f} of limit; top-1: {lost:.2f} points of {POINTS_TARGET} lost")
    if options.save:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
