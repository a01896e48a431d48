"""Signed tokens before their signature is verified."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.authn import jws


def part(value) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@given(st.dictionaries(st.text(), st.one_of(st.text(), st.integers(-(2**53), 2**53), st.lists(st.text()))))
def test_read_unverified_returns_header_and_claims(claims):
    token = jws.read_unverified(f"{part({'alg': 'RS256', 'kid': 'k', 'typ': 'JWT'})}.{part(claims)}.AAAA")
    assert token.header == jws.Header("RS256", "k")
    assert token.claims == claims
    assert token.issuer == claims.get("iss")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.b",
        "a.b.c.d",
        "aaaa.bbbb.cccc",
        "ä.b.c",
        f"{part({'alg': 'x'})}.{part([])}.",
        f"{part([])}.{part({})}.",
        f"{part({})}.{part({})}.",
        f"{part({'alg': 'x', 'kid': 1})}.{part({})}.",
        f"{part({'alg': 'x'})}.{part({})}.a=",
        f"{part({'alg': 'x'})}.{part({})}.++++",
        f"{part({'alg': 'x'})}.{part({})}.////",
        f"{part({'alg': 'x'})}.{part({})}.####",
        f"{part({'alg': 'x'})}.{part(b'{')}.",
        f"{part({'alg': 'x'})}.{part(b'[' * 10_000)}.",
        f"{part(b'[' * 10_000)}.{part({})}.",
        "a" * (jws.TOKEN_BYTES_MAX + 1),
    ],
)
def test_read_unverified_rejects_malformed_tokens(text):
    with pytest.raises(jws.MalformedTokenError):
        jws.read_unverified(text)


def test_looks_signed_is_true_of_three_parts_only():
    assert jws.looks_signed("a.b.c")
    assert not jws.looks_signed("abc")
    assert not jws.looks_signed("a.b.c.d")
