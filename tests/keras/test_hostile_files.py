"""Files made to harm, at the entrances of Keras: descriptions, weights, data sets and archives."""

import gzip
import io
import json
import pickle
import sys
import tarfile
import types
import zipfile

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.base.formats import proportion
from thalweg._src.base.formats.graph_messages import message_class
from thalweg._src.keras.datasets.pickled_arrays import read_pickled
from thalweg._src.keras.saving.hdf5_contents import RefusedContentError, attribute
from thalweg._src.keras.serialization import RefusedFileError, RefusedFunctionError

models = tf.keras.models


def doubled(x):
    return 2 * x


@pytest.fixture
def canary(monkeypatch):
    """Returns a list that stays empty unless a model calls a function of a module that it names."""
    called = []
    module = types.ModuleType("thalweg_canary")
    module.fire = lambda *args, **kwargs: called.append(1) or args[0]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return called


# -- descriptions -----------------------------------------------------------------------------------------------------


def layer_of(class_name, **config):
    return {"class_name": class_name, "config": config}


def model_of(*layers):
    return layer_of("Sequential", name="s", layers=list(layers))


def calling(key="function", function="fire", module="thalweg_canary"):
    """Returns a model with a Lambda layer that names a function of a module."""
    place = "module" if key == "function" else f"{key}_module"
    config = {"name": "l", "batch_input_shape": [None, 2], "function": "doubled", "function_type": "function"}
    return model_of(layer_of("Lambda", **{**config, key: function, f"{key}_type": "function", place: module}))


def by_hdf5(description, tmp_path, **kwargs):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "model.h5", "w") as file:
        file.attrs["model_config"] = json.dumps(description).encode()
        file.create_group("model_weights").attrs["layer_names"] = [b"l"]
        file["model_weights"].create_group("l").attrs["weight_names"] = []
    return models.load_model(tmp_path / "model.h5", **kwargs)


def by_saved_model(description, tmp_path, **kwargs):
    folder = tmp_path / "model"
    model = tf.keras.Sequential([tf.keras.layers.Lambda(doubled, input_shape=(2,), name="l")])
    model.save(str(folder), save_format="tf")
    path = folder / "keras_metadata.pb"
    content = message_class("KerasMetadata").FromString(path.read_bytes())
    for node in content.nodes:
        if node.node_id == 0:
            node.metadata = json.dumps({**json.loads(node.metadata), **description})
    path.write_bytes(content.SerializeToString())
    return models.load_model(str(folder), **kwargs)


def by_export(description, tmp_path, **kwargs):
    folder = tmp_path / "export"
    model = tf.keras.Sequential([tf.keras.layers.Lambda(doubled, input_shape=(2,), name="l")])
    tf.keras.experimental.export_saved_model(model, str(folder), serving_only=True)
    (folder / "assets" / "saved_model.json").write_text(json.dumps(description))
    return tf.keras.experimental.load_from_saved_model(str(folder), **kwargs)


ENTRANCES = {
    "model_from_config": lambda description, folder, **kwargs: models.model_from_config(description, **kwargs),
    "model_from_json": lambda description, folder, **kwargs: models.model_from_json(json.dumps(description), **kwargs),
    "model_from_yaml": lambda description, folder, **kwargs: models.model_from_yaml(json.dumps(description), **kwargs),
    "hdf5": by_hdf5,
    "saved_model": by_saved_model,
    "load_from_saved_model": by_export,
}


@pytest.mark.parametrize("key", ["function", "output_shape", "mask"])
@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_model_names_no_function_of_a_module(entrance, key, canary, tmp_path):
    with tf.Graph().as_default():
        known = {} if key == "function" else {"custom_objects": {"doubled": doubled}}
        for trusted in (None, False):
            folder = tmp_path / str(trusted)
            folder.mkdir()
            with pytest.raises(RefusedFunctionError, match="thalweg_canary") as caught:
                ENTRANCES[entrance](calling(key), folder, trusted=trusted, **known)
            assert caught.value.refused == ("thalweg_canary", "fire")
            assert "custom_objects" in str(caught.value) and "trusted=True" in str(caught.value)
    assert canary == []


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_trusted_model_names_functions(entrance, canary, tmp_path):
    with tf.Graph().as_default():
        model = ENTRANCES[entrance](calling(), tmp_path, trusted=True)
        assert model.layers[-1].function is sys.modules["thalweg_canary"].fire
        count = len(canary)
        again = models.model_from_config(calling(), {"fire": doubled})
        assert again.layers[-1].function is doubled
        assert len(canary) == count > 0


def test_trust_ends_with_the_call(canary):
    with tf.Graph().as_default():
        models.model_from_config(calling(), trusted=True)
        with pytest.raises(RefusedFunctionError):
            tf.keras.layers.deserialize(calling())
        with pytest.raises(RefusedFunctionError):
            tf.keras.Sequential.from_config(calling()["config"])


def test_a_configuration_that_stays_in_the_process_needs_no_trust():
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Lambda(doubled, input_shape=(2,))])
        for again in (tf.keras.Sequential.from_config(model.get_config()), models.clone_model(model)):
            assert again.layers[-1].function is doubled
        with pytest.raises(RefusedFunctionError, match="doubled"):
            models.model_from_json(model.to_json())


@pytest.mark.parametrize("argument", ["vocabulary_file", "ckpt_to_load_from"])
def test_a_model_without_trust_reads_no_file(argument, tmp_path):
    (tmp_path / "words").write_text("a\nb\n")
    column = tf.feature_column.categorical_column_with_vocabulary_file("word", str(tmp_path / "words"), 2)
    layer = tf.keras.layers.DenseFeatures([tf.feature_column.embedding_column(column, 2)])
    config = layer.get_config()
    embedding = config["feature_columns"][0]["config"]
    if argument == "ckpt_to_load_from":
        column = tf.feature_column.categorical_column_with_vocabulary_list("word", ["a", "b"])
        layer = tf.keras.layers.DenseFeatures([tf.feature_column.embedding_column(column, 2)])
        config = layer.get_config()
        embedding = config["feature_columns"][0]["config"]
        embedding.update(ckpt_to_load_from=str(tmp_path / "words"), tensor_name_in_ckpt="v")
    description = json.loads(json.dumps(layer_of("DenseFeatures", **config)))
    models.model_from_config(description)
    with pytest.raises(RefusedFileError, match=f"{argument}.*words") as caught:
        models.model_from_config(description, trusted=False)
    assert caught.value.refused == str(tmp_path / "words")


@pytest.mark.parametrize("start", ["[", '{"a":'])
def test_a_text_that_is_nested_deeply_is_refused(start):
    tokenizer = tf.keras.preprocessing.text.tokenizer_from_json
    for read, text in (
        (models.model_from_json, start * 100_000),
        (models.model_from_yaml, start * 5_000),
        (tokenizer, start * 100_000),
    ):
        with pytest.raises(ValueError, match="nested too deeply"):
            read(text)


def test_layers_that_are_nested_deeply_are_refused():
    description = layer_of("Dense", units=1)
    for _ in range(400):
        description = layer_of("TimeDistributed", layer=description)
    with pytest.raises(ValueError, match="nested too deeply"):
        models.model_from_config(description)


def aliases(first, next_one, count):
    """Returns a YAML text of which each line has the one before nine times."""
    lines = [f"a0: &a0 {first}"]
    for number in range(1, count):
        lines.append(f"a{number}: &a{number} " + next_one.format(", ".join([f"*a{number - 1}"] * 9)))
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text", [aliases("[x, x]", "[{}]", 30), aliases("{k: 1}", "{{<<: [{}]}}", 30), "class_name: &a [*a]"]
)
def test_aliases_of_yaml_do_not_multiply(text):
    with pytest.raises(ValueError, match="by its aliases"):
        models.model_from_yaml(text)


def test_a_few_aliases_are_read():
    text = "class_name: Dense\nconfig: {units: 3, batch_input_shape: &s [null, 4], name: d}\nshape: *s\n"
    assert models.model_from_yaml(text).units == 3


def test_an_error_shows_a_part_of_a_large_configuration():
    for description in ({"a": [["x" * 1000] * 1000] * 1000}, {"class_name": "x" * 10_000, "config": {}}):
        with pytest.raises(ValueError, match=r"Improper|Unknown") as caught:
            models.model_from_config(description)
        assert len(str(caught.value)) < 1000


def test_metadata_that_cannot_be_read_is_an_error_of_its_file(tmp_path):
    with tf.Graph().as_default():
        by_saved_model({}, tmp_path, custom_objects={"doubled": doubled})
        (tmp_path / "model" / "keras_metadata.pb").write_bytes(b"\xff\xff")
        with pytest.raises(OSError, match=r"Cannot parse file .*keras_metadata\.pb"):
            models.load_model(str(tmp_path / "model"))
        (tmp_path / "model" / "saved_model.pb").write_bytes(b"")
        with pytest.raises(OSError, match="no graph"):
            models.load_model(str(tmp_path / "model"))


# -- weights ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def weights(tmp_path):
    """Returns a model, and a function that changes the group of its only layer in a file of its weights."""
    h5py = pytest.importorskip("h5py")
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Dense(2, use_bias=False, input_shape=(3,), name="d")])

        def changed(change):
            model.save_weights(str(tmp_path / "w.h5"))
            with h5py.File(tmp_path / "w.h5", "r+") as file:
                del file.attrs["thalweg_checksum"]
                del file["d/d/kernel:0"]
                change(file["d/d"], h5py)
            return str(tmp_path / "w.h5")

        yield model, changed


def secret(tmp_path):
    (tmp_path / "secret").write_bytes(b"secret text, of 24 bytes")
    return str(tmp_path / "secret")


def external_storage(group, h5py, tmp_path):
    group.create_dataset("kernel:0", (3, 2), "<f4", external=[(secret(tmp_path), 0, 24)])


def external_link(group, h5py, tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = np.ones((3, 2), np.float32)
    group["kernel:0"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "x")


def soft_link(group, h5py, tmp_path):
    external_link(group, h5py, tmp_path)
    group.move("kernel:0", "other")
    group["kernel:0"] = h5py.SoftLink("other")


def virtual(group, h5py, tmp_path):
    external_link(group, h5py, tmp_path)
    del group["kernel:0"]
    layout = h5py.VirtualLayout((3, 2), "<f4")
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", shape=(3, 2))
    group.create_virtual_dataset("kernel:0", layout)


REFERENCES = {each.__name__: each for each in (external_storage, external_link, soft_link, virtual)}


@pytest.mark.parametrize("reference", REFERENCES)
def test_weights_are_not_read_from_other_files(reference, weights, tmp_path):
    model, changed = weights
    path = changed(lambda group, h5py: REFERENCES[reference](group, h5py, tmp_path))
    with pytest.raises(RefusedContentError, match=r"another file|other files") as caught:
        model.load_weights(path)
    assert caught.value.refused == "/d/d/kernel:0"
    with pytest.raises(RefusedContentError, match=r"another file|other files"):
        tf.keras.utils.HDF5Matrix(path, "d/d/kernel:0")
    if reference != "external_storage":
        assert tf.keras.utils.HDF5Matrix(path, "d/d/kernel:0", trusted=True)[0].tolist() == [1, 1]


def test_links_of_groups_are_refused(weights, tmp_path):
    model, changed = weights

    def change(group, h5py):
        group["kernel:0"] = np.ones((3, 2), np.float32)
        file = group.file
        file.move("d", "e")
        file["d"] = h5py.SoftLink("e")

    path = changed(change)
    with pytest.raises(RefusedContentError, match="'/d' in the HDF5 file is a link"):
        model.load_weights(path)


@pytest.mark.parametrize("shape", [(1 << 40,), (1 << 20, 1 << 20), (3, 2, 1 << 30)])
def test_a_data_set_of_another_size_is_not_read(shape, weights):
    model, changed = weights
    path = changed(lambda group, h5py: group.create_dataset("kernel:0", shape, "<f4", chunks=(1,) * len(shape)))
    with pytest.raises(ValueError, match=r"weight 'd/kernel:0' has shape \(3, 2\)"):
        model.load_weights(path)


def test_chunks_that_are_larger_than_the_values_are_refused(weights):
    model, changed = weights
    chunked = {"maxshape": (None, None), "chunks": (1 << 14, 1 << 14), "compression": "gzip"}
    path = changed(lambda group, h5py: group.create_dataset("kernel:0", (3, 2), "<f4", **chunked))
    with pytest.raises(RefusedContentError, match="chunks of 1073741824 bytes"):
        model.load_weights(path)


def test_texts_in_the_place_of_weights_are_refused(weights):
    model, changed = weights
    path = changed(lambda group, h5py: group.create_dataset("kernel:0", (3, 2), h5py.string_dtype()))
    with pytest.raises(RefusedContentError, match="'/d/d/kernel:0' in the HDF5 file is not a data set"):
        model.load_weights(path)


def test_names_that_may_share_their_bytes_are_limited(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "names.h5", "w", libver="latest") as file:
        file.attrs["few"] = ["a", "b"]
        file.attrs["many"] = np.array(["a"] * 5000, object)
    with h5py.File(tmp_path / "names.h5", "r") as file:
        assert list(attribute(file, "few")) == ["a", "b"] and attribute(file, "none") is None
        with pytest.raises(RefusedContentError, match="'/@many' in the HDF5 file has 5000 values"):
            attribute(file, "many")


def test_the_state_of_an_optimizer_is_not_read_if_its_size_is_another(tmp_path):
    h5py = pytest.importorskip("h5py")
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
        model.compile(tf.keras.optimizers.SGD(0.1, momentum=0.9), "mse")
        model.fit(np.ones((1, 3)), np.ones((1, 2)), verbose=0)
        model.save(tmp_path / "model.h5")
        models.load_model(tmp_path / "model.h5")
        with h5py.File(tmp_path / "model.h5", "r+") as file:
            del file.attrs["thalweg_checksum"]
            name = file["optimizer_weights"].attrs["weight_names"][1]
            del file["optimizer_weights"][name]
            file["optimizer_weights"].create_dataset(name, (1 << 40,), "<f4", chunks=(1,))
        with pytest.raises(RefusedContentError, match=r"has shape \(1099511627776,\)"):
            models.load_model(tmp_path / "model.h5")


# -- data sets and archives -------------------------------------------------------------------------------------------


class Firing:
    """An object whose pickle calls a function of a module."""

    def __reduce__(self):
        return sys.modules["thalweg_canary"].fire, (0,)


@pytest.fixture
def pickled_canary(canary, monkeypatch):
    def fire(*arguments):
        canary.append(1)
        return 0

    fire.__module__, fire.__qualname__ = "thalweg_canary", "fire"
    monkeypatch.setattr(sys.modules["thalweg_canary"], "fire", fire)
    return canary


def test_a_data_set_calls_nothing_that_it_names(pickled_canary, tmp_path):
    names = ("x_train", "y_train", "x_test", "y_test")
    np.savez(tmp_path / "own.npz", **dict.fromkeys(names, np.array([Firing()], object)))
    for load in (tf.keras.datasets.mnist.load_data, tf.keras.datasets.imdb.load_data):
        with pytest.raises(pickle.UnpicklingError, match=r"received an object of thalweg_canary\.fire"):
            load(str(tmp_path / "own.npz"))
    with pytest.raises(pickle.UnpicklingError, match=r"thalweg_canary\.fire"):
        read_pickled(io.BytesIO(pickle.dumps({b"data": Firing()})))
    assert pickled_canary == []


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_arrays_and_lists_are_unpickled(protocol):
    values = {
        b"data": np.arange(6, dtype=np.uint8).reshape(2, 3),
        b"columns": np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3)),
        b"none": np.zeros((0, 2)),
        b"labels": [1, np.int64(2)],
        b"lists": np.array([[1, 2], [3]], object),
        b"arrays": np.array([np.ones(2), None], object),
    }
    found = read_pickled(io.BytesIO(pickle.dumps(values, protocol)))
    for key in (b"data", b"columns", b"none"):
        np.testing.assert_array_equal(found[key], values[key])
        assert found[key].dtype == values[key].dtype
    assert found[b"labels"] == [1, 2] and found[b"lists"].tolist() == [[1, 2], [3]]
    assert found[b"arrays"][0].tolist() == [1, 1] and found[b"arrays"][1] is None


class Made:
    """An object whose pickle creates an array with a state of its own."""

    def __init__(self, *state):
        self.state = state

    def __reduce__(self):
        reconstruct, arguments, _ = np.zeros(1).__reduce__()
        return reconstruct, arguments, self.state


FLOAT, OBJECT = np.dtype("<f8"), np.dtype("O")


@pytest.mark.parametrize(
    "state",
    [
        (1, (1 << 40,), FLOAT, False, bytes(8)),
        (1, (-1,), FLOAT, False, bytes(8)),
        (1, (1,), OBJECT, False, bytes(8)),
        (1, (2,), OBJECT, False, [1]),
        (1, (1,), FLOAT, False, [1.0]),
        (1, (1,), np.dtype([("a", "O")]), False, bytes(8)),
        (1, "x", FLOAT, False, bytes(8)),
        (1, (1,), None, False, bytes(8)),
        (1, (1,)),
    ],
)
def test_an_array_in_a_state_that_none_has_is_refused(state):
    with pytest.raises(pickle.UnpicklingError, match=r"expected arrays|is damaged"):
        read_pickled(io.BytesIO(pickle.dumps(Made(*state), 2)))


def test_a_truncated_pickle_is_refused():
    content = pickle.dumps(np.arange(5))
    for length in range(len(content)):
        with pytest.raises(pickle.UnpicklingError):
            read_pickled(io.BytesIO(content[:length]))


def tar_of(path, *members):
    with tarfile.open(path, "w:gz") as archive:
        for name, link, size in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = (tarfile.SYMTYPE, link) if link else (tarfile.REGTYPE, "")
            info.size = size
            archive.addfile(info, io.BytesIO(bytes(size)))


def zip_of(path, *members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, _, size in members:
            archive.writestr(zipfile.ZipInfo(name), bytes(size), zipfile.ZIP_DEFLATED)


def extracted(path, tmp_path):
    return tf.keras.utils.get_file("archive", path.as_uri(), extract=True, cache_dir=tmp_path / "cache")


@pytest.mark.parametrize(
    ("pack", "members"),
    [
        (tar_of, [("../out", "", 1)]),
        (tar_of, [("a/../../out", "", 1)]),
        (tar_of, [("/tmp/out", "", 1)]),
        (tar_of, [("a", "..", 0), ("a/out", "", 1)]),
        (tar_of, [("a", "/tmp", 0), ("a/out", "", 1)]),
        (tar_of, [("a", "b/../..", 0)]),
        (zip_of, [("../out", "", 1)]),
        (zip_of, [("/tmp/out", "", 1)]),
    ],
)
def test_an_archive_writes_into_its_folder_alone(pack, members, tmp_path):
    pack(tmp_path / "archive", ("good", "", 1), *members)
    with pytest.raises(ValueError, match="leads out of the folder, and is not extracted"):
        extracted(tmp_path / "archive", tmp_path)
    assert [each.name for each in (tmp_path / "cache" / "datasets").iterdir()] == ["archive"]


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_a_small_archive_is_not_extracted_to_huge_files(pack, tmp_path, monkeypatch):
    pack(tmp_path / "archive", ("a", "", 1 << 20), ("b", "", 1 << 20))
    monkeypatch.setattr(proportion, "ALWAYS", 1 << 20)
    with pytest.raises(ValueError, match=r"its \d+ bytes are unpacked to more than"):
        extracted(tmp_path / "archive", tmp_path)
    assert [each.name for each in (tmp_path / "cache" / "datasets").iterdir()] == ["archive"]
    monkeypatch.setattr(proportion, "ALWAYS", 1 << 22)
    extracted(tmp_path / "archive", tmp_path)
    assert (tmp_path / "cache" / "datasets" / "b").stat().st_size == 1 << 20


def test_a_small_file_is_not_unpacked_to_a_huge_one(tmp_path, monkeypatch):
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(bytes(1 << 22)))
    assert len(proportion.read_gzip(path)) == 1 << 22
    monkeypatch.setattr(proportion, "ALWAYS", 1 << 20)
    with pytest.raises(ValueError, match="are unpacked to more than"):
        proportion.read_gzip(path)
    path.write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="expected a file of gzip"):
        proportion.read_gzip(path)
