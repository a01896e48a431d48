"""Ciphers of the providers ``aesgcm``, ``aescbc``, ``secretbox``, and of data keys of KMS v2.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/value/encrypt/aes/{aes,aes_extended_nonce}.go, .../encrypt/secretbox/secretbox.go
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from steersman.extras import load_optional
from steersman.storage.encryption.transformers import DecryptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    #: Source of nonces and keys: returns a number of random bytes.
    RandomBytes = Callable[[int], bytes]

AES_KEY_SIZES: Final = (16, 24, 32)
SECRETBOX_KEY_SIZES: Final = (32,)
#: Size of a data key's seed, of the bytes from which a value's own key is derived, and of that key.
SEED_BYTES: Final = 32
_BLOCK_BYTES: Final = 16
_GCM_NONCE_BYTES: Final = 12
_SECRETBOX_NONCE_BYTES: Final = 24
_TOO_SHORT: Final = "the stored data was shorter than the required size"


class AesGcm:
    """AES-GCM with a random 12-byte nonce before the ciphertext."""

    __slots__ = ("_aead", "_random_bytes")

    def __init__(self, key: bytes, random_bytes: RandomBytes = os.urandom) -> None:
        self._aead: Final = AESGCM(key)
        self._random_bytes: Final = random_bytes

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        nonce = self._random_bytes(_GCM_NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, data, context)

    def decrypt(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        if len(data) < _GCM_NONCE_BYTES:
            raise DecryptionError(_TOO_SHORT)
        try:
            return self._aead.decrypt(data[:_GCM_NONCE_BYTES], data[_GCM_NONCE_BYTES:], context), False
        except InvalidTag as error:
            raise DecryptionError("cipher: message authentication failed") from error


class AesCbc:
    """AES-CBC with PKCS#7 padding and a random initialization vector before the ciphertext. Not authenticated."""

    __slots__ = ("_cipher", "_random_bytes")

    def __init__(self, key: bytes, random_bytes: RandomBytes = os.urandom) -> None:
        self._cipher: Final = AES(key)
        self._random_bytes: Final = random_bytes

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        vector = self._random_bytes(_BLOCK_BYTES)
        padding = _BLOCK_BYTES - len(data) % _BLOCK_BYTES
        encryptor = Cipher(self._cipher, CBC(vector)).encryptor()
        return vector + encryptor.update(data + bytes([padding]) * padding) + encryptor.finalize()

    def decrypt(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        if len(data) < _BLOCK_BYTES:
            raise DecryptionError(_TOO_SHORT)
        if len(data) % _BLOCK_BYTES:
            raise DecryptionError("the stored data is not a multiple of the block size")
        decryptor = Cipher(self._cipher, CBC(data[:_BLOCK_BYTES])).decryptor()
        padded = decryptor.update(data[_BLOCK_BYTES:]) + decryptor.finalize()
        padding = padded[-1] if padded else 0
        if not padding or padding > len(padded):
            raise DecryptionError("invalid PKCS7 data (empty or not padded)")
        if padded[-padding:] != padded[-1:] * padding:
            raise DecryptionError("invalid padding on input")
        return padded[:-padding], False


class Secretbox:
    """XSalsa20 and Poly1305 with a random 24-byte nonce before the ciphertext; the context is not authenticated."""

    __slots__ = ("_box", "_error")

    def __init__(self, key: bytes) -> None:
        """Raises ``MissingPackagesError`` if the extra ``encryption`` is not installed."""
        box: Any = load_optional("nacl.secret", "SecretBox", "the encryption provider secretbox", "encryption")
        self._error: Final[Any] = load_optional("nacl.exceptions", "CryptoError", "secretbox", "encryption")
        self._box: Final = box(key)

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        return bytes(self._box.encrypt(data))

    def decrypt(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        if len(data) < _SECRETBOX_NONCE_BYTES:
            raise DecryptionError(_TOO_SHORT)
        try:
            return bytes(self._box.decrypt(data)), False
        except self._error as error:
            raise DecryptionError("data was not encrypted with the given key or was modified") from error


class ExtendedNonceGcm:
    """AES-GCM with a derived key per value, from a seed and the random bytes before the nonce."""

    __slots__ = ("_random_bytes", "_seed")

    def __init__(self, seed: bytes, random_bytes: RandomBytes = os.urandom) -> None:
        """Raises ``DecryptionError`` for a seed that is too short."""
        if len(seed) < SEED_BYTES:
            raise DecryptionError(f"invalid seed length {len(seed)} used for key generation")
        self._seed: Final = seed
        self._random_bytes: Final = random_bytes

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        info = self._random_bytes(SEED_BYTES)
        return info + self._cipher(info).encrypt(data, context)

    def decrypt(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        if len(data) < SEED_BYTES:
            raise DecryptionError(_TOO_SHORT)
        return self._cipher(data[:SEED_BYTES]).decrypt(data[SEED_BYTES:], context)

    def _cipher(self, info: bytes) -> AesGcm:
        return AesGcm(HKDFExpand(SHA256(), SEED_BYTES, info).derive(self._seed), self._random_bytes)
