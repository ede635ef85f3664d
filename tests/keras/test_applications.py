"""Networks for images against Keras 2: their layers, their numbers, their files of weights, and their images."""

import json
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.keras.application_cases import NETWORKS, arguments_of, description_of, image_of, summary_of, weights_of
from thalweg._src.keras.applications import imagenet_utils

applications = tf.keras.applications
ANSWERS = json.loads((Path(__file__).parent.parent / "fixtures" / "keras_applications.json").read_text())
QUICK = ("DenseNet121", "InceptionV3", "MobileNet", "MobileNetV2", "NASNetMobile", "ResNet50", "ResNet50V2", "VGG16")
SMALL = ("MobileNet", "MobileNetV2")


def cases(quick):
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in NETWORKS]


@pytest.fixture(autouse=True)
def _fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize("name", cases(QUICK))
def test_layers_and_weights_are_those_of_keras(name):
    model = getattr(applications, name)(weights=None)
    expected = {key: value for key, value in ANSWERS["networks"][name].items() if key != "outputs"}
    assert description_of(model) == expected


def with_weights(name, **further):
    model = getattr(applications, name)(**{**arguments_of(name), **further})
    model.set_weights(weights_of([(weight.name, weight.shape.as_list()) for weight in model.weights]))
    return model


@pytest.mark.parametrize("name", cases(SMALL))
def test_outputs_are_those_of_keras(name):
    found = summary_of(with_weights(name).predict(image_of(name)))
    expected = ANSWERS["networks"][name]["outputs"]
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4 * max(map(abs, expected)))


def test_weights_come_from_a_file(tmp_path):
    model = with_weights("MobileNetV2")
    path = str(tmp_path / "weights.h5")
    model.save_weights(path)
    image = image_of("MobileNetV2")
    expected = model.predict(image)
    with tf.Graph().as_default():
        loaded = applications.MobileNetV2(**{**arguments_of("MobileNetV2"), "weights": path})
        np.testing.assert_array_equal(loaded.predict(image), expected)


def test_weights_of_imagenet_come_from_the_cache(tmp_path, monkeypatch):
    name = "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35_96_no_top.h5"
    (tmp_path / ".keras" / "models").mkdir(parents=True)
    model = with_weights("MobileNetV2", input_shape=(96, 96, 3), pooling=None)
    model.save_weights(str(tmp_path / ".keras" / "models" / name))
    expected = model.get_weights()
    with tf.Graph().as_default():
        found = applications.MobileNetV2(alpha=0.35, include_top=False, input_shape=(96, 96, 3)).get_weights()
    for value, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize(
    "make, file",
    [
        (lambda: applications.MobileNet(), "mobilenet_1_0_224_tf.h5"),
        (lambda: applications.MobileNet((128, 128, 3), 0.25, include_top=False), "mobilenet_2_5_128_tf_no_top.h5"),
        (lambda: applications.VGG16(include_top=False), "vgg16_weights_tf_dim_ordering_tf_kernels_notop.h5"),
        pytest.param(lambda: applications.NASNetMobile(), "nasnet_mobile.h5", marks=pytest.mark.slow),
    ],
)
def test_an_absent_file_of_weights_is_named_with_its_place(make, file, monkeypatch, tmp_path):
    def refused(origin, timeout):
        raise OSError("no network")

    monkeypatch.setattr("thalweg._src.keras.utils.cached_files.urlopen", refused)
    with pytest.raises(FileNotFoundError) as caught:
        make()
    assert str(tmp_path / ".keras" / "models" / file) in str(caught.value)
    assert "https://storage.googleapis.com/tensorflow/keras-applications/" in str(caught.value)


def test_a_network_continues_what_another_layer_has_computed():
    inputs = tf.keras.Input((40, 40, 1), name="gray")
    image = tf.keras.layers.Concatenate()([inputs] * 3)
    model = applications.VGG16(include_top=False, weights=None, input_tensor=image, pooling="max")
    assert model.inputs[0] is inputs
    assert model.layers[2].name == "block1_conv1"
    assert model.predict(np.zeros([1, 40, 40, 1])).shape == (1, 512)


def test_a_tensor_of_the_graph_is_the_image():
    given = tf.constant(image_of("VGG16"))
    model = applications.VGG16(include_top=False, weights=None, input_tensor=given, input_shape=(32, 32, 3))
    assert model.layers[0].name.startswith("input")
    assert model.outputs[0].shape.as_list() == [2, 1, 1, 512]


def test_a_described_network_is_made_again():
    model = applications.InceptionResNetV2(weights=None, include_top=False, input_shape=(75, 75, 3))
    with tf.Graph().as_default():
        assert description_of(tf.keras.Model.from_config(model.get_config())) == description_of(model)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"weights": "absent.h5"}, "the path of a file, received 'absent.h5', which does not exist"),
        ({"weights": "imagenet", "classes": 10}, "there are 1000, received 10"),
        ({"weights": None, "pooling": "sum"}, 'expected None, "avg" or "max", received \'sum\''),
        ({"weights": None, "input_shape": (20, 40, 3)}, "sizes of at least 32"),
        ({"weights": None, "input_shape": (None, None, 3)}, "expected known sizes with include_top=True"),
        ({"weights": None, "input_shape": (32, 32)}, "two sizes and the number of channels"),
        ({"weights": "imagenet", "input_shape": (64, 64, 3)}, "the sizes are 224, received"),
        ({"weights": "imagenet", "include_top": False, "input_shape": (64, 64, 1)}, "are for 3 channels"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        applications.ResNet50(**arguments)


def test_factors_without_weights_of_imagenet_are_refused():
    with pytest.raises(ValueError, match=r"alpha of 0\.25, 0\.5, 0\.75, 1\.0, received .* alpha=0\.3"):
        applications.MobileNet(alpha=0.3)
    with pytest.raises(ValueError, match=r"alpha of 0\.35, .*, received 0\.3"):
        applications.MobileNetV2(alpha=0.3)


@pytest.mark.parametrize("mode", ["caffe", "tf", "torch"])
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("kind", ["array", "integers", "tensor"])
def test_images_are_prepared_as_by_keras(mode, data_format, kind):
    values = np.arange(24, dtype=np.float32).reshape(2, 2, 2, 3) * 10
    if data_format == "channels_first":
        values = values.transpose(0, 3, 1, 2)
    given = {"array": values.copy, "integers": lambda: values.astype(int), "tensor": lambda: tf.constant(values)}[
        kind
    ]()
    found = applications.imagenet_utils.preprocess_input(given, data_format, mode)
    if kind == "tensor":
        with tf.Session() as session:
            found = session.run(found)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.ravel(), ANSWERS["images"][f"{mode} {data_format}"], rtol=1e-5, atol=1e-4)


def test_each_module_prepares_images_for_its_networks():
    image = np.full([1, 1, 1, 3], 51.0)
    for module, mode in (("vgg19", "caffe"), ("resnet_v2", "tf"), ("densenet", "torch"), ("resnet50", "caffe")):
        found = getattr(applications, module).preprocess_input(image.copy())
        np.testing.assert_array_equal(found, imagenet_utils.preprocess_input(image.copy(), mode=mode))
    with pytest.raises(ValueError, match='expected "caffe", "tf" or "torch"'):
        imagenet_utils.preprocess_input(image, mode="jax")
    with pytest.raises(ValueError, match="data_format: expected"):
        imagenet_utils.preprocess_input(image, "last")


def test_predictions_are_named(tmp_path, monkeypatch):
    folder = tmp_path / ".keras" / "models"
    folder.mkdir(parents=True)
    file = folder / "imagenet_class_index.json"
    file.write_text(json.dumps({str(number): [f"n{number:08d}", f"thing_{number}"] for number in range(1000)}))
    monkeypatch.setattr(imagenet_utils, "_CLASSES_HASH", None)
    predictions = np.zeros([2, 1000])
    predictions[0, [3, 5]] = 0.25, 0.75
    predictions[1, 999] = 1.0
    found = applications.vgg16.decode_predictions(predictions, top=2)
    assert found[0] == [("n00000005", "thing_5", 0.75), ("n00000003", "thing_3", 0.25)]
    assert found[1][0] == ("n00000999", "thing_999", 1.0)
    with pytest.raises(ValueError, match=r"\[images, 1000\], received shape \(2, 10\)"):
        applications.vgg16.decode_predictions(predictions[:, :10])


def test_inputs_of_a_tensor_are_found():
    first, second = tf.keras.Input((3,)), tf.keras.Input((3,))
    total = tf.keras.layers.Add()([first, tf.keras.layers.Dense(3)(second)])
    assert tf.keras.utils.get_source_inputs(total) == [first, second]
    assert tf.keras.utils.get_source_inputs(first) == [first]
