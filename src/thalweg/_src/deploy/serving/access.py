"""Who may call a server: on loopback all programs of the machine, elsewhere those with a token or a certificate."""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.credentials import Credentials, Tls, is_loopback

_PREFIX, _CLUSTER = "THALWEG_SERVING_", "THALWEG_CLUSTER_"
TOKEN = f"{_PREFIX}TOKEN"


@dataclass(frozen=True, slots=True)
class Access:
    """What clients have to prove: a token in the header `authorization: Bearer TOKEN`, a certificate, or nothing.

    hosts: the names that requests may address the server by, besides addresses and localhost; none: any name
    origins: the web pages that may call it, such as https://example.com
    """

    token: bytes | None = field(default=None, repr=False)
    tls: Tls | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    @classmethod
    def find(cls, address: str, environ: Mapping[str, str] = os.environ) -> Access:
        """Returns what the environment asks of clients at an address.

        The variables are those of a cluster with THALWEG_SERVING_ in front, so that who may call a model may not also
        run graphs in the cluster. An address that other machines can reach needs one of them.
        """
        variables = {key.replace(_PREFIX, _CLUSTER): value for key, value in environ.items() if key.startswith(_PREFIX)}
        if is_loopback(address) and not any(variables.values()):
            return cls()
        try:
            credentials = Credentials.find([address], variables)
        except errors.FailedPreconditionError as error:
            message = error.message.replace(_CLUSTER, _PREFIX).replace("of a cluster", "of a server")
            raise errors.FailedPreconditionError(None, None, message) from None
        return cls(credentials.token, credentials.tls)

    def has_token(self, sent: bytes) -> bool:
        """Returns whether the value of an authorization header is right, or none is asked for."""
        return self.token is None or hmac.compare_digest(sent, b"Bearer " + self.token)

    def has_host(self, host: str) -> bool:
        """Returns whether a request may address the server by a name or address, with or without a port.

        A web page can give its own name the address of this server, and would then read the answers (DNS rebinding).
        """
        name = re.sub(r":\d*$", "", host).lower().rstrip(".")
        return not self.hosts or name in (*self.hosts, "localhost") or _is_address(name)

    def grpc_credentials(self) -> Any:
        """Returns the credentials of a gRPC server with TLS."""
        import grpc

        authority, key, certificate = self.tls_contents()
        return grpc.ssl_server_credentials([(key, certificate)], authority, require_client_auth=True)

    def tls_contents(self) -> list[bytes]:
        """Returns the contents of the files of authority, key and certificate."""
        assert self.tls is not None
        paths = self.tls.authority, self.tls.key, self.tls.certificate
        return [Path(path).read_bytes() for path in paths]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def missing_token(where: str) -> errors.UnauthenticatedError:
    """Returns the error of a call without the token."""
    message = f"this server has a token: expected `Bearer` and the token in {where}"
    return errors.UnauthenticatedError(None, None, message)
