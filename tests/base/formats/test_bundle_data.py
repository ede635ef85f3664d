"""Data files: direct and buffered I/O write the same bytes, and background writers are throttled."""

import errno
import fcntl
import os
import threading

import numpy as np
import pytest

from thalweg._src.base import dtypes, errors
from thalweg._src.base.formats import bundle_data, durable
from thalweg._src.base.formats.bundle import BundleWriter, data_name
from thalweg._src.base.formats.bundle_data import BLOCK, DataFile, DataWriter
from thalweg._src.base.formats.bundle_reader import BundleReader
from thalweg._src.base.formats.crc32c import crc32c
from thalweg._src.runtime.resources import checkpoint_writers
from thalweg._src.runtime.resources.checkpoint_writers import BackgroundWriter

SIZES = [5, 0, 3 * BLOCK + 77, 4096, 1, 2 * BLOCK - 4, BLOCK // 2]


@pytest.fixture(params=["direct", "buffered", "refused late"])
def way(request, monkeypatch):
    """Is how a file system takes blocks: past the page cache, only through it, or with a refusal at the first write."""
    if request.param == "buffered":
        monkeypatch.setattr(durable, "enable_direct_io", lambda file: None)
    if request.param == "refused late":
        original = os.write

        def write(file, data):
            if fcntl.fcntl(file, fcntl.F_GETFL) & os.O_DIRECT:
                raise OSError(errno.EINVAL, "no such way")
            return original(file, data)

        monkeypatch.setattr(os, "write", write)
    return request.param


@pytest.mark.parametrize("rests", [False, True])
def test_appended_data_is_in_the_file(tmp_path, way, rests):
    rested = []
    rng = np.random.default_rng(1)
    pieces = [rng.integers(0, 256, size, np.uint8) for size in SIZES]
    writer = DataWriter(str(tmp_path / "file"), (lambda: rested.append(1)) if rests else None)
    for piece in pieces:
        assert writer.append(piece, crc32c(b"before")) == crc32c(piece.tobytes(), crc32c(b"before"))
    assert writer.size == sum(SIZES)
    writer.finish()
    assert (tmp_path / "file").read_bytes() == b"".join(piece.tobytes() for piece in pieces)
    assert len(rested) == (sum(SIZES) // BLOCK if rests else 0)


@pytest.mark.parametrize("rests", [False, True])
def test_a_failure_of_the_writer_thread_is_raised(tmp_path, monkeypatch, rests):
    original, calls = os.write, []

    def write(file, data):
        calls.append(len(data))
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(file, data)

    monkeypatch.setattr(os, "write", write)
    values = np.zeros(5 * BLOCK, np.uint8)
    with (
        pytest.raises(errors.ResourceExhaustedError, match="No space"),
        BundleWriter(str(tmp_path / "model"), (lambda: None) if rests else None) as writer,
    ):
        writer.add("v", dtypes.uint8, values.shape, values)
        writer.finish()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def large(tmp_path, monkeypatch):
    """Is a file that counts as large, with its bytes; nothing of it counts as cached."""
    monkeypatch.setattr(bundle_data, "_LARGE_FILE", 1)
    monkeypatch.setattr(bundle_data, "_LARGE_READ", 1)
    monkeypatch.setattr(DataFile, "_is_cached", lambda self, offset, length: False)
    content = np.random.default_rng(2).integers(0, 256, 2 * BLOCK + 12345, np.uint8)
    (tmp_path / "file").write_bytes(content.tobytes())
    return str(tmp_path / "file"), content


def test_any_part_of_a_file_can_be_read(large):
    path, content = large
    file = DataFile(path)
    rng = np.random.default_rng(3)
    spans = [(0, len(content)), (4096, 4096), (len(content) - 1, 1), (511, BLOCK + 2), (BLOCK - 1, 2)]
    spans += [(int(a), int(b)) for a, b in zip(rng.integers(0, BLOCK, 20), rng.integers(1, BLOCK, 20))]
    for offset, length in spans:
        out = np.empty(length, np.uint8)
        assert file.read(out, offset) == length
        assert np.array_equal(out, content[offset : offset + length]), (offset, length)
    file.close()


@pytest.mark.parametrize("refuses", [False, True])
def test_a_truncated_file(large, monkeypatch, refuses):
    path, content = large
    file = DataFile(path)
    if refuses:
        monkeypatch.setattr(DataFile, "_read_directly", lambda self, out, offset: 0)
    os.truncate(path, 10_000)
    out = np.empty(BLOCK, np.uint8)
    assert file.read(out, 4000) == 6000 and np.array_equal(out[:6000], content[4000:10_000])
    assert file.read(out, 20_000) == 0
    file.close()


def test_large_tensors_are_read_by_several_threads(tmp_path, large, monkeypatch):
    values = {f"v{i}": np.random.default_rng(i).random(BLOCK + 1000 * i + 1) for i in range(3)}
    prefix = str(tmp_path / "model")
    with BundleWriter(prefix) as writer:
        for name, value in values.items():
            writer.add(name, dtypes.float64, value.shape, value)
        writer.finish()
    with BundleReader(prefix) as reader:
        for name, value in values.items():
            assert np.array_equal(reader.read(name), value)
        reader.verify()
    with open(data_name(prefix, 0, 1), "r+b") as file:
        file.seek(9 * BLOCK)
        byte = file.read(1)
        file.seek(9 * BLOCK)
        file.write(bytes([byte[0] ^ 1]))
    with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError, match="'v1'"):
        reader.read_all_into([(name, "", np.empty(8 * len(v), np.uint8)) for name, v in values.items()])


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the page cache cannot be emptied here")
def test_cached_pages_are_detected(tmp_path):
    path = str(tmp_path / "file")
    with open(path, "wb") as out:
        out.write(bytes(bundle_data._LARGE_FILE))
        out.flush()
        os.fsync(out.fileno())
        file = DataFile(path)
        if file._direct < 0:
            pytest.skip("the file system has no way past the page cache")
        assert file._is_cached(5, 10_000)
        os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert not file._is_cached(5, 10_000)
    file.close()


# -- rest -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clocks(monkeypatch):
    """Lets a test say what time it is, how long the writer and how long the process has worked."""
    now = [0.0, 0.0, 0.0]
    monkeypatch.setattr(checkpoint_writers, "_clocks", lambda: tuple(now))
    monkeypatch.setattr(checkpoint_writers, "usable_cores", lambda: 4)
    return now


@pytest.mark.parametrize("busy, throttled", [(4.0, True), (2.5, True), (2.0, False), (0.0, False)])
def test_a_writer_is_throttled_while_cores_are_busy(clocks, monkeypatch, busy, throttled):
    writer = BackgroundWriter()
    waited = []
    monkeypatch.setattr(writer._unthrottled, "wait", waited.append)
    clocks[:] = 0.5, 0.25, 0.25 + busy * 0.5
    writer.throttle()
    assert waited == ([0.25 / checkpoint_writers._CPU_SHARE - 0.5] if throttled else [])


def test_a_writer_is_not_throttled_while_a_caller_waits(clocks):
    writer, blocks = BackgroundWriter(), []

    def work():
        for _ in range(100):
            clocks[:] = [clock + 100 for clock in clocks]
            clocks[2] += 400
            writer.throttle()
            blocks.append(1)

    writer.put(work)
    writer.put(lambda: None, ends=True)
    waiting = threading.Thread(target=writer.wait)
    waiting.start()
    waiting.join(30)
    assert not waiting.is_alive() and len(blocks) == 100
