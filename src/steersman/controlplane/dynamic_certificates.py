"""Serving certificates and authorities of the API server, which are loaded again when their files change.

Files that cannot be used leave the former ones in use. Upstream: ``k8s.io/apiserver/pkg/server/dynamiccertificates``.
"""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.server.http1.tls import TLSFiles, tls_context
from steersman.asynckit.server_names import ServerContexts, ServerTLS
from steersman.controlplane.file_follower import FileFollower

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from steersman.asynckit.clock import Clock
    from steersman.controlplane.bootstrap.authentication_config import AuthenticationInfo
    from steersman.controlplane.sni_certificates import NamedCertKey


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
        self._follower = FileFollower(self._paths(), self._reload, clock=clock)
        self.tls: Final = ServerTLS(self._make_contexts())

    async def run(self) -> None:
        """Load files that have changed, until cancelled."""
        await self._follower.run()

    async def reload(self) -> None:
        """Load the files if one has changed since the last call. Raises ``TLSFileError``, ``OSError``, ``ClientError``."""
        await self._follower.check()

    async def _reload(self) -> None:
        contexts, authorities = await to_thread(self._load)
        self.tls.replace(contexts)
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

    def _paths(self) -> list[Path]:
        paths = [self._files.certificate, self._files.key, *self._files.client_cas]
        for pair in self._named:
            paths += [pair.certificate, pair.key]
        return paths
