"""Whole networks return in onnxruntime what they do in a session, for any number of examples."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.onnx_export.networks import (
    beam_search,
    bert,
    both_directions,
    detector,
    keras_images,
    keras_steps,
    seq2seq,
    words,
)
from tests.deploy.onnx_export.running import compare, random, types

nets = tf.contrib.slim.nets
IDS = np.array([[1, 2, 3, 4, 5], [6, 7, 8, 9, 0]], np.int32)
LENGTHS = np.array([3, 5], np.int32)
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
SMALL = random(2, 32, 32, 3)


def exported(build, *arrays, **options):
    """Compares a network of inputs whose number of examples is not known; returns the model."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        inputs = [tf.placeholder(array.dtype, [None, *array.shape[1:]], f"x{i}") for i, array in enumerate(arrays)]
        outputs = build(*inputs)
        outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            return compare(session, inputs, outputs, arrays, **options)


def _small_resnet(module, version):
    blocks = [
        module.__dict__[f"resnet_{version}_block"]("block1", base_depth=2, num_units=2, stride=2),
        module.__dict__[f"resnet_{version}_block"]("block2", base_depth=4, num_units=2, stride=1),
    ]
    return lambda x: getattr(module, f"resnet_{version}")(x, blocks, 5, is_training=False)[0]


@pytest.mark.parametrize(
    ("build", "transposes"),
    [
        (_small_resnet(nets.resnet_v1, "v1"), 2),
        (_small_resnet(nets.resnet_v2, "v2"), 2),
        (lambda x: nets.inception_v1.inception_v1_base(x, "Mixed_3c")[0], 2),
        (keras_images, 1),
    ],
    ids=["resnet_v1", "resnet_v2", "inception_v1", "keras"],
)
def test_networks_for_images(build, transposes):
    assert types(exported(build, SMALL)).count("Transpose") <= transposes


@pytest.fixture
def example(monkeypatch):
    """Returns a function that imports a program of the examples."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "examples"))
    return importlib.import_module


def test_networks_of_the_examples(example):
    exported(lambda x: example("resnet18").resnet18(x, 5, width=0.1), SMALL)
    exported(lambda x: example("alexnet").alexnet(x, 5, width=0.05), random(1, 227, 227, 3))
    exported(lambda x: example("digits").model(x, tf.constant(1.0)), random(2, 8, 8, 1))
    exported(lambda x: example("autoencoder").decoder(example("autoencoder").encoder(x, 3)), random(2, 64))


def test_a_detector_returns_the_boxes_that_do_not_overlap():
    assert "NonMaxSuppression" in types(exported(detector, random(2, 16, 16, 3)))


def test_a_transformer_has_no_loops_and_reads_its_sizes_from_its_inputs():
    found = types(exported(bert, IDS, MASK))
    assert "Loop" not in found and "Shape" in found


def test_a_transformer_of_static_shape_computes_no_sizes():
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(tf.int32, [None, None], name) for name in ("x0", "x1")]
        outputs = list(bert(*inputs))
        session.run(tf.global_variables_initializer())
        shapes = {"x0": [2, 5], "x1": [2, 5]}
        known = types(compare(session, inputs, outputs, [IDS, MASK], input_shapes=shapes))
        unknown = types(compare(session, inputs, outputs, [IDS, MASK]))
    assert "Shape" not in known and len(known) < len(unknown)


@pytest.mark.parametrize("build", [seq2seq, beam_search])
def test_decoders_are_loops(build):
    assert types(exported(build, IDS, LENGTHS)).count("Loop") >= 2  # one reads and one writes


def test_recurrent_networks():
    exported(both_directions, random(2, 5, 3))
    exported(keras_steps, random(2, 5, 3))
    exported(
        lambda x: tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(4), tf.unstack(x, axis=1), dtype=tf.float32)[0][-1],
        SMALL[:, :, 0],
    )


def test_words_are_looked_up_and_embedded():
    text = np.array([["river", "sea"], ["valley", "river"]], object)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [None, 2], "x0")
        y = words(x)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        compare(session, [x], [y], [text])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "size"),
    [
        (lambda x: nets.resnet_v1.resnet_v1_50(x, 5, is_training=False)[0], 64),
        (lambda x: nets.resnet_v2.resnet_v2_101(x, 5, is_training=False)[0], 64),
        (lambda x: nets.inception_v1.inception_v1(x, 5, is_training=False)[0], 224),
        (lambda x: nets.inception_v2.inception_v2(x, 5, is_training=False)[0], 224),
        (lambda x: nets.inception_v3.inception_v3(x, 5, is_training=False)[0], 299),
        (lambda x: nets.overfeat.overfeat(x, 5, is_training=False)[0], 231),
        (lambda x: nets.vgg.vgg_16(x, 5, is_training=False)[0], 224),
        *(
            (
                lambda x, name=name: getattr(tf.keras.applications, name)(
                    weights=None, input_tensor=x, classes=5
                ).output,
                224,
            )
            for name in ("MobileNet", "MobileNetV2", "DenseNet121", "NASNetMobile", "ResNet50")
        ),
    ],
)
def test_published_networks(build, size):
    exported(build, random(1, size, size, 3))
