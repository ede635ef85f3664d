"""Credentials of a cluster: a token that all tasks and clients share, mutual TLS, or neither where that is explicit.

The environment decides, so that programs written for TensorFlow need no change. On loopback nothing has to be set: a
token that only the user can read is created on first use, and keeps other users of the machine out.
"""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import os
import secrets
import ssl
import stat
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from thalweg._src.base.errors import FailedPreconditionError, UnauthenticatedError, describe
from thalweg._src.runtime.compile import cache

TOKEN = "THALWEG_CLUSTER_TOKEN"
TOKEN_FILE = "THALWEG_CLUSTER_TOKEN_FILE"
TLS_CERT = "THALWEG_CLUSTER_TLS_CERT"
TLS_KEY = "THALWEG_CLUSTER_TLS_KEY"
TLS_CA = "THALWEG_CLUSTER_TLS_CA"
INSECURE = "THALWEG_CLUSTER_INSECURE"

_OWN_TOKEN = "cluster_token"  # the name of its file
_MIN_TOKEN = 16  # bytes: a connection lets its other end try guesses of a token without further attempts to connect
_MAX_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class Tls:
    """The paths of the PEM files of mutual TLS."""

    certificate: str
    key: str
    authority: str

    def context(self, *, is_server: bool) -> ssl.SSLContext:
        """Returns the settings of one end: TLS 1.3, both ends show a certificate of the authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(self.authority)
            context.load_cert_chain(self.certificate, self.key, password="")  # OpenSSL would ask at the terminal
        except OSError as error:
            files = f"{TLS_CERT}={self.certificate}, {TLS_KEY}={self.key}, {TLS_CA}={self.authority}"
            expected = "PEM files; the key without a password and of this certificate"
            raise _refused("the TLS files cannot be used", expected=expected, received=f"{files}: {error}") from None
        return context


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a task or client of a cluster proves itself with, and expects of its peers."""

    token: bytes | None = field(default=None, repr=False)
    tls: Tls | None = None
    insecure: bool = False
    origin: str = field(default="", compare=False)  # where the token comes from, for errors

    @classmethod
    def find(cls, addresses: Iterable[str], environ: Mapping[str, str] = os.environ) -> Credentials:
        """Returns the credentials that the environment names for addresses to listen at or to connect to.

        Without any, loopback addresses have the token of this user; others are refused, rather than open to strangers.
        """
        token, origin = _token(environ)
        tls = _tls(environ)
        insecure = environ.get(INSECURE) or "0"
        if insecure not in ("0", "1"):
            raise _refused(f"{INSECURE} is neither 0 nor 1", received=repr(insecure))
        if token is None and tls is None and insecure == "0":
            exposed = next((address for address in addresses if not is_loopback(address)), None)
            if exposed is not None:
                raise _refused(
                    f"the address {exposed} is not loopback, and this process has no credentials of a cluster",
                    expected=f"in the environment of all tasks and clients: {TOKEN} (a random text of {_MIN_TOKEN} "
                    f"characters or more, the same for all) or {TOKEN_FILE} (a file that holds it); or {TLS_CERT}, "
                    f"{TLS_KEY} and {TLS_CA} (files of mutual TLS)",
                    hint=f"{INSECURE}=1 goes without: any program that can reach the tasks may then run graphs in them",
                )
            token, origin = _own_token()
        return cls(token, tls, insecure == "1", origin)

    def mac(self, label: str, *contents: bytes) -> bytes:
        """Returns the HMAC-SHA256 of contents under the token, or under the empty key without one.

        The label says what it proves, so that the proof of one end or plane is none at another.
        """
        code = hmac.new(self.token or b"", digestmod="sha256")
        for content in (label.encode(), *contents):
            code.update(len(content).to_bytes(8, "big") + content)
        return code.digest()

    def other_token(self, other: str) -> UnauthenticatedError:
        """Returns the error of a connection whose other end does not prove that it has the token of this process."""
        what = f"{other} has another token of the cluster than this process, or belongs to another cluster"
        hint = f"all tasks and clients need the same {TOKEN}, or {TOKEN_FILE} with the same contents"
        received = f"here the token of {self.origin}" if self.origin else None
        return UnauthenticatedError(None, None, describe(what, received=received, hint=hint))


def missing_token(owner: str, other: str) -> UnauthenticatedError:
    """Returns the error of a connection of which one end has a token of the cluster, and the other one none."""
    what = f"{owner} has a token of the cluster, and {other} has none"
    return UnauthenticatedError(None, None, describe(what, hint=f"set {TOKEN} or {TOKEN_FILE} for {other}"))


def is_loopback(address: str) -> bool:
    """Returns whether only processes of this machine can reach an address such as localhost:2222 or [::1]:2222."""
    host = host_of(address)
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host.lower() == "localhost"  # other names are looked up elsewhere


def host_of(address: str) -> str:
    """Returns the host of an address, without its port and the brackets of IPv6."""
    address = address.rpartition("://")[2]
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address


def _refused(
    what: str, expected: str | None = None, received: str | None = None, hint: str | None = None
) -> FailedPreconditionError:
    return FailedPreconditionError(None, None, describe(what, expected=expected, received=received, hint=hint))


def _token(environ: Mapping[str, str]) -> tuple[bytes | None, str]:
    """Returns the token that the environment names, and where it is."""
    text, path = environ.get(TOKEN), environ.get(TOKEN_FILE)
    if text and path:
        raise _refused(f"{TOKEN} and {TOKEN_FILE} are both set", expected="one of them")
    if text:
        return _checked(os.fsencode(text), TOKEN), TOKEN
    if path:
        return _checked(_read_secret(path, TOKEN_FILE), path), path
    return None, ""


def _checked(token: bytes, origin: str, hint: str | None = None) -> bytes:
    token = token.strip()
    if len(token) < _MIN_TOKEN:
        raise _refused(
            f"the token of {origin} is too short to be secret",
            expected=f"{_MIN_TOKEN} characters or more",
            received=f"{len(token)} characters",
            hint=hint or "openssl rand -hex 32 prints a good one",
        )
    return token


def _tls(environ: Mapping[str, str]) -> Tls | None:
    paths = {name: environ.get(name) or "" for name in (TLS_CERT, TLS_KEY, TLS_CA)}
    if not any(paths.values()):
        return None
    if missing := [name for name, path in paths.items() if not path]:
        raise _refused("mutual TLS needs a certificate, its key and an authority", received=f"no {', '.join(missing)}")
    for name in (TLS_CERT, TLS_CA):
        _read(paths[name], name)
    _read_secret(paths[TLS_KEY], TLS_KEY)
    tls = Tls(*paths.values())
    tls.context(is_server=True)  # files that do not belong together are found now, not by the first connection
    return tls


def _own_token() -> tuple[bytes, str]:
    """Returns the token of this user, which is created on first use, and the path of its file."""
    try:
        path = cache.private_folder() / _OWN_TOKEN
        if not path.exists():
            _create(path)
    except OSError as error:
        raise _refused(f"the token of this user cannot be kept: {error}", hint=f"set {TOKEN} instead") from None
    token = _read_secret(str(path), "the token of this user", os.O_NOFOLLOW)
    return _checked(token, str(path), hint=f"remove {path}, and restart what runs with it"), str(path)


def _create(path: Path) -> None:
    """Creates a file with a random token; of several processes that do so at once, the first one does."""
    # A link to a complete file: a process that finds the name finds the whole token, and of two links of one name the
    # second fails.
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{_OWN_TOKEN}-") as file:  # mode 0600
        file.write(secrets.token_hex(32).encode())
        file.flush()
        os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(file.name, path)


def _read_secret(path: str, purpose: str, flags: int = 0) -> bytes:
    """Returns the contents of a file that other users can neither read nor write.

    The group may read a file of root: a secret that Kubernetes mounts for a process of another user is such a file.
    """
    contents, status = _read(path, purpose, flags)
    if status.st_uid not in (os.geteuid(), 0):
        raise _refused(f"{path} ({purpose}) belongs to another user (uid {status.st_uid})", expected="a file of yours")
    open_to = status.st_mode & (0o077 if status.st_uid == os.geteuid() else 0o037)
    if open_to:
        raise _refused(
            f"{path} ({purpose}) is open to other users",
            expected="mode 0600 or less",
            received=f"mode {stat.S_IMODE(status.st_mode):04o}",
            hint=f"chmod 600 {path}, or defaultMode: 0400 for a secret of Kubernetes",
        )
    return contents


def _read(path: str, purpose: str, flags: int = 0) -> tuple[bytes, os.stat_result]:
    # The open file is looked at, not its path, which could lead to another one a moment later. Without O_NONBLOCK, to
    # open a FIFO would wait for a writer.
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise _refused(f"{path} ({purpose}) is not a file")
            return file.read(_MAX_FILE), status
    except OSError as error:
        raise _refused(f"{path} ({purpose}) cannot be read: {error.strerror}") from None
