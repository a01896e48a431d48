"""Who the caller is: headers, and maybe a client certificate, that may change while a client lives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from steersman.client.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from steersman.asynckit.clock import Clock

#: As client-go's ``cachedTokenSource`` for in-cluster tokens, which the kubelet renews long before they end.
_TOKEN_FILE_SECONDS: Final = 60.0
#: A credential that ends within this is not used any more.
_EXPIRY_LEEWAY: Final = timedelta(seconds=10)


class ConfigError(ClientError):
    """A kubeconfig, or what it points to, cannot be used; the text says what and where."""


class Identity(msgspec.Struct, frozen=True):
    """What requests carry now. Certificate and key are PEM."""

    #: Names in lower case; a name may come more than once (groups).
    headers: tuple[tuple[str, str], ...] = ()
    certificate: bytes | None = None
    key: bytes | None = None


class Credentials(Protocol):
    """Where the identity comes from."""

    async def identity(self) -> Identity:
        """What to send now. Raises ``ConfigError`` when it cannot be had."""

    def reject(self) -> bool:
        """The server answered 401: whether another identity may be had by asking again."""


class StaticCredentials:
    """An identity that never changes."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    async def identity(self) -> Identity:
        """Always the same."""
        return self._identity

    def reject(self) -> bool:
        """There is no other."""
        return False


class TokenFile:
    """A bearer token in a file that somebody else renews; read anew every minute, and after a 401."""

    def __init__(self, path: Path, *, clock: Clock, base: Identity | None = None) -> None:
        self._path = path
        self._clock = clock
        self._base = base or Identity()
        self._identity: Identity | None = None
        self._read_at = 0.0

    async def identity(self) -> Identity:
        """The token of now; the last one if the file cannot be read for a while."""
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
        """The file may have a newer token than was read."""
        fresh = self._identity is not None and self._clock.monotonic() > self._read_at
        self._read_at = -_TOKEN_FILE_SECONDS
        return fresh


class ExecCredentials:
    """What a plugin says (``client.authentication.k8s.io``); kept until it expires or the server refuses it."""

    def __init__(self, run: Callable[[], Awaitable[bytes]], *, clock: Clock, base: Identity | None = None) -> None:
        """``run`` starts the plugin and returns what it wrote; raises ``ConfigError``."""
        self._run = run
        self._clock = clock
        self._base = base or Identity()
        self._identity: Identity | None = None
        self._expires: datetime | None = None

    async def identity(self) -> Identity:
        """What the plugin said, or says now."""
        if self._identity is None or (self._expires and self._clock.now() >= self._expires - _EXPIRY_LEEWAY):
            self._identity, self._expires = read_exec_credential(await self._run(), base=self._base)
        return self._identity

    def reject(self) -> bool:
        """The plugin may say something else."""
        self._identity = None
        return True


def with_bearer(base: Identity, token: str) -> Identity:
    """``base`` with a bearer token."""
    return msgspec.structs.replace(base, headers=(*base.headers, ("authorization", f"Bearer {token}")))


def read_exec_credential(output: bytes, *, base: Identity) -> tuple[Identity, datetime | None]:
    """The identity in an ``ExecCredential``, and when it ends. Raises ``ConfigError``."""
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
        found = datetime.fromisoformat(str(text))
    except ValueError as error:
        raise ConfigError(f"exec plugin returned a malformed expirationTimestamp {text!r}") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)
