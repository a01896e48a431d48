"""The keys of service account tokens: one that signs, and public ones that check.

Our own key is made when it is first needed and not at the start: an RSA key takes longer to make than all the rest.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from steersman.controlplane.files import write_private
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class ServiceAccountKeys:
    """Reads or makes keys on first use."""

    def __init__(self, own: Path | None, *, signing: Path | None = None, checking: Sequence[Path] = ()) -> None:
        """``own`` is where our key lies, or will (None: only in memory); the others are the user's files, instead of it."""
        self._own = own
        self._signing = signing
        self._checking = tuple(checking)
        self._making = asyncio.Lock()
        self._private: bytes | None = None
        self._public: list[dict[str, Any]] | None = None

    async def signing_key(self) -> bytes:
        """The private key, PEM. Raises ``OptionError``."""
        async with self._making:
            if self._private is None:
                self._private = await self._read_or_make()
        return self._private

    async def _read_or_make(self) -> bytes:
        path = self._signing or self._own
        if path is not None and (path.exists() or path is self._signing):
            return _read(path)
        made = await asyncio.to_thread(_new_key)
        if path is not None:
            write_private(path, made)
        return made

    async def public_keys(self) -> list[dict[str, Any]]:
        """All keys that may have signed, as JSON Web Keys. Raises ``OptionError``."""
        if self._public is None:
            pems = [_read(path) for path in self._checking] or [await self.signing_key()]
            self._public = await asyncio.to_thread(_as_jwks, pems)
        return self._public


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OptionError(f"cannot read the service account key {path}: {error.strerror}") from error


def _new_key() -> bytes:
    from steersman.controlplane import json_web_keys  # noqa: PLC0415 — loads cryptography

    return json_web_keys.new_rsa_key()


def _as_jwks(pems: list[bytes]) -> list[dict[str, Any]]:
    from steersman.controlplane import json_web_keys  # noqa: PLC0415 — loads cryptography

    try:
        return [json_web_keys.from_pem(pem) for pem in pems]
    except ValueError as error:
        raise OptionError(f"service account key: {error}") from error
