"""``--service-account-signing-endpoint``: an external process signs service account tokens, by gRPC over a Unix socket.

Upstream: staging/src/k8s.io/externaljwt/apis/v1/api.proto, pkg/serviceaccount/externaljwt/plugin/{plugin.go,keycache.go}
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.histogram import Histogram
from steersman.apimachinery.protowire import string, wire_fields
from steersman.apiserver.authn import jws
from steersman.apiserver.authn.token_issuer import SigningError
from steersman.apiserver.observability.metrics import counter, gauge, histogram
from steersman.controlplane.options import OptionError
from steersman.extras import load_optional
from steersman.grpc.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from steersman.apiserver.authn.keys import PublicKey
    from steersman.apiserver.observability.metrics import Family
    from steersman.asynckit.clock import Clock
    from steersman.grpc.channel import Channel

FLAG: Final = "--service-account-signing-endpoint"
_SERVICE: Final = "/v1.ExternalJWTSigner/"
#: Timeouts of calls; that of keys is upstream's.
_SYNC_SECONDS: Final = 60.0
_CALL_SECONDS: Final = 30.0
#: Delay after a failed fetch of keys (``fallbackRefreshDuration``), and shortest one between fetches for unknown key IDs.
_RETRY_SECONDS: Final = 10.0
_UNKNOWN_KEY_SECONDS: Final = 1.0
_ALGORITHMS: Final = ("RS256", "ES256", "ES384", "ES512")
_KEY_ID_MAX: Final = 1024
#: Shortest ``max_token_expiration_seconds``. Upstream: ``MinTokenAgeSec``.
_LIFE_SECONDS_MIN: Final = 600
_BUCKETS_SECONDS: Final[tuple[float, ...]] = (
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
)  # fmt: skip

_log = logging.getLogger(__name__)


class KeySetError(Exception):
    """The signer's keys or metadata cannot be fetched or used."""


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    alg: str = ""
    kid: str = ""
    typ: str = ""


class ExternalSigner:
    """Keys of service account tokens at an external signer. Start it with ``open``; ``close`` ends its connection."""

    def __init__(self, channel: Channel, *, clock: Clock) -> None:
        self._channel: Final = channel
        self._clock: Final = clock
        #: Longest lifetime of a token that the signer supports.
        self.life_seconds_max = 0
        self._keys: dict[str, PublicKey] = {}
        #: IDs of keys that only verify tokens.
        self._excluded: frozenset[str] = frozenset()
        self._refresh_seconds = _RETRY_SECONDS
        self._synced_seconds = 0.0
        self._syncing: Final = asyncio.Lock()
        self._signed: Final[dict[str, int]] = {}
        self._fetched: Final[dict[str, int]] = {}
        self._durations: Final[dict[tuple[str, str], Histogram]] = {}
        self._success_seconds = self._data_seconds = 0.0

    @classmethod
    async def open(cls, endpoint: str, *, clock: Clock) -> ExternalSigner:
        """Connect, and fetch metadata and keys. Raises ``OptionError``, ``MissingPackagesError``.

        ``endpoint``: path of the socket; ``@name`` is one in the abstract namespace.
        """
        load_optional("hpack", "Decoder", FLAG, "encryption")
        from steersman.grpc.channel import Channel, Target  # noqa: PLC0415 — needs the extra

        path = f"\0{endpoint[1:]}" if endpoint.startswith("@") else endpoint
        signer = cls(Channel(Target(path=path), clock=clock), clock=clock)
        try:
            signer.life_seconds_max = await signer._metadata()
            await signer._sync()
        except KeySetError as error:
            await signer.close()
            raise OptionError(f"{FLAG}: {endpoint}: {error}") from error
        except BaseException:
            await signer.close()
            raise
        return signer

    async def _call(self, method: str, request: bytes, seconds: float) -> list[tuple[int, int | bytes]]:
        """Return the fields of the response. Raises ``RpcError``, ``DecodeError``."""
        path, started, code = _SERVICE + method, self._clock.monotonic(), "OK"
        try:
            response = await self._channel.unary(path, request, timeout_seconds=seconds)
        except RpcError as error:
            code = error.go_name
            raise
        finally:
            durations = self._durations.setdefault((path, code), Histogram(_BUCKETS_SECONDS))
            durations.observe(self._clock.monotonic() - started)
        return list(wire_fields(response))

    async def _metadata(self) -> int:
        try:
            seconds = _integer(await self._call("Metadata", b"", _CALL_SECONDS), 1)
        except RpcError as error:
            raise KeySetError(f"while getting metadata: {error.go_text}") from error
        except DecodeError as error:
            raise KeySetError(f"while getting metadata: the response is malformed: {error}") from error
        if seconds < _LIFE_SECONDS_MIN:
            raise KeySetError(
                f"max token life supported by external-jwt-signer ({seconds}s) is less than acceptable"
                f" (min {_LIFE_SECONDS_MIN}s)"
            )
        return seconds

    # -- signing -------------------------------------------------------------------------------------------------------

    async def sign(self, claims: dict[str, Any]) -> str:
        """Return a signed token with these claims. Raises ``SigningError``."""
        code = "unknown-non-grpc"
        try:
            token = await self._signed_token(claims)
        except RpcError as error:
            code = error.go_name
            raise SigningError(f"while signing jwt: {error.go_text}") from error
        except (DecodeError, UnicodeDecodeError) as error:
            raise SigningError(f"while signing jwt: the response is malformed: {error}") from error
        else:
            code = "OK"
            return token
        finally:
            self._signed[code] = self._signed.get(code, 0) + 1

    async def _signed_token(self, claims: dict[str, Any]) -> str:
        payload = base64.urlsafe_b64encode(msgspec.json.encode(claims)).rstrip(b"=").decode()
        fields = await self._call("Sign", string(1, payload), _CALL_SECONDS)
        header, signature = _bytes(fields, 1).decode(), _bytes(fields, 2).decode()
        await self._check_header(header)
        if not signature:
            raise SigningError("empty signature returned")
        token = f"{header}.{payload}.{signature}"
        try:
            jws.read_unverified(token)
        except jws.MalformedTokenError as error:
            raise SigningError(f"while signing jwt: {error}") from error
        return token

    async def _check_header(self, text: str) -> None:
        prefix = "while validating header"
        try:
            decoded = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            header = msgspec.json.decode(decoded, type=_Header)
        except (binascii.Error, ValueError, RecursionError) as error:
            raise SigningError(f"{prefix}: while parsing header JSON: {error}") from error
        fault = ""
        if header.typ != "JWT":
            fault = "bad type"
        elif not header.kid:
            fault = "key id missing"
        elif len(header.kid.encode()) > _KEY_ID_MAX:
            fault = "key id longer than 1 kb"
        elif header.alg not in _ALGORITHMS:
            fault = f"bad signing algorithm {quote(header.alg)}"
        elif header.kid in (await self.verifying(header.kid)) and header.kid in self._excluded:
            fault = f"key used for signing JWT (kid: {header.kid}) is excluded from OIDC discovery docs"
        if fault:
            raise SigningError(f"{prefix}: {fault}")

    # -- keys ----------------------------------------------------------------------------------------------------------

    async def verifying(self, kid: str = "") -> dict[str, PublicKey]:
        """Return all public keys by ID; they are fetched for an unknown ``kid``, at most once a second."""
        if kid and kid not in self._keys:
            async with self._syncing:
                is_due = self._clock.monotonic() - self._synced_seconds >= _UNKNOWN_KEY_SECONDS
                if kid not in self._keys and is_due:
                    try:
                        await self._sync()
                    except KeySetError as error:
                        _log.error("Error while syncing keys: %s", error)
        return self._keys

    async def public_keys(self) -> list[dict[str, Any]]:
        """Return the keys of the discovery document as JSON Web Keys."""
        return [key.jwk() for kid, key in self._keys.items() if kid not in self._excluded]

    async def signing_file(self) -> Path | None:
        """Return None: there is no file of the signing key."""
        return None

    async def run(self) -> None:
        """Fetch the keys again when the signer advises it, until cancelled."""
        while True:
            await self._clock.sleep(self._refresh_seconds)
            try:
                async with self._syncing:
                    await self._sync()
            except KeySetError as error:
                self._refresh_seconds = _RETRY_SECONDS
                _log.error("when syncing supported public keys (stale set of keys will be supported): %s", error)

    async def _sync(self) -> None:
        """Replace the keys. Raises ``KeySetError``, and keeps the last ones."""
        code = "unknown-non-grpc"
        self._synced_seconds = self._clock.monotonic()
        try:
            fields = await self._call("FetchKeys", b"", _SYNC_SECONDS)
            await asyncio.to_thread(self._read_keys, fields)
            code = "OK"
            self._success_seconds = self._clock.now().timestamp()
        except RpcError as error:
            code = error.go_name
            raise KeySetError(f"while getting externally supported jwt signing keys: {error.go_text}") from error
        except (DecodeError, UnicodeDecodeError) as error:
            raise KeySetError(f"the response is malformed: {error}") from error
        finally:
            self._fetched[code] = self._fetched.get(code, 0) + 1

    def _read_keys(self, fields: list[tuple[int, int | bytes]]) -> None:
        from steersman.apiserver.authn.keys import KeyFileError, read_der_public_key  # noqa: PLC0415 — loads cryptography

        refresh_seconds = _integer(fields, 3)
        if refresh_seconds <= 0:
            raise KeySetError(f"found invalid refresh hint ({refresh_seconds}s)")
        keys: dict[str, PublicKey] = {}
        excluded = set()
        for key_fields in (
            list(wire_fields(value)) for number, value in fields if number == 1 and isinstance(value, bytes)
        ):
            kid, der = _bytes(key_fields, 1).decode(), _bytes(key_fields, 2)
            if not kid or len(kid.encode()) > _KEY_ID_MAX:
                raise KeySetError(f"found invalid public key id {quote(kid)}")
            if not der:
                raise KeySetError("found empty public key")
            try:
                keys[kid] = read_der_public_key(der, kid)
            except KeyFileError as error:
                raise KeySetError(f"while parsing external public keys: {error}") from error
            if _integer(key_fields, 3):
                excluded.add(kid)
        if not keys:
            raise KeySetError("found no keys")
        timestamp = list(wire_fields(_bytes(fields, 2)))
        self._keys, self._excluded, self._refresh_seconds = keys, frozenset(excluded), float(refresh_seconds)
        self._data_seconds = _integer(timestamp, 1) + _integer(timestamp, 2) / 1e9

    # -- metrics -------------------------------------------------------------------------------------------------------

    async def collect(self) -> Iterable[Family]:
        """Return the metrics of the signer."""
        prefix = "apiserver_externaljwt"
        return [
            gauge(
                f"{prefix}_fetch_keys_success_timestamp",
                "Time of the last fetch of keys.",
                [((), self._success_seconds)],
            ),
            gauge(f"{prefix}_fetch_keys_data_timestamp", "Time of the signer's keys.", [((), self._data_seconds)]),
            counter(
                f"{prefix}_fetch_keys_request_total",
                "Fetches of keys, by code.",
                [((("code", code),), count) for code, count in sorted(self._fetched.items())],
            ),
            counter(
                f"{prefix}_sign_request_total",
                "Signatures of tokens, by code.",
                [((("code", code),), count) for code, count in sorted(self._signed.items())],
            ),
            histogram(
                f"{prefix}_request_duration_seconds",
                "Duration of calls of the signer in seconds, by method and code.",
                [
                    ((("method", method), ("code", code)), durations)
                    for (method, code), durations in sorted(self._durations.items())
                ],
            ),
        ]

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        await self._channel.close()


def _bytes(fields: list[tuple[int, int | bytes]], number: int) -> bytes:
    value = dict(fields).get(number, b"")
    return b"" if isinstance(value, int) else value


def _integer(fields: list[tuple[int, int | bytes]], number: int) -> int:
    """Return a field of type int64."""
    value = dict(fields).get(number, 0)
    if not isinstance(value, int):
        return 0
    return value - (1 << 64) if value >= 1 << 63 else value
