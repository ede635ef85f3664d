"""The cache of compiled code: what is loaded from it, what is refused, and what a killed process leaves."""

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from tests import children
from thalweg._src.runtime.compile import cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # the folder that takes its place ends with the process
    cache._temporary_folder.cache_clear()
    yield tmp_path / "cache"
    cache._temporary_folder.cache_clear()


@pytest.fixture
def stored(folder, tmp_path):
    """Puts two files into the cache and returns the file that holds them."""
    (tmp_path / "made").write_bytes(b"\x7fELF code")
    cache.store("digest", {"library.so": tmp_path / "made", "kernels/one": tmp_path / "made"})
    return folder / "digest.compiled"


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "thalweg"]


def test_what_is_stored_comes_back_as_a_private_copy(stored, folder):
    copy = cache.restore("digest")
    assert {path.name: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == {
        "library.so": b"\x7fELF code",
        "one": b"\x7fELF code",
    }
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(copy.stat().st_mode) == 0o700
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert cache.restore("another") is None


def _truncate(path):
    os.truncate(path, path.stat().st_size // 2)


def _change(path):
    data = path.read_bytes()
    path.write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])


@pytest.mark.parametrize("damage", [_truncate, _change, lambda path: path.write_bytes(b"")])
def test_a_damaged_file_is_not_used(damage, stored, caplog):
    damage(stored)
    assert cache.restore("digest") is None
    assert cache.restore("digest") is None
    assert len(warnings(caplog)) == 1
    assert f"{stored} is damaged: its SHA-256" in warnings(caplog)[0]


@pytest.mark.parametrize("name", ["/etc/passwd", "../stolen", "kernels/../../stolen"])
def test_no_path_leads_out_of_the_folder(name, folder, tmp_path, caplog):
    (tmp_path / "made").write_bytes(b"code")
    cache.store("digest", {name: tmp_path / "made"})
    assert cache.restore("digest") is None
    assert repr(name) in warnings(caplog)[0]


def test_sizes_must_fit(stored, caplog):
    body = json.dumps([["library.so", 9], ["kernels/one", 5]]).encode() + b"\n" + b"\x7fELF code" * 2
    head = stored.read_bytes().partition(b"\n")[0][:-64]
    stored.write_bytes(head + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    assert cache.restore("digest") is None
    assert "18 bytes, and its index 14" in warnings(caplog)[0]


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_is_refused(mode, stored, caplog):
    stored.chmod(mode)
    assert cache.restore("digest") is None
    assert f"run: chmod go-w {stored}" in warnings(caplog)[0]


def test_a_link_to_a_file_is_refused(stored, tmp_path, caplog):
    stored.rename(tmp_path / "elsewhere")
    stored.symlink_to(tmp_path / "elsewhere")
    assert cache.restore("digest") is None
    assert "is a symbolic link" in warnings(caplog)[0]


def test_a_file_that_was_refused_is_replaced(stored, tmp_path):
    stored.rename(tmp_path / "elsewhere")
    stored.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    cache.store("digest", {"library.so": tmp_path / "made"})
    assert not stored.is_symlink() and cache.restore("digest") is not None
    assert (tmp_path / "elsewhere").read_bytes() == before


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_can_write_is_not_used(mode, stored, folder, caplog):
    folder.chmod(mode)
    assert cache.restore("digest") is None
    assert cache.folder() == cache.folder() != folder
    assert stat.S_IMODE(cache.folder().stat().st_mode) == 0o700
    assert len(warnings(caplog)) == 1 and f"chmod go-w {folder}" in warnings(caplog)[0]


def test_a_link_to_a_folder_is_not_used(tmp_path, folder, caplog):
    (tmp_path / "real").mkdir(0o700)
    folder.symlink_to(tmp_path / "real")
    assert cache.folder() != folder
    assert "is a symbolic link" in warnings(caplog)[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_what_belongs_to_another_user_is_refused(stored, folder, caplog):
    os.chown(stored, 12345, -1)
    assert cache.restore("digest") is None
    assert "belongs to another user (uid 12345)" in warnings(caplog)[0]
    os.chown(folder, 12345, -1)
    assert cache.folder() != folder


def test_a_file_in_the_place_of_the_folder(tmp_path, folder, caplog):
    folder.write_bytes(b"")
    assert cache.folder() != folder
    assert "Name another one in THALWEG_CACHE" in warnings(caplog)[0]


def test_the_least_recently_used_is_deleted(folder, tmp_path, monkeypatch):
    (tmp_path / "made").write_bytes(bytes(1000))
    for number, name in enumerate("abc"):
        cache.store(name, {"x": tmp_path / "made"})
        os.utime(folder / f"{name}.compiled", (number, number))
    assert cache.restore("a") is not None  # used now
    monkeypatch.setattr(cache, "_LIMIT", 3500)
    cache.store("d", {"x": tmp_path / "made"})
    assert sorted(path.name for path in folder.glob("*.compiled")) == ["a.compiled", "c.compiled", "d.compiled"]


_WRITER = """
import sys
from pathlib import Path
from thalweg._src.runtime.compile import cache

print(cache.work(), flush=True)
while True:
    cache.store("digest", {"x": Path(sys.argv[1])})
    print("stored", flush=True)
"""


def test_a_killed_writer_leaves_whole_files(folder, tmp_path, start_child):
    """What it was writing is deleted by the next process; that of a living one stays."""
    (tmp_path / "made").write_bytes(bytes(1 << 22))
    command = [sys.executable, "-c", _WRITER, tmp_path / "made"]
    killed, living = (start_child(command, stdout=subprocess.PIPE, text=True) for _ in range(2))
    works = [process.stdout.readline().strip() for process in (killed, living)]
    for process in (killed, living):
        process.stdout.readline()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    copy = cache.restore("digest")
    assert (copy / "x").read_bytes() == bytes(1 << 22)
    assert [os.path.exists(path) for path in works] == [False, True]
    children.end(living)
