"""CRC-32C against its definition, and the numbers that others publish."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from thalweg._src.base.formats import crc32c as module
from thalweg._src.base.formats.crc32c import combine, crc32c, mask, masked_crc32c, unmask


def _plain(data, register=0):
    register ^= 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@pytest.fixture(autouse=True, params=["library", "numpy"])
def implementation(request, monkeypatch):
    """Has each test done by google-crc32c, where that is installed, and by NumPy."""
    if request.param == "numpy":
        monkeypatch.setattr(module, "_extend", None)
    elif module._extend is None:
        pytest.skip("google-crc32c is not installed")


def test_published_checksums():
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert masked_crc32c(b"123456789") == mask(0xE3069283)


@pytest.mark.parametrize("size", [1, 47, 48, 49, 100, 6776, 6777, 6785, 54215, 54217, 54300, 200_001])
def test_any_length(size):
    data = np.random.RandomState(size).bytes(size)
    expected = _plain(data)
    assert crc32c(data) == crc32c(memoryview(data)) == crc32c(bytearray(data)) == expected
    assert crc32c(np.frombuffer(data, np.uint8)) == expected


@given(st.binary(max_size=300), st.binary(max_size=300))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pieces(a, b):
    assert crc32c(b, crc32c(a)) == crc32c(a + b) == _plain(a + b)
    assert combine(crc32c(a), crc32c(b), len(b)) == crc32c(a + b)


@given(st.integers(0, 2**32 - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_masks(crc):
    assert unmask(mask(crc)) == crc


def test_a_large_array_and_one_flipped_bit():
    data = np.random.RandomState(0).randint(0, 256, 3 << 20).astype(np.uint8)
    whole, pieces = crc32c(data), 0
    for start in range(0, len(data), 700_001):
        pieces = crc32c(data[start : start + 700_001], pieces)
    assert pieces == whole
    data[2_000_003] ^= 16
    assert crc32c(data) != whole
