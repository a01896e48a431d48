"""Keys of service account tokens: a signing key and public keys for verification.

An own key is generated on first use instead of at start, as RSA key generation takes longer than the rest of the
start.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Protocol

from steersman.controlplane.files import write_private
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from steersman.apiserver.authn.keys import PrivateKey, PublicKey


class AccountKeys(Protocol):
    """Keys of service account tokens, in files or at an external signer."""

    @property
    def life_seconds_max(self) -> int:
        """Longest lifetime of a token that can be signed; 0 for no limit."""

    async def sign(self, claims: dict[str, Any]) -> str:
        """Return a signed token with these claims. Raises ``SigningError``."""

    async def signing_file(self) -> Path | None:
        """Return the file of the signing key; None without one."""

    async def verifying(self, kid: str = "") -> Mapping[str, PublicKey]:
        """Return all public keys for verification, by ID."""

    async def public_keys(self) -> list[dict[str, Any]]:
        """Return the keys of the discovery document as JSON Web Keys."""


class ServiceAccountKeys:
    """``KeyRing`` with a signing key; keys are read or generated on first use."""

    def __init__(self, own: Path | None, *, signing: Path | None = None, checking: Sequence[Path] = ()) -> None:
        """Load or create the keys; ``own`` is the path of the generated key (None: only in memory).

        The other arguments are the user's files, which replace it. Raises ``OptionError`` for files that are
        missing or have no PEM key, and for a missing key of an earlier start: a new one would invalidate all
        tokens.
        """
        self._generated_path: Final = own
        self._signing_path: Final = signing
        self._checking: Final = tuple(checking)
        self._reading: Final = asyncio.Lock()
        self._signing: PrivateKey | None = None
        self._verifying: dict[str, PublicKey] = {}
        for path in (*self._checking, *([signing] if signing else [])):
            if not path.is_file():
                raise OptionError(f"cannot read the service account key {path}: no such file")
            _check_pem(path)
        if own is not None and signing is None:
            if own.exists():
                _check_pem(own)
            elif _public_path(own).exists():
                raise OptionError(
                    f"{own} is missing; restore it, or remove {_public_path(own)} to create a new key,"
                    " which makes all tokens of service accounts invalid"
                )

    @property
    def life_seconds_max(self) -> int:
        """Return 0: lifetimes have no limit."""
        return 0

    async def sign(self, claims: dict[str, Any]) -> str:
        """Return a signed token. Runs in a thread, as signing takes a millisecond. Raises ``OptionError``."""
        return await asyncio.to_thread((await self.signing()).sign, claims)

    async def signing(self) -> PrivateKey:
        """Return the signing key. Raises ``OptionError``."""
        await self._load()
        assert self._signing is not None
        return self._signing

    async def signing_file(self) -> Path | None:
        """Return the file of the signing key, generated if needed; None if in memory. Raises ``OptionError``."""
        await self._load()
        return self._signing_path or self._generated_path

    async def verifying(self, kid: str = "") -> dict[str, PublicKey]:
        """Return all public keys for verification, by ID. Raises ``OptionError``."""
        del kid  # there are no others
        await self._load()
        return self._verifying

    async def public_keys(self) -> list[dict[str, Any]]:
        """Return the keys of ``verifying`` as JSON Web Keys."""
        return [key.jwk() for key in (await self.verifying()).values()]

    async def _load(self) -> None:
        if self._signing is None:
            async with self._reading:
                if self._signing is None:
                    self._signing, self._verifying = await asyncio.to_thread(self._read)

    def _read(self) -> tuple[PrivateKey, dict[str, PublicKey]]:
        from steersman.apiserver.authn import keys  # noqa: PLC0415 — loads cryptography

        path = self._signing_path or self._generated_path
        try:
            if path is not None and (path is self._signing_path or path.exists()):
                signing = keys.read_private_key(path.read_bytes())
            else:
                signing = keys.new_private_key()
                if path is not None:
                    write_private(path, signing.pem())
                    write_private(_public_path(path), signing.public_pem())
            public: list[PublicKey] = []
            for path in self._checking:
                public += keys.read_public_keys(path.read_bytes())
        except (OSError, keys.KeyFileError) as error:
            raise OptionError(f"cannot read the service account key {path}: {error}") from error
        return signing, {key.kid: key for key in public or [signing]}


def _public_path(key: Path) -> Path:
    """Return the path of our public key, as kubeadm names it. It survives the loss of the private key."""
    return key.with_suffix(".pub")


def _check_pem(path: Path) -> None:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise OptionError(f"cannot read the service account key {path}: {error.strerror or error}") from error
    if b"-----BEGIN " not in text:
        raise OptionError(f"cannot read the service account key {path}: {'not PEM' if text else 'the file is empty'}")
