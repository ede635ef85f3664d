"""Images as arrays, and batches of images that are changed at random, against Keras 2."""

import gzip
import io
import json
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import thalweg as tf
from tests.keras import image_cases
from thalweg._src.keras.preprocessing import image_transforms
from thalweg._src.keras.preprocessing.image_folders import DataFrameIterator

image = tf.keras.preprocessing.image
ANSWERS = json.loads(gzip.decompress((Path(__file__).parent.parent / "fixtures" / "keras_images.json.gz").read_bytes()))


def close(found, expected):
    np.testing.assert_allclose(np.ravel(found), np.ravel(expected), rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("name", image_cases.GENERATORS)
def test_random_changes_are_those_of_keras(name):
    x, y = image_cases.flowed(image.ImageDataGenerator, name)
    assert y.tolist() == ANSWERS["flows"][name]["y"] and x.dtype == np.float32
    close(x, ANSWERS["flows"][name]["x"])


@pytest.mark.parametrize("name", image_cases.FITTED)
def test_statistics_are_those_of_keras(name):
    close(image_cases.fitted(image.ImageDataGenerator, name), ANSWERS["fitted"][name])


@pytest.mark.parametrize("name", image_cases.FUNCTIONS)
def test_random_functions_are_those_of_keras(name):
    close(image_cases.called(image, name), ANSWERS["functions"][name])


def test_colors_change_within_their_range():
    picture = image_cases.IMAGES[0]
    brighter = image.apply_channel_shift(picture, 30.0, 2)
    np.testing.assert_array_equal(brighter, np.minimum(picture + 30, picture.max()))
    np.random.seed(1)
    amount = np.random.uniform(-30, 30)
    np.random.seed(1)
    found = image.random_channel_shift(picture, 30, 2)
    np.testing.assert_array_equal(found, np.clip(picture + amount, picture.min(), picture.max()))


def test_brightness_is_a_factor():
    gray = np.full([2, 2, 3], 100.0)
    gray[0, 0] = 0, 200, 255
    close(image.apply_brightness_shift(gray, 0.5, scale=False), gray // 2)
    np.random.seed(1)
    factor = np.random.uniform(0.5, 0.6)
    np.random.seed(1)
    found = image.random_brightness(gray, (0.5, 0.6), scale=False)
    assert np.abs(found - gray * factor).max() <= 1
    outside = gray - 400  # what no image of Pillow can have, so it is scaled, and back
    assert np.abs(image.apply_brightness_shift(outside, 1.0, scale=False) - outside).max() <= 1.01


def test_an_unchanged_image_needs_no_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    picture = image_cases.IMAGES[0]
    assert image.apply_affine_transform(picture) is picture
    with pytest.raises(ImportError, match="require SciPy: `pip install scipy`"):
        image.apply_affine_transform(picture, theta=3)


# -- files ------------------------------------------------------------------------------------------------------------


def test_images_are_saved_and_read(tmp_path):
    picture = image_cases.IMAGES[0]
    path = tmp_path / "picture.png"
    image.save_img(path, picture, scale=False)
    for source in (path, str(path), io.BytesIO(path.read_bytes())):
        np.testing.assert_array_equal(image.img_to_array(image.load_img(source)), picture)
    assert image.img_to_array(image.load_img(path), "channels_first").shape == (3, 7, 5)
    gray = image.load_img(path, color_mode="grayscale")
    assert gray.mode == "L" and image.img_to_array(gray, dtype="uint8").shape == (7, 5, 1)
    assert image.load_img(path, grayscale=True).mode == "L"
    assert image.load_img(path, color_mode="rgba", target_size=(3, 4)).size == (4, 3)
    small = image.load_img(path, target_size=(3, 4), interpolation="bilinear")
    assert small.tobytes() == Image.open(path).resize((4, 3), Image.Resampling.BILINEAR).tobytes()
    image.save_img(tmp_path / "picture", np.zeros([2, 2, 4]), file_format="jpg")
    assert Image.open(tmp_path / "picture").format == "JPEG"


def test_arrays_become_images():
    picture = image.array_to_img(np.array([[[0.0], [0.5]], [[1.0], [0.25]]]))
    assert picture.mode == "L" and picture.getpixel((1, 0)) == 127
    assert image.array_to_img(np.zeros([3, 2, 5]), "channels_first").size == (5, 2)
    assert image.array_to_img(np.zeros([2, 5, 4])).mode == "RGBA"
    assert image.array_to_img(np.full([2, 2, 1], 70000), scale=False).mode == "I"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: image.array_to_img(np.zeros([2, 2])), r"of rank 3, received shape \(2, 2\)"),
        (lambda: image.array_to_img(np.zeros([2, 2, 2])), "1, 3 or 4 channels, received 2"),
        (lambda: image.array_to_img(np.zeros([2, 2, 3]), "last"), "data_format: expected"),
        (lambda: image.img_to_array(np.zeros([2, 2, 3, 1])), "with or without channels"),
        (lambda: image.load_img(io.BytesIO(), color_mode="cmyk"), "received 'cmyk'"),
        (lambda: image.apply_affine_transform(np.zeros([2, 2]), 1), "of rank 3"),
        (lambda: image.apply_affine_transform(np.zeros([2, 2, 3]), 1, row_axis=2), "0, 1 and 2 in some order"),
        (lambda: image.random_zoom(np.zeros([2, 2, 3]), 0.5), "tuple or list of two floats, received 0.5"),
        (lambda: image.ImageDataGenerator(zoom_range=(1, 2, 3)), "`zoom_range` should be"),
        (lambda: image.ImageDataGenerator(brightness_range=1), "`brightness_range` should be"),
        (lambda: image.ImageDataGenerator(validation_split=1.5), "strictly between 0 and 1, received 1.5"),
        (lambda: image.ImageDataGenerator(data_format="first"), "data_format: expected"),
        (lambda: image.ImageDataGenerator().fit(np.zeros([2, 2, 3])), "of rank 4"),
        (lambda: image.ImageDataGenerator().flow(np.zeros([2, 2, 3])), "of rank 4"),
        (lambda: image.ImageDataGenerator().flow(np.zeros([2, 2, 2, 3]), np.zeros(3)), "as many values as images, 2"),
        (lambda: image.ImageDataGenerator().flow(np.zeros([2, 2, 2, 3]), subset="test"), "received 'test'"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_interpolation_must_be_known(tmp_path):
    image.save_img(tmp_path / "a.png", np.zeros([2, 2, 3]))
    with pytest.raises(ValueError, match="expected one of nearest, bilinear"):
        image.load_img(tmp_path / "a.png", target_size=(1, 1), interpolation="cubic")


# -- batches of arrays ------------------------------------------------------------------------------------------------


def test_batches_follow_each_other_without_end():
    flow = image.ImageDataGenerator().flow(image_cases.IMAGES, np.arange(6), batch_size=4, shuffle=False)
    assert [next(flow)[1].tolist() for _ in range(3)] == [[0, 1, 2, 3], [4, 5], [0, 1, 2, 3]]
    flow.reset()
    assert flow.next()[1].tolist() == [0, 1, 2, 3]
    assert len(flow) == 2 and flow[1][1].tolist() == [4, 5]
    with pytest.raises(ValueError, match="a number below 2, that of batches, received 2"):
        flow[2]


def test_each_epoch_has_another_order_and_a_seed_repeats_it():
    def epochs(seed):
        flow = image.ImageDataGenerator().flow(image_cases.IMAGES, np.arange(6), batch_size=6, seed=seed)
        return [next(flow)[1].tolist() for _ in range(3)]

    first = epochs(3)
    assert epochs(3) == first != epochs(4)
    assert len(set(map(tuple, first))) > 1 and all(sorted(order) == list(range(6)) for order in first)


def test_batches_have_further_inputs_and_weights():
    generator = image.ImageDataGenerator()
    inputs = (image_cases.IMAGES, [np.arange(6), np.arange(6) * 2])
    flow = generator.flow(inputs, np.arange(6), sample_weight=np.arange(6) / 10, shuffle=False, batch_size=2)
    (pictures, first, second), targets, weights = next(flow)
    np.testing.assert_array_equal(pictures, image_cases.IMAGES[:2])
    assert (first.tolist(), second.tolist(), targets.tolist(), weights.tolist()) == ([0, 1], [0, 2], [0, 1], [0, 0.1])
    assert generator.flow(image_cases.IMAGES, shuffle=False, batch_size=2)[0].shape == (2, 7, 5, 3)


def test_a_part_is_for_validation():
    generator = image.ImageDataGenerator(validation_split=0.5)
    targets = np.array([0, 1, 1, 0, 1, 0])
    options = {"batch_size": 6, "shuffle": False}
    x, y = generator.flow(image_cases.IMAGES, targets, subset="validation", **options)[0]
    np.testing.assert_array_equal(x, image_cases.IMAGES[:3])
    assert y.tolist() == [0, 1, 1]
    assert generator.flow(image_cases.IMAGES, targets, subset="training", **options)[0][1].tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="shuffle the arrays first"):
        generator.flow(image_cases.IMAGES, np.sort(targets), subset="training")


def test_the_images_of_the_caller_stay():
    before = image_cases.IMAGES.copy()
    generator = image.ImageDataGenerator(rescale=0.5, samplewise_center=True)
    generator.flow(before)[0]
    np.testing.assert_array_equal(before, image_cases.IMAGES)


def test_a_function_prepares_each_image():
    generator = image.ImageDataGenerator(preprocessing_function=lambda x: x + 1, rescale=2.0)
    np.testing.assert_array_equal(generator.flow(np.ones([2, 2, 2, 3]))[0], np.full([2, 2, 2, 3], 4.0))


def test_unknown_statistics_are_warned_of(monkeypatch):
    seen = []
    module = "thalweg._src.keras.preprocessing.image_generator.logging.warning"
    monkeypatch.setattr(module, lambda text, *args: seen.append(text % args))
    generator = image.ImageDataGenerator(featurewise_std_normalization=True)
    np.testing.assert_array_equal(generator.standardize(np.ones([2, 2, 3])), np.ones([2, 2, 3]))
    assert len(seen) == 2 and "specifies `featurewise_center`" in seen[0] and "call `fit` first" in seen[0]


def test_changed_images_are_saved(tmp_path):
    flow = image.ImageDataGenerator().flow(image_cases.IMAGES, batch_size=3, shuffle=False, save_to_dir=str(tmp_path))
    next(flow)
    names = sorted(os.listdir(tmp_path))
    assert [name.split("_")[1] for name in names] == ["0", "1", "2"] and names[0].endswith(".png")


def test_batches_can_be_sent_to_another_process():
    flow = image.ImageDataGenerator().flow(image_cases.IMAGES, np.arange(6), batch_size=4, shuffle=False)
    next(flow)
    again = pickle.loads(pickle.dumps(flow))
    assert next(again)[1].tolist() == [4, 5]


def test_a_subclass_must_define_its_batches():
    with pytest.raises(TypeError, match="Own must define _get_batches_of_transformed_samples"):
        type("Own", (image.Iterator,), {})(3, 2, False, None)[0]


# -- batches of files -------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A folder of four classes: two images, one image and a text, one in a folder, and none."""
    for number, name in enumerate(("cat/a.png", "cat/b.PNG", "dog/c.bmp", "fox/deep/d.png")):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save_img(path, np.full([4, 4, 3], 10.0 * number), scale=False)
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    (tmp_path / "owl").mkdir()
    return tmp_path


def test_folders_are_classes(folder, capsys):
    flow = image.ImageDataGenerator().flow_from_directory(folder, (2, 3), shuffle=False, batch_size=3)
    assert capsys.readouterr().out == "Found 4 images belonging to 4 classes.\n"
    assert flow.class_indices == {"cat": 0, "dog": 1, "fox": 2, "owl": 3}
    assert flow.filenames == ["cat/a.png", "cat/b.PNG", "dog/c.bmp", "fox/deep/d.png"]
    assert flow.classes.tolist() == flow.labels.tolist() == [0, 0, 1, 2] and flow.num_classes == 4 and flow.samples == 4
    x, y = next(flow)
    assert x.shape == (3, 2, 3, 3) and x[:, 0, 0, 0].tolist() == [0, 10, 20]
    np.testing.assert_array_equal(y, np.eye(4)[[0, 0, 1]])
    assert next(flow)[1].argmax(1).tolist() == [2]


@pytest.mark.parametrize(
    "mode, expected", [("sparse", [1, 0, 0]), ("binary", [1, 0, 0]), ("input", None), (None, "nothing")]
)
def test_targets_of_folders(folder, mode, expected):
    generator = image.ImageDataGenerator()
    options = {"classes": ["dog", "cat"], "shuffle": False, "color_mode": "grayscale"}
    batch = generator.flow_from_directory(str(folder), (4, 4), class_mode=mode, **options)[0]
    if expected == "nothing":
        assert batch.shape == (3, 4, 4, 1)
        return
    x, y = batch
    np.testing.assert_array_equal(y, x if expected is None else [0, 1, 1])


def test_parts_of_folders(folder):
    generator = image.ImageDataGenerator(validation_split=0.5)
    names = {part: generator.flow_from_directory(folder, subset=part).filenames for part in ("training", "validation")}
    assert names == {"training": ["cat/b.PNG", "dog/c.bmp", "fox/deep/d.png"], "validation": ["cat/a.png"]}


def test_options_of_folders(folder):
    generator = image.ImageDataGenerator(data_format="channels_first", rescale=0.1, dtype="float64")
    flow = generator.flow_from_directory(folder, (4, 4), "rgba", class_mode=None, shuffle=False)
    assert flow[0].shape == (4, 4, 4, 4) and flow[0].dtype == np.float64
    np.testing.assert_allclose(flow[0][:, 0, 0, 0], [0, 1, 2, 3], rtol=1e-6)
    for wrong, message in (
        ({"class_mode": "raw"}, "class_mode: expected one of"),
        ({"color_mode": "bgr"}, "received 'bgr'"),
        ({"subset": "test"}, "received 'test'"),
    ):
        with pytest.raises(ValueError, match=message):
            generator.flow_from_directory(folder, **wrong)


class Table(dict):
    """A table of columns by name, as that of pandas."""


def test_a_table_names_files(folder, capsys):
    table = Table(
        filename=["cat/a.png", "dog/c.bmp", "absent.png", "cat/b.PNG"],
        **{
            "class": ["cat", "dog", "cat", "cat"],
            "weight": [1.0, 2.0, 3.0, 4.0],
            "age": [5, 6, 7, 8],
            "size": [1, 2, 3, 4],
        },
    )
    generator = image.ImageDataGenerator()
    flow = generator.flow_from_dataframe(table, str(folder), target_size=(4, 4), shuffle=False, weight_col="weight")
    assert capsys.readouterr().out == "Found 3 validated image filenames belonging to 2 classes.\n"
    x, y, weights = flow[0]
    assert x[:, 0, 0, 0].tolist() == [0, 20, 10] and y.argmax(1).tolist() == [0, 1, 0] and weights.tolist() == [1, 2, 4]
    options = {"directory": str(folder), "target_size": (4, 4), "shuffle": False}
    assert generator.flow_from_dataframe(table, class_mode="raw", y_col="age", **options)[0][1].tolist() == [5, 6, 8]
    both = generator.flow_from_dataframe(table, class_mode="other", y_col=["age", "size"], **options)[0][1]
    assert both.tolist() == [[5, 1], [6, 2], [8, 4]]
    outputs = generator.flow_from_dataframe(table, class_mode="multi_output", y_col=["age", "size"], **options)[0][1]
    assert [each.tolist() for each in outputs] == [[5, 6, 8], [1, 2, 4]]
    assert generator.flow_from_dataframe(table, class_mode="sparse", classes=["dog"], **options)[0][1].tolist() == [0]
    capsys.readouterr()
    assert (
        len(generator.flow_from_dataframe(table, validate_filenames=False, class_mode=None, **options).filenames) == 4
    )
    assert capsys.readouterr().out == "Found 4 non-validated image filenames.\n"


def test_an_image_of_a_table_may_have_several_classes(folder):
    table = Table(file=["cat/a.png", "cat/b.PNG"], kinds=[["x", "z"], ("y",)])
    flow = DataFrameIterator(table, str(folder), None, "file", "kinds", target_size=(4, 4), shuffle=False)
    assert flow.class_indices == {"x": 0, "y": 1, "z": 2}
    assert flow[0][1].tolist() == [[1, 0, 1], [0, 1, 0]]


def test_a_part_of_a_table(folder):
    table = Table(filename=["cat/a.png", "cat/b.PNG", "dog/c.bmp"], **{"class": ["c", "c", "d"]})
    generator = image.ImageDataGenerator(validation_split=0.4)
    parts = [generator.flow_from_dataframe(table, str(folder), subset=part) for part in ("validation", "training")]
    assert [part.filenames for part in parts] == [["cat/a.png"], ["cat/b.PNG", "dog/c.bmp"]]
    assert all(part.class_indices == {"c": 0, "d": 1} for part in parts)


@pytest.mark.parametrize(
    "table, options, error, message",
    [
        ({"filename": [1], "class": ["a"]}, {}, TypeError, "x_col=filename must be strings"),
        ({"filename": ["a"], "class": [1]}, {}, TypeError, "must be strings, lists or tuples: 1"),
        ({"filename": ["a"], "class": [["a"]]}, {"class_mode": "sparse"}, TypeError, r"must be strings: \['a'\]"),
        ({"filename": ["a"], "class": ["a"]}, {"class_mode": "binary"}, ValueError, "must be 2 classes, found"),
        ({"filename": ["a"], "class": ["a"]}, {"class_mode": "multi_output"}, TypeError, "must be a list of columns"),
        (
            {"filename": ["a"], "class": ["a"], "w": ["b"]},
            {"weight_col": "w"},
            TypeError,
            "weight_col=w must be numeric",
        ),
        ({"filename": ["a"], "class": ["a"]}, {"class_mode": "one"}, ValueError, "class_mode: expected one of"),
        ({"filename": ["a"], "class": ["a"]}, {"speed": 3}, TypeError, "has no parameter 'speed'"),
    ],
)
def test_tables_that_do_not_fit_are_refused(table, options, error, message):
    with pytest.raises(error, match=message):
        image.ImageDataGenerator().flow_from_dataframe(Table(table), validate_filenames=False, **options)


def test_a_model_trains_on_changed_images(folder):
    flow = image.ImageDataGenerator(rescale=1 / 255, horizontal_flip=True).flow_from_directory(
        folder, (4, 4), classes=["cat", "dog"], class_mode="binary", batch_size=2
    )
    model = tf.keras.Sequential([tf.keras.layers.Flatten(input_shape=(4, 4, 3)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit_generator(flow, epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2 and flow.total_batches_seen >= 4


def test_flips_are_of_rows_and_columns():
    generator = image.ImageDataGenerator()
    picture = image_cases.IMAGES[0]
    np.testing.assert_array_equal(generator.apply_transform(picture, {"flip_vertical": True}), picture[::-1])
    np.testing.assert_array_equal(generator.apply_transform(picture, {"flip_horizontal": True}), picture[:, ::-1])
    assert image_transforms.random_factors([1, 1]) == (1, 1)
