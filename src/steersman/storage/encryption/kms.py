"""KMS v2: values are encrypted by a local data key, which a plugin encrypts; the encrypted key is stored with the value.

The status of a plugin is probed every minute. A new key ID causes a new data key; while the plugin is unavailable the last one
is used for writes for three minutes, and for reads until the process ends.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/envelope.go, ``kmsv2PluginProbe`` of
staging/src/k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

import msgspec

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.label_sets import hash_label
from steersman.apimachinery.protowire import integer, length_delimited, string, wire_fields
from steersman.storage.encryption.ciphers import SEED_BYTES, AesGcm, ExtendedNonceGcm
from steersman.storage.encryption.metrics import FROM_STORAGE, TO_STORAGE, UNKNOWN, EncryptionMetrics
from steersman.storage.encryption.transformers import DataKeyUnknownError, DecryptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock
    from steersman.storage.encryption.ciphers import RandomBytes
    from steersman.storage.encryption.transformers import Transformer

_log = logging.getLogger(__name__)

#: Types of data keys (``EncryptedDEKSourceType``).
AES_GCM_KEY: Final = 0
HKDF_SEED: Final = 1

#: Versions that plugins may report.
_API_VERSIONS: Final = ("v2", "v2beta1")
#: Probe intervals of a healthy and of an unhealthy plugin.
POSITIVE_INTERVAL_SECONDS: Final = 60.0
NEGATIVE_INTERVAL_SECONDS: Final = 10.0
#: Time for which the result of a health check is cached.
_HEALTHY_TTL_SECONDS: Final = 20.0
_UNHEALTHY_TTL_SECONDS: Final = 3.0
#: Time for which a data key is used for writes without a successful probe.
WRITE_TTL_SECONDS: Final = 180.0
_KEY_ID_BYTES_MAX: Final = 1024
_DATA_KEY_BYTES_MAX: Final = 1024
_ANNOTATIONS_BYTES_MAX: Final = 32 * 1024
#: Maximum number of data keys in memory; the oldest are dropped.
_CACHED_KEYS_MAX: Final = 1000


class KMSUnavailableError(Exception):
    """A plugin does not respond, or its responses are invalid."""

    def __init__(self, text: str, *, status: str = UNKNOWN) -> None:
        super().__init__(text)
        #: Name of the gRPC code, for metrics.
        self.status: Final = status


class Status(msgspec.Struct, frozen=True):
    """``StatusResponse``."""

    version: str
    healthz: str
    key_id: str


class EncryptedKey(msgspec.Struct, frozen=True):
    """Data key encrypted by the plugin."""

    ciphertext: bytes
    key_id: str
    annotations: tuple[tuple[str, bytes], ...] = ()
    source_type: int = HKDF_SEED


class KMSService(Protocol):
    """A KMS plugin. Methods raise ``KMSUnavailableError``."""

    async def status(self) -> Status:
        """Return health and current key of the plugin."""

    async def encrypt(self, uid: str, plaintext: bytes) -> EncryptedKey:
        """Encrypt a data key."""

    async def decrypt(self, uid: str, key: EncryptedKey) -> bytes:
        """Decrypt a data key."""

    async def close(self) -> None:
        """Close the connection. Idempotent."""


class _State(msgspec.Struct, frozen=True):
    """Current data key for writes."""

    transformer: ExtendedNonceGcm
    key: EncryptedKey
    #: ``Clock.monotonic`` after which the key is not used for writes.
    expires: float


class EnvelopeTransformer:
    """Transformer of one plugin. Run ``probe`` before the first write, and ``run`` afterwards."""

    def __init__(
        self,
        name: str,
        service: KMSService,
        *,
        clock: Clock,
        random_bytes: RandomBytes = os.urandom,
        on_key_change: Callable[[], None] = lambda: None,
        metrics: EncryptionMetrics | None = None,
    ) -> None:
        """``on_key_change`` is called when values of earlier keys become stale."""
        self.name: Final = name
        self._service = service
        self._clock = clock
        self._random_bytes = random_bytes
        self._on_key_change = on_key_change
        self._metrics: Final = metrics or EncryptionMetrics(clock)
        self._state: _State | None = None
        self._version = ""
        #: Keyed by the encoded key, because compiled structs are not hashable.
        self._cache: dict[bytes, Transformer] = {}
        #: Error of the last probe; empty if it succeeded.
        self._problem = ""
        self._probed_at = -_HEALTHY_TTL_SECONDS

    # -- values --------------------------------------------------------------------------------------------------------

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        state = self._state
        if state is None:
            raise KMSUnavailableError(f"KMS provider {self.name}: got unexpected nil transformer")
        if self._clock.monotonic() > state.expires:
            raise KMSUnavailableError(
                f"KMS provider {self.name}: encryptedDEKSource with keyID hash {key_id_hash(state.key.key_id)} expired"
            )
        self._metrics.key_used(TO_STORAGE, self.name, state.key.key_id)
        return encode_object(state.key, state.transformer.encrypt(data, context))

    def decrypt(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        key, encrypted = decode_object(data)
        transformer, state = self._cache.get(encode_object(key, b"")), self._state
        if transformer is None or state is None:
            raise DataKeyUnknownError(lambda: self._load(key))
        self._metrics.key_used(FROM_STORAGE, self.name, key.key_id)
        plain, is_stale = transformer.decrypt(encrypted, context)
        is_other_key = (key.key_id, key.source_type) != (state.key.key_id, state.key.source_type)
        return plain, is_stale or is_other_key

    async def _load(self, key: EncryptedKey) -> None:
        if self._state is None:
            await self.probe()
        if encode_object(key, b"") in self._cache:
            return
        self._metrics.cache_misses += 1
        secret = await self._service.decrypt(self._uid(), key)
        try:
            transformer: Transformer = ExtendedNonceGcm(secret) if key.source_type == HKDF_SEED else AesGcm(secret)
        except (DecryptionError, ValueError) as error:
            raise KMSUnavailableError(
                f"KMS provider {self.name}: the decrypted data key is invalid: {error}"
            ) from error
        self._cache_transformer(key, transformer)

    def _cache_transformer(self, key: EncryptedKey, transformer: Transformer) -> None:
        if len(self._cache) >= _CACHED_KEYS_MAX:
            del self._cache[next(iter(self._cache))]
        self._cache[encode_object(key, b"")] = transformer

    # -- the plugin ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Probe the plugin until cancelled."""
        is_healthy = self._state is not None
        while True:
            await self._clock.sleep(POSITIVE_INTERVAL_SECONDS if is_healthy else NEGATIVE_INTERVAL_SECONDS)
            try:
                await self.probe()
                is_healthy = True
            except KMSUnavailableError as error:
                is_healthy = False
                _log.error("kms plugin %s failed health check probe: %s", self.name, error)

    async def check(self) -> None:
        """Probe the plugin unless it was probed recently. Raises ``KMSUnavailableError``."""
        ttl_seconds = _UNHEALTHY_TTL_SECONDS if self._problem else _HEALTHY_TTL_SECONDS
        if self._clock.monotonic() - self._probed_at >= ttl_seconds:
            await self.probe()
        elif self._problem:
            raise KMSUnavailableError(self._problem)

    async def probe(self) -> None:
        """Check the plugin's health and use its current key from now on. Raises ``KMSUnavailableError``."""
        self._probed_at = self._clock.monotonic()
        try:
            await self._probe()
            self._problem = ""
        except KMSUnavailableError as error:
            self._problem = str(error)
            raise

    async def _probe(self) -> None:
        expires = self._clock.monotonic() + WRITE_TTL_SECONDS
        try:
            status = await self._service.status()
        except KMSUnavailableError as error:
            raise KMSUnavailableError(
                f"failed to perform status section of the healthz check for KMS Provider {self.name}, error: {error}"
            ) from error
        problems = self._problems(status)
        if not problems:
            try:
                await self._use_key(status.key_id, expires)
            except KMSUnavailableError as error:
                problems.append(str(error))
        if problems:
            raise KMSUnavailableError(f"kmsv2 Provider {self.name} is not healthy, error: {_joined(problems)}")

    def _problems(self, status: Status) -> list[str]:
        problems = [] if status.healthz == "ok" else [f"got unexpected healthz status: {status.healthz}"]
        if status.version not in _API_VERSIONS:
            problems.append(f"expected KMSv2 API version v2, got {status.version}")
        else:
            self._version = self._version or status.version
            if self._version != status.version:
                problems.append(
                    "KMSv2 API version should not change after the initial status response version"
                    f" {self._version}, got {status.version}"
                )
        try:
            _check_key_id(status.key_id)
            self._metrics.key_reported(self.name, status.key_id)
        except DecryptionError as error:
            self._metrics.invalid_key_reported(self.name, "too_long" if status.key_id else "empty")
            problems.append(f'got invalid KMSv2 KeyID hash "{key_id_hash(status.key_id)}": {error}')
        return problems

    async def _use_key(self, key_id: str, expires: float) -> None:
        state = self._state
        if state is not None and state.key.key_id == key_id:
            self._state = msgspec.structs.replace(state, expires=expires)
            return
        metrics, started = self._metrics, self._metrics.now()
        seed = self._random_bytes(SEED_BYTES)
        metrics.generations.observe(metrics.now() - started)
        try:
            key = await self._service.encrypt(self._uid(), seed)
        except KMSUnavailableError:
            metrics.failed_generations += 1
            raise
        try:
            check_key(key)
        except DecryptionError as error:
            raise KMSUnavailableError(f"failed to rotate DEK: {error}") from error
        if key.key_id != key_id:
            raise KMSUnavailableError(
                f'failed to rotate DEK: statusKeyIDHash="{key_id_hash(key_id)}", encryptKeyIDHash="{key_id_hash(key.key_id)}"'
            )
        transformer = ExtendedNonceGcm(seed, self._random_bytes)
        self._cache_transformer(key, transformer)
        self._state = _State(transformer, key, expires)
        if state is not None:
            self._on_key_change()

    def _uid(self) -> str:
        return str(UUID(bytes=self._random_bytes(16), version=4))

    async def close(self) -> None:
        """Close the connection to the plugin. Idempotent."""
        await self._service.close()


# -- EncryptedObject ---------------------------------------------------------------------------------------------------


def encode_object(key: EncryptedKey, data: bytes) -> bytes:
    """Return an ``EncryptedObject`` (.../envelope/kmsv2/v2/api.proto)."""
    annotations = [length_delimited(4, string(1, name) + length_delimited(2, value)) for name, value in key.annotations]
    parts = [length_delimited(1, data), string(2, key.key_id), length_delimited(3, key.ciphertext)]
    return b"".join([*parts, *annotations, integer(5, key.source_type)])


def decode_object(raw: bytes) -> tuple[EncryptedKey, bytes]:
    """Return data key and encrypted data. Raises ``DecryptionError``."""
    data = ciphertext = b""
    key_id, source_type = "", 0
    annotations: dict[str, bytes] = {}
    try:
        for number, value in wire_fields(raw):
            if isinstance(value, int):
                source_type = value if number == 5 else source_type
            elif number == 1:
                data = value
            elif number == 2:
                key_id = value.decode()
            elif number == 3:
                ciphertext = value
            elif number == 4:
                name, content = map_entry(value)
                annotations[name] = content
    except (DecodeError, UnicodeDecodeError) as error:
        raise DecryptionError(f"proto: cannot parse invalid wire-format data: {error}") from error
    key = EncryptedKey(ciphertext, key_id, tuple(sorted(annotations.items())), source_type)
    if not data:
        raise DecryptionError("encrypted data is empty")
    check_key(key)
    return key, data


def map_entry(raw: bytes) -> tuple[str, bytes]:
    """Return key and value of an entry of ``map<string, bytes>``. Raises ``DecodeError``, ``UnicodeDecodeError``."""
    parts = dict(wire_fields(raw))
    name, value = parts.get(1, b""), parts.get(2, b"")
    if isinstance(name, int) or isinstance(value, int):
        raise DecodeError("proto: wrong wireType for a map entry")
    return name.decode(), value


def check_key(key: EncryptedKey) -> None:
    """Raise ``DecryptionError`` for an invalid data key. Upstream: ``ValidateEncryptedObject``."""
    if key.source_type not in (AES_GCM_KEY, HKDF_SEED):
        raise DecryptionError(f"unknown encryptedDEKSourceType: {key.source_type}")
    if not key.ciphertext:
        raise DecryptionError("failed to validate encrypted DEK source: encrypted DEK source is empty")
    if len(key.ciphertext) > _DATA_KEY_BYTES_MAX:
        raise DecryptionError(
            f"failed to validate encrypted DEK source: encrypted DEK source is {len(key.ciphertext)} bytes,"
            f" which exceeds the max size of {_DATA_KEY_BYTES_MAX}"
        )
    try:
        _check_key_id(key.key_id)
    except DecryptionError as error:
        raise DecryptionError(f"failed to validate key id: {error}") from error
    size = sum(len(name.encode()) + len(value) for name, value in key.annotations)
    if size > _ANNOTATIONS_BYTES_MAX:
        raise DecryptionError(
            f"failed to validate annotations: total size of annotations is {size},"
            f" which exceeds the max size of {_ANNOTATIONS_BYTES_MAX}"
        )


def _check_key_id(key_id: str) -> None:
    size = len(key_id.encode())
    if not size:
        raise DecryptionError("keyID is empty")
    if size > _KEY_ID_BYTES_MAX:
        raise DecryptionError(f"keyID is {size} bytes, which exceeds the max size of {_KEY_ID_BYTES_MAX}")


def key_id_hash(key_id: str) -> str:
    """Return the hash of a key ID for logs."""
    return hash_label(key_id.encode())


def _joined(problems: list[str]) -> str:
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
