"""Serving certificates and authorities of the API server, which are loaded again when their files change.

Files are compared by content every ``RELOAD_SECONDS``: a Secret volume replaces them by a symbolic link. Files that cannot be
used leave the former ones in use. Upstream: ``k8s.io/apiserver/pkg/server/dynamiccertificates``.
"""

from __future__ import annotations

import hashlib
import logging
from asyncio import to_thread
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.server.http1.tls import TLSFiles, tls_context
from steersman.asynckit.server_names import ServerContexts, ServerTLS
from steersman.client.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from steersman.asynckit.clock import Clock
    from steersman.controlplane.bootstrap.authentication_config import AuthenticationInfo
    from steersman.controlplane.sni_certificates import NamedCertKey

_log = logging.getLogger(__name__)

#: Upstream is notified of changes, and compares the files once a minute.
RELOAD_SECONDS: Final = 10.0


class DynamicCertificates:
    """TLS of a listener. Raises ``TLSFileError``."""

    def __init__(
        self,
        files: TLSFiles,
        named: Sequence[NamedCertKey],
        *,
        address: str,
        read_authorities: Callable[[], AuthenticationInfo],
        apply_authorities: Callable[[AuthenticationInfo], Awaitable[None]],
        clock: Clock,
    ) -> None:
        """``address``: see ``ServerContexts``. ``read_authorities`` runs in a thread; its result is applied after each change
        of a file.
        """
        self._files = files
        self._named = named
        self._address = address
        self._read_authorities = read_authorities
        self._apply_authorities = apply_authorities
        self._clock = clock
        self._digests = self._read_digests()
        self.tls: Final = ServerTLS(self._make_contexts())

    async def run(self) -> None:
        """Load files that have changed, until cancelled."""
        while True:
            await self._clock.sleep(RELOAD_SECONDS)
            try:
                await self.reload()
            except (ClientError, OSError, ValueError) as error:
                _log.warning("changed TLS files are not in use: %s", error)

    async def reload(self) -> None:
        """Load the files if one has changed since the last call. Raises ``TLSFileError``, ``OSError``, ``ClientError``."""
        digests = await to_thread(self._read_digests)
        if digests == self._digests:
            return
        self._digests = digests
        contexts, authorities = await to_thread(self._load)
        self.tls.replace(contexts)
        _log.info("TLS files have changed and are in use")
        await self._apply_authorities(authorities)

    def _load(self) -> tuple[ServerContexts, AuthenticationInfo]:
        return self._make_contexts(), self._read_authorities()

    def _make_contexts(self) -> ServerContexts:
        default = tls_context(self._files)
        if not self._named:
            return ServerContexts(default)
        from steersman.controlplane.sni_certificates import LoadedCertificate, server_contexts  # noqa: PLC0415 — few

        def load(pair: NamedCertKey) -> LoadedCertificate:
            files = msgspec.structs.replace(self._files, certificate=pair.certificate, key=pair.key)
            return LoadedCertificate(tls_context(files), pair.certificate.read_bytes(), pair.names)

        return server_contexts(
            LoadedCertificate(default, self._files.certificate.read_bytes()),
            [load(pair) for pair in self._named],
            address=self._address,
        )

    def _read_digests(self) -> list[bytes]:
        """Return the digests of all files; empty for files that cannot be read."""
        paths = [self._files.certificate, self._files.key, *self._files.client_cas]
        for pair in self._named:
            paths += [pair.certificate, pair.key]
        return [_digest(path) for path in paths]


def _digest(path: Path) -> bytes:
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return b""
