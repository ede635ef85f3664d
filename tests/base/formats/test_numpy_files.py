"""NumPy's files from outside: what they may contain, and what is refused before memory is taken."""

import pickle
import struct
import zipfile

import numpy as np
import pytest

from thalweg._src.base.formats import proportion
from thalweg._src.base.formats.numpy_files import load

ARRAYS = {
    "numbers": np.arange(6.0).reshape(2, 3),
    "columns": np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)),
    "texts": np.array(["a", "bcd"]),
    "bytes": np.array([b"a", b"bcd"]),
    "none": np.zeros((0, 3), np.float16),
    "scalar": np.array(7),
}


def header(shape, descr="<f4"):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_is_read_as_numpy_reads_it(name, tmp_path):
    np.save(tmp_path / "a.npy", ARRAYS[name])
    found = load(tmp_path / "a.npy")
    np.testing.assert_array_equal(found, np.load(tmp_path / "a.npy"))
    assert found.dtype == ARRAYS[name].dtype and found.flags.writeable


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_has_its_arrays_by_name(save, tmp_path):
    save(tmp_path / "a.npz", **ARRAYS)
    found = load(tmp_path / "a.npz")
    assert list(found) == list(ARRAYS) and len(found) == len(ARRAYS) and "other" not in found
    for name, value in ARRAYS.items():
        np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("shape", [(1 << 40,), (1 << 31, 1 << 31), (-1,), (4, -4)])
def test_a_header_that_claims_more_than_the_file_has_is_refused(shape, tmp_path):
    content = header(shape) + bytes(16)
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(ValueError, match="claims an array of shape"):
        load(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", content)
    with pytest.raises(ValueError, match=r"a\.npz\[x\]: its header claims"):
        load(tmp_path / "a.npz")["x"]


def test_objects_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="may run code and are refused"):
        load(tmp_path / "a.npy")
    found = load(tmp_path / "a.npy", lambda file: pickle.load(file))
    assert found.tolist() == [{}]


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"PK\x03\x04", b"\x93NUMPY", b"\x93NUMPY\x09\x00\x01", header((2,))[:40]]
)
def test_another_file_is_refused(content, tmp_path):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(ValueError, match=r"expected a file of numpy\.savez or numpy\.save"):
        load(tmp_path / "a")


def test_a_small_archive_is_not_unpacked_to_huge_arrays(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(1 << 22, np.uint8))
    assert load(tmp_path / "a.npz")["x"].size == 1 << 22
    monkeypatch.setattr(proportion, "ALWAYS", 1 << 20)
    with pytest.raises(ValueError, match=r"a\.npz: its \d+ bytes are unpacked to more than"):
        load(tmp_path / "a.npz")


def test_a_size_that_an_archive_states_too_small_is_no_way_out(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(1 << 22, np.uint8))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        size = archive.infolist()[0].file_size
    content = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(content.replace(struct.pack("<I", size), struct.pack("<I", 200)))
    with pytest.raises(ValueError, match=r"a\.npz\[x\]: (its header claims|Bad CRC)"):
        load(tmp_path / "a.npz")["x"]
