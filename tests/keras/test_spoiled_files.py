"""HDF5 files that are damaged, changed, or have values that weights do not hold: typed errors that name the file."""

import pathlib
import random
import warnings

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.keras.saving import hdf5_checksum
from thalweg._src.keras.saving.hdf5_contents import RefusedContentError

h5py = pytest.importorskip("h5py")
models = tf.keras.models
KERNEL = "model_weights/d/d/kernel:0"


@pytest.fixture
def path(tmp_path):
    """Returns the path of the file of a model, with the state of its optimizer."""
    with tf.Graph().as_default():
        layers = [tf.keras.layers.Dense(2, input_shape=(3,), name="d"), tf.keras.layers.BatchNormalization()]
        model = tf.keras.Sequential(layers)
        model.compile(tf.keras.optimizers.SGD(0.1, momentum=0.9), "mse", metrics=["accuracy"])
        model.fit(np.ones((2, 3)), np.ones((2, 2)), verbose=0)
        model.save(tmp_path / "model.h5")
        yield str(tmp_path / "model.h5")


def without_checksum(path):
    """Deletes the checksum, as in a file of another program."""
    with h5py.File(path, "r+") as file:
        del file.attrs["thalweg_checksum"]


def load(path, **options):
    return models.load_model(path, **options)


def contents(path, changed=None):
    """Returns the bytes of a file, which are replaced if others are given."""
    if changed is not None:
        pathlib.Path(path).write_bytes(changed)
    return bytearray(pathlib.Path(path).read_bytes())


def test_a_file_that_another_program_has_changed_is_refused_unless_asked_for(path):
    model = load(path)
    with h5py.File(path, "r+") as file:
        file[KERNEL][0, 0] = 5
    for read in (models.load_model, model.load_weights):
        with pytest.raises(hdf5_checksum.ChangedFileError, match=r"(?s)Another program.*strict=False.*model\.h5"):
            read(path)
    assert load(path, strict=False).get_weights()[0][0, 0] == 5
    model.load_weights(path, strict=False)
    model.save(path)
    assert load(path).get_weights()[0][0, 0] == 5


def test_weights_have_a_checksum_too(path, tmp_path):
    model = load(path)
    model.save_weights(tmp_path / "weights.h5")
    model.load_weights(tmp_path / "weights.h5")
    with h5py.File(tmp_path / "weights.h5", "r+") as file:
        del file["d"].attrs["weight_names"]
    with pytest.raises(hdf5_checksum.ChangedFileError):
        model.load_weights(tmp_path / "weights.h5")


def test_a_file_without_a_checksum_is_read_as_it_is(path):
    without_checksum(path)
    with h5py.File(path, "r+") as file:
        file[KERNEL][0, 0] = 5
    assert load(path).get_weights()[0][0, 0] == 5


def test_a_checksum_covers_files_of_several_pieces(path, monkeypatch):
    monkeypatch.setattr(hdf5_checksum, "_PIECE", 1000)
    load(path)


@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_every_byte_of_a_file_is_covered(count, path):
    content = contents(path)
    mark = content.index(b"thalweg file crc32c ")
    for place in random.Random(count).sample(range(len(content)), count):
        if not mark <= place < mark + 20:
            content[place] ^= 1
            contents(path, content)
            with pytest.raises(hdf5_checksum.ChangedFileError):
                hdf5_checksum.opened(path, strict=True)
            content[place] ^= 1


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (np.full((3, 2), 1e300), r"the value 1e\+300, which float32 does not hold"),
        (np.full((3, 2), -1e39), "which float32 does not hold"),
        (np.full((3, 2), 1 + 2j), "has complex values, the weight has float32"),
    ],
)
def test_values_that_a_weight_does_not_hold_are_refused_unless_asked_for(values, what, path):
    without_checksum(path)
    with h5py.File(path, "r+") as file:
        del file[KERNEL]
        file[KERNEL] = values
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RefusedContentError, match=what) as caught:
            load(path)
    assert "strict=False" in str(caught.value) and f"file: {path}" in str(caught.value)
    assert caught.value.refused == f"/{KERNEL}"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = load(path, strict=False).get_weights()[0][0, 0]
    assert found == 1 if "complex" in what else np.isinf(found)


def test_values_of_a_wider_type_are_read(path):
    without_checksum(path)
    with h5py.File(path, "r+") as file:
        del file[KERNEL]
        file[KERNEL] = np.array([[np.inf, np.nan], [0.1, -0.0], [1e-300, 3e38]])
    found = load(path).get_weights()[0]
    np.testing.assert_array_equal(found, np.array([[np.inf, np.nan], [0.1, -0.0], [0, 3e38]], np.float32))


def test_numbers_that_no_integer_weight_holds_are_refused(path):
    without_checksum(path)
    with h5py.File(path, "r+") as file:
        name = file["optimizer_weights"].attrs["weight_names"][0]
        del file["optimizer_weights"][name]
        file["optimizer_weights"][name] = 1.5
    with pytest.raises(RefusedContentError, match=r"has the value 1\.5, which int64 does not hold"):
        load(path)


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("model_config", b"null", "No model found"),
        ("model_config", b"{", r"is not JSON: .*received"),
        ("model_config", b"\xff", "is not JSON|cannot be read"),
        ("model_config", b"[]", r"expected a layer|Improper config|Could not interpret"),
        ("model_config", 3, "'/@model_config' in the HDF5 file is not a text"),
        ("model_config", h5py.Empty("f4"), "'/@model_config' in the HDF5 file is not a text"),
        ("model_config", b'{"class_name": "Dense", "config": {"units": 1}}', "expected the description of a model"),
        ("training_config", b"[]", "expected a dictionary"),
        ("training_config", b'{"optimizer_config": {"class_name": 3, "config": {}}}', "expected a text, received 3"),
        ("training_config", b"{}", "the key 'optimizer_config' is missing"),
    ],
)
def test_descriptions_in_files_are_checked(key, value, what, path):
    without_checksum(path)
    with h5py.File(path, "r+") as file:
        file.attrs[key] = value
    with pytest.raises((ValueError, TypeError), match=what) as caught:
        load(path)
    assert f"file: {path}" in str(caught.value)
    assert key in str(caught.value)


def test_an_entry_of_a_description_in_a_file_has_a_place(path):
    without_checksum(path)
    with h5py.File(path, "r+") as file:
        file.attrs["model_config"] = file.attrs["model_config"].replace('"units": 2', '"units": -2')
    with pytest.raises(
        ValueError, match=r"place: model_config\.config\.layers\[0\]\.config\.units\n  file: "
    ) as caught:
        load(path)
    assert caught.value.place == "model_config.config.layers[0].config.units"


@pytest.mark.parametrize("names", [3, h5py.Empty("f4"), [1.5, 2], [["a"]]])
def test_names_that_are_no_texts_are_refused(names, path):
    without_checksum(path)
    with h5py.File(path, "r+") as file:
        file["model_weights"].attrs["layer_names"] = names
    with pytest.raises(
        RefusedContentError, match="'/model_weights@layer_names' in the HDF5 file is not a list of texts"
    ):
        load(path)


def test_a_member_that_is_missing_is_named(path):
    without_checksum(path)
    with h5py.File(path, "r+") as file:
        del file[KERNEL]
    with pytest.raises(
        RefusedContentError, match=r"'/model_weights/d/d/kernel:0' in the HDF5 file is missing\n  file: "
    ):
        load(path)


def test_a_truncated_file_is_named(path):
    content = contents(path)
    for length in (0, 1, 100, len(content) // 2, len(content) - 1):
        for options in ({}, {"strict": False}):
            contents(path, content[:length])
            with pytest.raises((OSError, hdf5_checksum.ChangedFileError), match=r"HDF5 file(?s:.)*model\.h5"):
                load(path, **options)
