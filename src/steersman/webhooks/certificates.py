"""Serving certificates of webhook servers.

Upstream: controller-runtime's ``pkg/certwatcher``.
"""

from __future__ import annotations

from asyncio import to_thread
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from steersman.asynckit.serving_tls import PemPair

if TYPE_CHECKING:
    import os


class CertificateSource(Protocol):
    """Interface of the sources of a certificate and its key."""

    @property
    def reload_seconds(self) -> float:
        """Period of the calls of ``load``."""

    async def load(self) -> PemPair:
        """Return the current pair. An error at the start of the server is fatal, a later one is logged."""


class CertificateFiles:
    """Certificate and key in files, e.g. of a mounted Secret of type ``kubernetes.io/tls``."""

    reload_seconds: Final = 10.0

    def __init__(self, directory: str | os.PathLike[str], *, cert: str = "tls.crt", key: str = "tls.key") -> None:
        """``cert`` and ``key``: names in the directory."""
        self._cert = Path(directory) / cert
        self._key = Path(directory) / key

    async def load(self) -> PemPair:
        """Read the files. Raises OSError."""
        return await to_thread(self._read)

    def _read(self) -> PemPair:
        return PemPair(self._cert.read_bytes(), self._key.read_bytes())
