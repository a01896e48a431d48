"""Client of a KMS v2 plugin: gRPC over a unix socket, with messages encoded by ``protowire``.

Upstream: staging/src/k8s.io/kms/apis/v2/api.proto, staging/src/k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/grpc_service.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.protowire import length_delimited, string, wire_fields
from steersman.extras import load_optional
from steersman.grpc.errors import RpcError
from steersman.storage.encryption.kms import EncryptedKey, KMSUnavailableError, Status, map_entry
from steersman.storage.encryption.metrics import EncryptionMetrics

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock
    from steersman.grpc.channel import Channel

_SERVICE: Final = "/v2.KeyManagementService/"


class GrpcKMSService:
    """Plugin at an endpoint, ``unix:///var/run/kms.sock``. The channel is opened with the first call."""

    def __init__(
        self,
        endpoint: str,
        *,
        clock: Clock,
        timeout_seconds: float,
        name: str = "",
        metrics: EncryptionMetrics | None = None,
    ) -> None:
        """``name``: name of the provider. Raises ``MissingPackagesError`` if the extra ``encryption`` is not installed."""
        load_optional("hpack", "Decoder", "the encryption provider kms", "encryption")
        self._path: Final = socket_path(endpoint)
        self._clock: Final = clock
        self._timeout_seconds: Final = timeout_seconds
        self._name: Final = name
        self._metrics: Final = metrics or EncryptionMetrics(clock)
        self._channel: Channel | None = None

    async def status(self) -> Status:
        fields = await self._call("Status", b"")
        return Status(_text(fields, 1), _text(fields, 2), _text(fields, 3))

    async def encrypt(self, uid: str, plaintext: bytes) -> EncryptedKey:
        try:
            fields = await self._call("Encrypt", length_delimited(1, plaintext) + string(2, uid))
        except KMSUnavailableError as error:
            raise KMSUnavailableError(f"failed to encrypt DEK, error: {error}", status=error.status) from error
        annotations = sorted(_entry(value) for number, value in fields if number == 3)
        return EncryptedKey(_bytes(fields, 1), _text(fields, 2), tuple(annotations))

    async def decrypt(self, uid: str, key: EncryptedKey) -> bytes:
        annotations = [
            length_delimited(4, string(1, name) + length_delimited(2, value)) for name, value in key.annotations
        ]
        request = length_delimited(1, key.ciphertext) + string(2, uid) + string(3, key.key_id) + b"".join(annotations)
        try:
            return _bytes(await self._call("Decrypt", request), 1)
        except KMSUnavailableError as error:
            raise KMSUnavailableError(f"failed to decrypt DEK, error: {error}", status=error.status) from error

    async def _call(self, method: str, request: bytes) -> list[tuple[int, int | bytes]]:
        from steersman.grpc.channel import Channel, Target  # noqa: PLC0415 — needs the extra

        if self._channel is None:
            self._channel = Channel(Target(path=self._path), clock=self._clock)
        path, started = _SERVICE + method, self._metrics.now()
        try:
            response = await self._channel.unary(path, request, timeout_seconds=self._timeout_seconds)
        except RpcError as error:
            self._metrics.operated(self._name, path, started, error.go_name)
            raise KMSUnavailableError(error.go_text, status=error.go_name) from error
        self._metrics.operated(self._name, path, started)
        try:
            return list(wire_fields(response))
        except DecodeError as malformed:
            raise KMSUnavailableError(f"the response to {method} is malformed: {malformed}") from malformed

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        if self._channel is not None:
            channel, self._channel = self._channel, None
            await channel.close()


def socket_path(endpoint: str) -> str:
    """Return the path of an endpoint's socket; ``unix:///@name`` is one in the abstract namespace."""
    path = endpoint.removeprefix("unix://")
    return f"\0{path[2:]}" if path.startswith("/@") else path


def _bytes(fields: list[tuple[int, int | bytes]], number: int) -> bytes:
    value = dict(fields).get(number, b"")
    return b"" if isinstance(value, int) else value


def _text(fields: list[tuple[int, int | bytes]], number: int) -> str:
    try:
        return _bytes(fields, number).decode()
    except UnicodeDecodeError as error:
        raise KMSUnavailableError("the response is malformed: a text is not valid UTF-8") from error


def _entry(value: int | bytes) -> tuple[str, bytes]:
    try:
        return map_entry(value if isinstance(value, bytes) else b"")
    except (DecodeError, UnicodeDecodeError) as error:
        raise KMSUnavailableError(f"the response is malformed: {error}") from error
