"""Credentials of a client: request headers and an optional client certificate, static or renewed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from steersman.client.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from steersman.asynckit.clock import Clock

#: Re-read interval of client-go's ``cachedTokenSource``; the kubelet rotates tokens long before they expire.
_TOKEN_FILE_SECONDS: Final = 60.0
#: Credentials are renewed this long before they expire.
_EXPIRY_LEEWAY: Final = timedelta(seconds=10)


class ConfigError(ClientError):
    """A kubeconfig, or a file it refers to, cannot be used; the message names the location."""


class Identity(msgspec.Struct, frozen=True):
    """Credentials of a request. Certificate and key are PEM."""

    #: Lower-case names; a name may occur more than once (groups).
    headers: tuple[tuple[str, str], ...] = ()
    certificate: bytes | None = None
    key: bytes | None = None


class Credentials(Protocol):
    """Source of the identity."""

    async def identity(self) -> Identity:
        """Return the current identity. Raises ``ConfigError`` when none is available."""

    def reject(self) -> bool:
        """Handle a 401: report whether ``identity`` may return other credentials now."""


class StaticCredentials:
    """An identity that never changes."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    async def identity(self) -> Identity:
        """Return the identity."""
        return self._identity

    def reject(self) -> bool:
        """Return False: the identity never changes."""
        return False


class TokenFile:
    """Bearer token in a file that another process rotates; re-read every minute, and after a 401."""

    def __init__(self, path: Path, *, clock: Clock, base: Identity | None = None) -> None:
        self._path = path
        self._clock = clock
        self._base = base or Identity()
        self._identity: Identity | None = None
        self._read_at = 0.0

    async def identity(self) -> Identity:
        """Return the current token, or the last one while the file cannot be read."""
        now = self._clock.monotonic()
        if self._identity is None or now - self._read_at >= _TOKEN_FILE_SECONDS:
            try:
                token = self._path.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                if self._identity is None:
                    raise ConfigError(f"failed to read token file {str(self._path)!r}: {error}") from error
                return self._identity
            if not token:
                raise ConfigError(f"read empty token from file {str(self._path)!r}")
            self._identity = with_bearer(self._base, token)
            self._read_at = now
        return self._identity

    def reject(self) -> bool:
        """Report whether the file may hold a newer token than the last one read."""
        may_differ = self._identity is not None and self._clock.monotonic() > self._read_at
        self._read_at = -_TOKEN_FILE_SECONDS
        return may_differ


class ExecCredentials:
    """Output of an exec plugin (``client.authentication.k8s.io``), cached until it expires or the server rejects it."""

    def __init__(self, run: Callable[[], Awaitable[bytes]], *, clock: Clock, base: Identity | None = None) -> None:
        """``run`` starts the plugin and returns its output; it raises ``ConfigError``."""
        self._run = run
        self._clock = clock
        self._base = base or Identity()
        self._identity: Identity | None = None
        self._expires: datetime | None = None

    async def identity(self) -> Identity:
        """Return the cached identity; run the plugin if it is missing or expires."""
        if self._identity is None or (self._expires and self._clock.now() >= self._expires - _EXPIRY_LEEWAY):
            self._identity, self._expires = read_exec_credential(await self._run(), base=self._base)
        return self._identity

    def reject(self) -> bool:
        """Drop the cached identity; the plugin may return another."""
        self._identity = None
        return True


def with_bearer(base: Identity, token: str) -> Identity:
    """Return ``base`` with a bearer token."""
    return msgspec.structs.replace(base, headers=(*base.headers, ("authorization", f"Bearer {token}")))


def read_exec_credential(output: bytes, *, base: Identity) -> tuple[Identity, datetime | None]:
    """Return the identity of an ``ExecCredential`` and its expiration time. Raises ``ConfigError``."""
    try:
        tree: Any = msgspec.json.decode(output)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(f"decoding stdout of the exec plugin: {error}") from error
    status = tree.get("status") if isinstance(tree, dict) else None
    if not isinstance(status, dict) or tree.get("kind") != "ExecCredential":
        raise ConfigError("exec plugin didn't return a status field")
    token, certificate, key = (status.get(name) or "" for name in ("token", "clientCertificateData", "clientKeyData"))
    if not token and not (certificate and key):
        raise ConfigError("exec plugin didn't return a token or cert/key pair")
    if bool(certificate) != bool(key):
        raise ConfigError("exec plugin returned only certificate or key, not both")
    identity = with_bearer(base, token) if token else base
    if certificate:
        identity = msgspec.structs.replace(identity, certificate=certificate.encode(), key=key.encode())
    return identity, _timestamp(status.get("expirationTimestamp"))


def _timestamp(text: Any) -> datetime | None:
    if not text:
        return None
    try:
        timestamp = datetime.fromisoformat(str(text))
    except ValueError as error:
        raise ConfigError(f"exec plugin returned a malformed expirationTimestamp {text!r}") from error
    return timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)
