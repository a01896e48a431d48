"""Ciphers: round trips, upstream's layout of values, and values that were changed."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7
from hypothesis import given
from hypothesis import strategies as st

from steersman.storage.encryption.ciphers import AesCbc, AesGcm, ExtendedNonceGcm, Secretbox
from steersman.storage.encryption.transformers import DecryptionError

KEY = bytes(range(32))
CIPHERS = [AesGcm(KEY), AesGcm(KEY[:16]), AesCbc(KEY), AesCbc(KEY[:24]), Secretbox(KEY), ExtendedNonceGcm(KEY)]
AUTHENTICATED = [AesGcm(KEY), Secretbox(KEY), ExtendedNonceGcm(KEY)]


@pytest.mark.parametrize("cipher", CIPHERS)
@given(data=st.binary(max_size=100))
def test_value_is_decrypted_to_what_was_encrypted(cipher, data):
    encrypted = cipher.encrypt(data, b"/registry/secrets/n/a")
    assert cipher.decrypt(encrypted, b"/registry/secrets/n/a") == (data, False)


@pytest.mark.parametrize("cipher", CIPHERS)
def test_equal_values_have_different_ciphertexts(cipher):
    assert cipher.encrypt(b"x", b"k") != cipher.encrypt(b"x", b"k")


@pytest.mark.parametrize("cipher", [AesGcm(KEY), ExtendedNonceGcm(KEY)])
def test_value_copied_to_another_key_is_rejected(cipher):
    with pytest.raises(DecryptionError, match="message authentication failed"):
        cipher.decrypt(cipher.encrypt(b"x", b"/registry/secrets/n/a"), b"/registry/secrets/n/b")


@pytest.mark.parametrize("cipher", AUTHENTICATED)
@given(data=st.data())
def test_changed_value_is_rejected(cipher, data):
    encrypted = bytearray(cipher.encrypt(b"some data", b"k"))
    encrypted[data.draw(st.integers(0, len(encrypted) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DecryptionError):
        cipher.decrypt(bytes(encrypted), b"k")


@pytest.mark.parametrize("cipher", CIPHERS)
@given(data=st.binary(max_size=60))
def test_arbitrary_bytes_never_raise_anything_else(cipher, data):
    try:
        cipher.decrypt(data, b"k")
    except DecryptionError:
        return
    assert isinstance(cipher, AesCbc)  # not authenticated


def test_aesgcm_has_the_nonce_before_the_ciphertext():
    encrypted = AesGcm(KEY, random_bytes=lambda size: b"n" * size).encrypt(b"data", b"k")
    assert encrypted[:12] == b"n" * 12
    assert AESGCM(KEY).decrypt(b"n" * 12, encrypted[12:], b"k") == b"data"


def test_aescbc_has_the_vector_before_the_ciphertext_and_pkcs7_padding():
    encrypted = AesCbc(KEY, random_bytes=lambda size: b"v" * size).encrypt(b"x" * 16, b"k")
    decryptor = Cipher(AES(KEY), CBC(encrypted[:16])).decryptor()
    unpadder = PKCS7(128).unpadder()
    padded = decryptor.update(encrypted[16:]) + decryptor.finalize()
    assert len(padded) == 32  # a whole block of padding
    assert unpadder.update(padded) + unpadder.finalize() == b"x" * 16


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "shorter"), (b"v" * 16, "empty or not padded"), (b"v" * 17, "multiple of the block size")],
)
def test_aescbc_rejects_values_of_an_impossible_size(data, message):
    with pytest.raises(DecryptionError, match=message):
        AesCbc(KEY).decrypt(data, b"k")


def test_extended_nonce_derives_the_key_by_hkdf_expand():
    """RFC 5869: the first block is HMAC(seed, info | 0x01), which is the whole key of 32 bytes."""
    encrypted = ExtendedNonceGcm(KEY, random_bytes=lambda size: b"i" * size).encrypt(b"data", b"k")
    info, nonce, ciphertext = encrypted[:32], encrypted[32:44], encrypted[44:]
    key = hmac.new(KEY, info + b"\x01", hashlib.sha256).digest()
    assert AESGCM(key).decrypt(nonce, ciphertext, b"k") == b"data"


def test_extended_nonce_rejects_a_short_seed():
    with pytest.raises(DecryptionError, match="invalid seed length 31"):
        ExtendedNonceGcm(KEY[:31])
