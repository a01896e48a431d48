"""Keys of signed tokens."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from steersman.apiserver.authn import keys


def private_pem(key) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem(key) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def number(text: str) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVES = [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()]


@pytest.mark.parametrize("made", [RSA, *map(ec.generate_private_key, CURVES)])
def test_what_a_private_key_signs_its_public_key_verifies(made):
    private = keys.read_private_key(private_pem(made))
    [public] = keys.read_public_keys(public_pem(made))
    assert (private.kid, private.algorithm) == (public.kid, public.algorithm)
    signature = private.sign(b"text")
    assert public.verifies(b"text", signature)
    assert not public.verifies(b"texts", signature)
    assert not public.verifies(b"text", signature[:-1])
    assert not public.verifies(b"text", b"")


def test_algorithms_are_named_as_in_jose():
    made = [keys.read_private_key(private_pem(ec.generate_private_key(curve))).algorithm for curve in CURVES]
    assert made == ["ES256", "ES384", "ES512"]
    assert keys.read_private_key(private_pem(RSA)).algorithm == "RS256"


def test_an_rsa_key_is_told_by_its_numbers_and_named_by_its_hash():
    key = keys.read_private_key(private_pem(RSA)).jwk()
    numbers = RSA.public_key().public_numbers()
    assert (key["kty"], key["alg"], key["use"]) == ("RSA", "RS256", "sig")
    assert (number(key["n"]), number(key["e"])) == (numbers.n, numbers.e)
    assert len(key["kid"]) == 43


def test_an_elliptic_key_is_told_by_its_point():
    made = ec.generate_private_key(ec.SECP384R1())
    key = keys.read_private_key(private_pem(made)).jwk()
    assert (key["kty"], key["crv"], key["alg"]) == ("EC", "P-384", "ES384")
    assert number(key["x"]) == made.public_key().public_numbers().x


def test_a_file_may_hold_several_keys_of_both_kinds():
    other = ec.generate_private_key(ec.SECP256R1())
    found = keys.read_public_keys(b"# keys\n" + public_pem(RSA) + private_pem(other))
    assert [key.algorithm for key in found] == ["RS256", "ES256"]


def test_a_new_key_can_be_written_and_read():
    made = keys.new_private_key()
    assert keys.read_private_key(made.pem()).kid == made.kid


@pytest.mark.parametrize(
    "pem",
    [
        b"",
        b"nonsense",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        private_pem(ed25519.Ed25519PrivateKey.generate()),
        private_pem(ec.generate_private_key(ec.SECP224R1())),
    ],
)
def test_other_files_are_refused(pem):
    with pytest.raises(keys.KeyFileError):
        keys.read_private_key(pem)
    with pytest.raises(keys.KeyFileError):
        keys.read_public_keys(pem)


@pytest.mark.parametrize("made", [RSA, *map(ec.generate_private_key, CURVES)])
def test_a_key_is_read_back_from_its_jwk(made):
    private = keys.read_private_key(private_pem(made))
    [read] = keys.read_jwk(private.jwk())
    assert (read.kid, read.algorithm) == (private.kid, private.algorithm)
    assert read.verifies(b"text", private.sign(b"text"))


def test_an_rsa_jwk_without_an_algorithm_serves_for_all():
    jwk = keys.read_private_key(private_pem(RSA)).jwk()
    del jwk["alg"]
    assert {key.algorithm for key in keys.read_jwk(jwk)} == {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
    signing = keys.PrivateKey(RSA)
    signing.algorithm = "PS384"
    signed = signing.sign(b"text")
    assert [key.algorithm for key in keys.read_jwk(jwk) if key.verifies(b"text", signed)] == ["PS384"]


@pytest.mark.parametrize(
    "change",
    [
        {"use": "enc"},
        {"kty": "oct"},
        {"n": 7},
        {"n": "%%"},
        {"n": "AQAB"},
        {"kty": "EC", "crv": "P-224"},
        {"alg": "RS1"},
    ],
)
def test_other_jwks_are_no_keys_for_signatures(change):
    assert keys.read_jwk({**keys.read_private_key(private_pem(RSA)).jwk(), **change}) == []
