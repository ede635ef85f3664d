"""tf.compat, tf.version, tf.sysconfig, tf.resource_loader, and what tf.dtypes, tf.config and tf.errors add."""

import os
import pathlib

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.session import config_functions


def test_text():
    compat = tf.compat
    assert (
        compat.as_bytes("é") == compat.as_bytes(b"\xc3\xa9") == compat.as_bytes(bytearray(b"\xc3\xa9")) == b"\xc3\xa9"
    )
    assert compat.as_text(b"\xc3\xa9") == compat.as_str("é") == "é"
    assert compat.as_str_any(3) == "3" and compat.as_str_any(b"a") == "a"
    assert compat.path_to_str(pathlib.Path("/a/b")) == "/a/b" and compat.path_to_str("c") == "c"
    for convert in (compat.as_bytes, compat.as_text):
        with pytest.raises(TypeError, match="expected bytes or str"):
            convert(3)


def test_types():
    compat = tf.compat
    assert isinstance(np.int8(1), compat.integral_types) and not isinstance(1.0, compat.integral_types)
    assert isinstance(1.0, compat.real_types) and isinstance(1j, compat.complex_types)
    assert isinstance(b"", compat.bytes_or_text_types)
    assert compat.dimension_value(tf.Dimension(3)) == 3
    assert compat.dimension_at_index(tf.TensorShape([2, 3]), 1) == 3


def test_forward_compatibility():
    assert tf.compat.forward_compatible(2019, 1, 1)
    assert not tf.compat.forward_compatible(2021, 1, 1)
    with tf.compat.forward_compatibility_horizon(2022, 1, 1):
        assert tf.compat.forward_compatible(2021, 1, 1)
    assert not tf.compat.forward_compatible(2021, 1, 1)


def test_version_is_parsed_like_tensorflows():
    assert tf.version.VERSION.split(".")[:2] == ["1", "15"]
    assert tf.version.THALWEG_VERSION in tf.version.GIT_VERSION
    assert tf.version.GRAPH_DEF_VERSION >= tf.version.GRAPH_DEF_VERSION_MIN_PRODUCER


def test_versions_agree_with_the_package():
    text = (pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'version = "{tf.version.THALWEG_VERSION}"' in text


def test_install_checks():
    assert os.path.isdir(tf.sysconfig.get_lib())
    assert tf.sysconfig.get_include() in tf.sysconfig.get_compile_flags()[0]
    assert tf.sysconfig.get_lib() in tf.sysconfig.get_link_flags()[0]
    assert isinstance(tf.sysconfig.get_build_info()["is_cuda_build"], bool)
    here = os.path.dirname(os.path.abspath(__file__))
    assert tf.resource_loader.get_data_files_path() == here
    assert tf.resource_loader.get_path_to_datafile("a") == os.path.join(here, "a")
    assert tf.resource_loader.load_resource("py.typed") is not None
    assert tf.resource_loader.readahead_file_path("a") == "a"


def test_dtypes_module_exports_casts():
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.dtypes.cast(1.5, tf.int32)) == 1
        assert session.run(tf.dtypes.saturate_cast(300, tf.uint8)) == 255
        assert session.run(tf.dtypes.complex(1.0, 2.0)) == 1 + 2j
    with pytest.raises(AttributeError, match="no_such_name"):
        tf.dtypes.no_such_name
    assert not hasattr(tf.dtypes, "__path__")


def test_config_reports_devices_and_threads():
    assert tf.config.experimental.list_physical_devices("CPU") == [("/physical_device:CPU:0", "CPU")]
    assert tf.config.list_logical_devices("CPU")[0].name == "/device:CPU:0"
    with pytest.raises(ValueError, match="is not one of"):
        tf.config.set_visible_devices([tf.config.PhysicalDevice("/physical_device:GPU:99", "GPU")])
    tf.config.set_soft_device_placement(True)
    assert tf.config.get_soft_device_placement() is True
    assert tf.config.threading.get_inter_op_parallelism_threads() == 0
    assert not hasattr(tf.config, "no_such_name")


def test_settings_of_the_optimizer_are_kept():
    assert tf.config.optimizer.get_jit() is False and tf.config.optimizer.get_experimental_options() == {}
    try:
        tf.config.optimizer.set_jit(True)
        tf.config.optimizer.set_experimental_options({"constant_folding": False})
        assert tf.config.optimizer.get_jit() is True
        assert tf.config.optimizer.get_experimental_options() == {"constant_folding": False}
    finally:
        config_functions._settings.jit = False
        config_functions._settings.optimizer_options.clear()


def test_status_becomes_an_exception():
    with tf.errors.raise_exception_on_not_ok_status() as status:
        assert status.code == tf.errors.OK
    with pytest.raises(tf.errors.NotFoundError, match="gone"), tf.errors.raise_exception_on_not_ok_status() as status:
        status.code, status.message = tf.errors.NOT_FOUND, "gone"
    with pytest.raises(KeyError), tf.errors.raise_exception_on_not_ok_status() as status:
        status.code = tf.errors.NOT_FOUND
        raise KeyError


def test_aliases_are_identical():
    from thalweg.contrib import slim, training

    for name in ("FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"):
        assert getattr(tf.io, name) is getattr(tf.queue, name)
    for name in ("TFRecordWriter", "TFRecordOptions", "TFRecordCompressionType", "tf_record_iterator"):
        assert getattr(tf.io, name) is getattr(tf.python_io, name)
    assert tf.io.match_filenames_once is tf.train.match_filenames_once
    assert tf.sparse.SparseConditionalAccumulator is tf.SparseConditionalAccumulator
    assert training.bucket.__name__ == "bucket" and callable(training.bucket_by_sequence_length)
    assert callable(slim.assign_from_checkpoint) and callable(slim.assign_from_checkpoint_fn)
