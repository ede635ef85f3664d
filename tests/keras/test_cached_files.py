"""Files of the local cache: found, copied, downloaded from a server, and extracted."""

import contextlib
import hashlib
import socket
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from thalweg._src.keras.utils.cached_files import get_file

_URL = "https://example.com/data.txt"
_MD5, _SHA256 = hashlib.md5(b"content").hexdigest(), hashlib.sha256(b"content").hexdigest()


@contextlib.contextmanager
def serving(files):
    """Serves files by HTTP; yields the address and the list of the paths that were asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            content = files.get(self.path)
            self.send_response(200 if content is not None else 404)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _place(folder, content=b"content"):
    path = folder / "datasets" / "data.txt"
    path.parent.mkdir()
    path.write_bytes(content)
    return str(path)


def test_a_file_of_the_cache_is_found(tmp_path, monkeypatch):
    path = _place(tmp_path)
    assert get_file("data.txt", _URL, cache_dir=str(tmp_path)) == path
    for hashes in ({"md5_hash": _MD5}, {"file_hash": _MD5}, {"file_hash": _SHA256}):
        assert get_file("data.txt", _URL, cache_dir=str(tmp_path), **hashes) == path
    assert get_file(path, _URL) == path
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    home = tmp_path / "home" / ".keras" / "models" / "data.txt"
    home.parent.mkdir(parents=True)
    home.touch()
    assert get_file("data.txt", _URL, cache_subdir="models") == str(home)


def test_a_file_is_downloaded_once(tmp_path, capsys):
    with serving({"/data.txt": b"content"}) as (address, asked):
        for _ in range(2):
            path = get_file("data.txt", f"{address}/data.txt", file_hash=_SHA256, cache_dir=str(tmp_path))
    assert asked == ["/data.txt"]
    assert path == str(tmp_path / "datasets" / "data.txt")
    assert (tmp_path / "datasets" / "data.txt").read_bytes() == b"content"
    assert capsys.readouterr().out.startswith(f"Downloading data from {address}/data.txt\n")


def test_a_file_with_another_hash_is_downloaded_again(tmp_path):
    path = _place(tmp_path, b"old")
    with serving({"/data.txt": b"content"}) as (address, _):
        assert get_file("data.txt", f"{address}/data.txt", md5_hash=_MD5, cache_dir=str(tmp_path)) == path
    assert (tmp_path / "datasets" / "data.txt").read_bytes() == b"content"


def test_a_download_with_another_hash_is_refused_and_not_kept(tmp_path):
    with serving({"/data.txt": b"other"}) as (address, _), pytest.raises(ValueError, match="another hash than the exp"):
        get_file("data.txt", f"{address}/data.txt", file_hash=_MD5, cache_dir=str(tmp_path))
    assert not list((tmp_path / "datasets").iterdir())


def test_what_cannot_be_downloaded_is_named_with_its_place(tmp_path):
    with (
        serving({}) as (address, _),
        pytest.raises(FileNotFoundError, match=r"data\.txt: 404\. .*datasets/data\.txt do"),
    ):
        get_file("data.txt", f"{address}/data.txt", cache_dir=str(tmp_path))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nothing listens there
        origin = f"http://127.0.0.1:{taken.getsockname()[1]}/data.txt"
        with pytest.raises(FileNotFoundError, match=f"download {origin} where the network"):
            get_file("data.txt", origin, cache_dir=str(tmp_path))
        assert not list((tmp_path / "datasets").iterdir())
        (tmp_path / "datasets" / "data.txt").write_text("other")
        with pytest.raises(FileNotFoundError, match="its hash differs: download"):
            get_file("data.txt", origin, file_hash=_MD5, cache_dir=str(tmp_path))


def test_a_file_of_this_machine_is_copied_to_the_cache(tmp_path):
    origin = tmp_path / "own data.txt"
    origin.write_bytes(b"content")
    cache = tmp_path / "cache"
    path = get_file("data.txt", origin.as_uri(), cache_dir=str(cache))
    assert path == str(cache / "datasets" / "data.txt")
    assert (cache / "datasets" / "data.txt").read_bytes() == b"content"
    with pytest.raises(ValueError, match="has another hash than the expected 123"):
        get_file("other.txt", origin.as_uri(), file_hash="123", cache_dir=str(cache))


def test_archives_are_extracted(tmp_path):
    member = tmp_path / "member"
    member.write_bytes(b"content")
    folder = tmp_path / "datasets"
    folder.mkdir()
    with tarfile.open(folder / "texts.tar.gz", "w:gz") as archive:
        archive.add(member, "texts/member")
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        archive.write(member, "images/member")
    origin = "https://example.com/archive"
    kept = get_file("images.zip", origin, cache_dir=str(tmp_path), extract=True, archive_format="tar")
    assert kept == str(folder / "images.zip")
    assert not (folder / "images").exists()
    get_file("images.zip", origin, cache_dir=str(tmp_path), extract=True)
    assert (folder / "images" / "member").read_bytes() == b"content"
    assert get_file("texts", origin, cache_dir=str(tmp_path), untar=True) == str(folder / "texts")
    assert (folder / "texts" / "member").read_bytes() == b"content"
    (folder / "texts.tar.gz").unlink()
    assert get_file("texts", origin, cache_dir=str(tmp_path), untar=True) == str(folder / "texts")
