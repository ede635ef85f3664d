"""Files of the local cache, which are downloaded once."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import url2pathname, urlopen

from thalweg._src.base.export import export
from thalweg._src.base.formats.paths import leads_out
from thalweg._src.base.formats.proportion import is_in_proportion, out_of_proportion
from thalweg._src.graph.graph_def_checks import shown
from thalweg._src.keras.utils.generic import Progbar

_SECONDS = 60  # that a server may stay silent
_CHUNK = 1 << 16
_MEMBER = 1 << 10  # bytes that each file of an archive takes at least


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
    """Returns the path of a file in the local cache, which is downloaded if it is not there or has another hash.

    Args:
        fname: Name of the file, or its absolute path.
        origin: URL of the file; that of a file of this machine starts with `file:`.
        untar: Whether the file is a tar archive, `fname.tar.gz`, which is extracted to `fname`.
        md5_hash: MD5 hash of the file, in place of `file_hash`.
        file_hash: Hash of the file, in hexadecimal digits.
        cache_subdir: Folder of the file below `cache_dir`.
        hash_algorithm: "md5", "sha256", or "auto", which chooses by the length of the hash.
        extract: Whether an archive is extracted into the folder that has it.
        archive_format: "tar", "zip", a list of both, "auto" for both, or None for no archive.
        cache_dir: Folder of the cache; `~/.keras` by default.
    """
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
            _require_plain(path, ((member.name, member.linkname, member.size) for member in archive))
            archive.extractall(folder, filter="data")
    elif "zip" in formats and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as zipped:
            _require_plain(path, ((info.filename, "", info.file_size) for info in zipped.infolist()))
            zipped.extractall(folder)


def _require_plain(path: Path, members: Iterable[tuple[str, str, int]]) -> None:
    """Refuses an archive that would write outside of its folder, or that is unpacked to far more than its size.

    members: names, what they link to, and sizes
    """
    stored, unpacked = path.stat().st_size, 0
    for name, target, size in members:
        for text in (name, target):
            if leads_out(text):
                raise ValueError(
                    f"{path} has {shown(name)}{f' with a link to {shown(target)}' if target else ''}, which leads out "
                    "of the folder, and is not extracted\n"
                    "  hint: extract it with another program if you know where it comes from"
                )
        unpacked += size + _MEMBER
        if not is_in_proportion(stored, unpacked):
            raise ValueError(out_of_proportion(path, stored))
