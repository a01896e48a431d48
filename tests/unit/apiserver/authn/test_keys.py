"""Keys of signed tokens."""

import base64
import hashlib
import hmac
import json

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.authn import keys


def private_pem(key) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem(key) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def number(text: str) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def text_part(value) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


CLAIMS = {"iss": "issuer", "sub": "someone", "aud": ["api"], "exp": 2**40}
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVES = [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()]


@pytest.mark.parametrize("key", [RSA, *map(ec.generate_private_key, CURVES)])
def test_private_key_signatures_verify_with_public_key(key):
    private = keys.read_private_key(private_pem(key))
    [public] = keys.read_public_keys(public_pem(key))
    assert (private.kid, private.algorithm) == (public.kid, public.algorithm)
    token = private.sign(CLAIMS)
    assert public.verified_claims(token) == CLAIMS
    head, payload, signature = token.split(".")
    assert public.verified_claims(f"{head}.{text_part({**CLAIMS, 'sub': 'other'})}.{signature}") is None
    assert public.verified_claims(f"{head}.{payload}.{signature[:-4]}") is None
    assert public.verified_claims(f"{head}.{payload}.") is None


def test_algorithms_have_jose_names():
    algorithms = [keys.read_private_key(private_pem(ec.generate_private_key(curve))).algorithm for curve in CURVES]
    assert algorithms == ["ES256", "ES384", "ES512"]
    assert keys.read_private_key(private_pem(RSA)).algorithm == "RS256"


def test_rsa_jwk_has_modulus_exponent_and_hashed_key_id():
    key = keys.read_private_key(private_pem(RSA)).jwk()
    numbers = RSA.public_key().public_numbers()
    assert (key["kty"], key["alg"], key["use"]) == ("RSA", "RS256", "sig")
    assert (number(key["n"]), number(key["e"])) == (numbers.n, numbers.e)
    assert len(key["kid"]) == 43


def test_elliptic_jwk_has_coordinates():
    created = ec.generate_private_key(ec.SECP384R1())
    key = keys.read_private_key(private_pem(created)).jwk()
    assert (key["kty"], key["crv"], key["alg"]) == ("EC", "P-384", "ES384")
    assert number(key["x"]) == created.public_key().public_numbers().x


def test_read_public_keys_reads_all_keys_of_a_file():
    other = ec.generate_private_key(ec.SECP256R1())
    public_keys = keys.read_public_keys(b"# keys\n" + public_pem(RSA) + private_pem(other))
    assert [key.algorithm for key in public_keys] == ["RS256", "ES256"]


def test_private_key_file_is_loaded_once_for_both_of_its_keys(monkeypatch):
    loaded = []
    load = keys.load_pem_private_key
    monkeypatch.setattr(keys, "load_pem_private_key", lambda pem, password: loaded.append(pem) or load(pem, password))
    pem = private_pem(ec.generate_private_key(ec.SECP256R1()))

    [public] = keys.read_public_keys(pem)
    assert keys.read_private_key(pem).kid == public.kid
    assert len(loaded) == 1


def test_new_private_key_round_trips_through_pem():
    private_key = keys.new_private_key()
    assert keys.read_private_key(private_key.pem()).kid == private_key.kid


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
def test_read_keys_raise_for_other_files(pem):
    with pytest.raises(keys.KeyFileError):
        keys.read_private_key(pem)
    with pytest.raises(keys.KeyFileError):
        keys.read_public_keys(pem)


@pytest.mark.parametrize("key", [RSA, *map(ec.generate_private_key, CURVES)])
def test_read_jwk_inverts_jwk(key):
    private = keys.read_private_key(private_pem(key))
    [read] = keys.read_jwk(private.jwk())
    assert (read.kid, read.algorithm) == (private.kid, private.algorithm)
    assert read.verified_claims(private.sign(CLAIMS)) == CLAIMS


def test_read_jwk_returns_rsa_key_for_each_algorithm_when_unspecified():
    jwk = keys.read_private_key(private_pem(RSA)).jwk()
    del jwk["alg"]
    assert {key.algorithm for key in keys.read_jwk(jwk)} == {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
    token = keys.PrivateKey(RSA, algorithm="PS384").sign(CLAIMS)
    assert [key.algorithm for key in keys.read_jwk(jwk) if key.verified_claims(token)] == ["PS384"]


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
def test_read_jwk_returns_nothing_for_keys_that_do_not_verify(change):
    assert keys.read_jwk({**keys.read_private_key(private_pem(RSA)).jwk(), **change}) == []


SMALL = keys.PrivateKey(ec.generate_private_key(ec.SECP256R1()))
TOKEN = SMALL.sign(CLAIMS)


def signed_with(key, header, payload=CLAIMS) -> str:
    """Sign by hand, with any header."""
    text = f"{text_part(header)}.{text_part(payload)}"
    signature = key._private.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{text}.{text_part(signature)}"


@given(st.integers(0, len(TOKEN) - 1), st.integers(1, 127))
def test_verified_claims_rejects_any_changed_character(place, change):
    changed = bytearray(TOKEN.encode())
    changed[place] ^= change
    assert SMALL.verified_claims(changed.decode()) is None


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none"},
        {"alg": "RS384"},
        {"alg": "PS256"},
        {"alg": "ES256"},
        {"alg": "HS256"},
        {},
        {"alg": ["RS256"]},
        {"alg": "RS256", "crit": ["exp"], "exp": 1},
        {"alg": "RS256", "crit": ["b64"], "b64": False},
        {"alg": "RS256", "b64": False},
    ],
)
def test_verified_claims_rejects_valid_signature_under_other_header(header):
    assert keys.PrivateKey(RSA).verified_claims(signed_with(keys.PrivateKey(RSA), header)) is None


def test_verified_claims_accepts_unknown_header_parameters():
    key = keys.PrivateKey(RSA)
    header = {"alg": "RS256", "typ": "JWT", "x5c": ["A" * 4000], "something": {"else": 1}}
    assert key.verified_claims(signed_with(key, header)) == CLAIMS


def test_verified_claims_rejects_unsigned_token():
    assert keys.PrivateKey(RSA).verified_claims(f"{text_part({'alg': 'none'})}.{text_part(CLAIMS)}.") is None


def test_verified_claims_rejects_public_key_used_as_hmac_secret():
    text = f"{text_part({'alg': 'HS256'})}.{text_part(CLAIMS)}"
    forged = hmac.new(public_pem(RSA), text.encode(), hashlib.sha256).digest()
    assert keys.PrivateKey(RSA).verified_claims(f"{text}.{text_part(forged)}") is None


@pytest.mark.parametrize("payload", [b"[]", b"{", b"[" * 10_000, b'"text"', b""])
def test_verified_claims_rejects_payload_that_is_no_object(payload):
    key = keys.PrivateKey(RSA)
    assert key.verified_claims(signed_with(key, {"alg": "RS256"}, payload)) is None


def test_rsa_key_below_1024_bits_is_rejected():
    numbers = rsa.RSAPublicNumbers(65537, (1 << 1000) + 297)
    jwk = {"kty": "RSA", "n": text_part(numbers.n.to_bytes(126)), "e": "AQAB"}
    assert keys.read_jwk(jwk) == []


def test_rsa_key_of_1024_bits_is_accepted_without_warning():
    assert keys.read_private_key(private_pem(rsa.generate_private_key(public_exponent=65537, key_size=1024)))
