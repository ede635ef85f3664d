"""Files of the local cache, which are downloaded once."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import url2pathname, urlopen

from thalweg._src.export import export
from thalweg._src.keras.utils.generic import Progbar

_SECONDS = 60  # that a server may stay silent
_CHUNK = 1 << 16


@export("keras.utils.get_file")
def get_file(
    fname: str,
    origin: str,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str | Sequence[str] | None = "auto",
    cache_dir: str | None = None,
) -> str:
    """Returns the path of a file in the local cache, which is downloaded if it is not there or has another hash."""
    folder = Path(cache_dir or Path.home() / ".keras") / cache_subdir
    content = folder / fname
    if untar and content.exists():
        return str(content)
    path = folder / f"{fname}.tar.gz" if untar else content
    expected = file_hash or md5_hash
    algorithm = "md5" if file_hash is None and md5_hash else hash_algorithm
    if not path.exists() or (expected is not None and not _has_hash(path, expected, algorithm)):
        _download(path, origin, expected, algorithm)
    if untar:
        _extract(path, folder, "tar")
        return str(content)
    if extract:
        _extract(path, folder, archive_format)
    return str(path)


def _download(path: Path, origin: str, expected: str | None, algorithm: str) -> None:
    """Puts a file into the cache, if it has the hash that is expected; nothing is left there otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            if urlsplit(origin).scheme == "file":
                with open(url2pathname(urlsplit(origin).path), "rb") as source:
                    shutil.copyfileobj(source, file)
            else:
                _fetch(origin, file, path)
        if expected is not None and not _has_hash(Path(temporary), expected, algorithm):
            raise ValueError(f"{origin} has another hash than the expected {expected}")
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _fetch(origin: str, file: IO[bytes], path: Path) -> None:
    """Writes what a server sends to a file."""
    try:
        with urlopen(origin, timeout=_SECONDS) as answer:
            print("Downloading data from", origin)
            size = answer.headers.get("Content-Length")
            bar = Progbar(int(size) if size else None, unit_name="byte")
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
                bar.add(len(chunk))
    except OSError as error:
        reason: Any = error
        if isinstance(error, URLError):
            reason = error.code if isinstance(error, HTTPError) else error.reason
        state = "is not the expected file, since its hash differs" if path.exists() else "does not exist"
        raise FileNotFoundError(
            f"URL fetch failure on {origin}: {reason}. {path} {state}: download {origin} where the network allows it, "
            "and place it at that path"
        ) from error


def _has_hash(path: Path, expected: str, algorithm: str) -> bool:
    sha256 = algorithm == "sha256" or (algorithm == "auto" and len(expected) == 64)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256" if sha256 else "md5").hexdigest() == expected


def _extract(path: Path, folder: Path, archive_format: str | Sequence[str] | None) -> None:
    """Extracts an archive of one of the given formats; another file stays as it is."""
    formats = ("tar", "zip") if archive_format == "auto" else archive_format or ()
    if "tar" in formats and tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
    elif "zip" in formats and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
