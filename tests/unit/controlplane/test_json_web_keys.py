"""Keys as JSON Web Keys."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from steersman.controlplane import json_web_keys


def number(text: str) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def private_pem(key) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def test_an_rsa_key_is_told_by_its_numbers_and_named_by_its_hash():
    pem = json_web_keys.new_rsa_key()
    key = json_web_keys.from_pem(pem)
    numbers = load_pem_private_key(pem, password=None).public_key().public_numbers()
    assert (key["kty"], key["alg"], key["use"]) == ("RSA", "RS256", "sig")
    assert (number(key["n"]), number(key["e"])) == (numbers.n, numbers.e)
    assert len(key["kid"]) == 43


def test_private_and_public_files_tell_the_same_key():
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    assert json_web_keys.from_pem(private_pem(made)) == json_web_keys.from_pem(public)


def test_an_elliptic_key_is_told_by_its_point():
    made = ec.generate_private_key(ec.SECP256R1())
    key = json_web_keys.from_pem(private_pem(made))
    assert (key["kty"], key["crv"], key["alg"]) == ("EC", "P-256", "ES256")
    assert number(key["x"]) == made.public_key().public_numbers().x


@pytest.mark.parametrize(
    "pem", [private_pem(ed25519.Ed25519PrivateKey.generate()), b"", b"-----BEGIN PRIVATE KEY-----"]
)
def test_other_keys_are_refused(pem):
    with pytest.raises(ValueError, match=r"."):
        json_web_keys.from_pem(pem)
