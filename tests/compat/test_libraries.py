"""Libraries of ops in C++."""

import pytest

import thalweg as tf


@pytest.mark.parametrize("load", [tf.load_op_library, tf.load_library, tf.load_file_system_library])
def test_a_library_is_refused_with_what_to_do(load, tmp_path):
    (tmp_path / "ops.so").write_bytes(b"\x7fELF")
    with pytest.raises(tf.errors.UnimplementedError, match="docs/extending"):
        load(str(tmp_path / "ops.so"))
    with pytest.raises(tf.errors.NotFoundError, match="missing"):
        load(tmp_path / "missing.so")
