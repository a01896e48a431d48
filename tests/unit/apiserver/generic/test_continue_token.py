"""Continue tokens."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.generic.continue_token import Continue, decode_continue, encode_continue

segments = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1).filter(
    lambda text: text not in (".", "..")
)


@given(parts=st.lists(segments, min_size=1, max_size=2), revision=st.integers(-1, 2**62).filter(bool))
def test_token_round_trips(parts, revision):
    start = "/".join(parts) + "\0"
    assert decode_continue(encode_continue(start, revision)) == Continue(start, revision)


def test_token_has_the_format_of_kube_apiserver():
    token = encode_continue("ns/a\0", 7)
    assert base64.urlsafe_b64decode(token + "==") == b'{"v":"meta.k8s.io/v1","rv":7,"start":"ns/a\\u0000"}'


@given(token=st.text(max_size=60))
def test_no_token_causes_a_server_error(token):
    try:
        decode_continue(token)
    except StatusError as error:
        assert error.code == 400  # noqa: PT017 — most texts are refused, a token by chance is not


@pytest.mark.parametrize(
    "raw",
    [
        b"[]",
        b"1",
        b'{"v":"meta.k8s.io/v1","rv":"1","start":"a"}',
        b'{"v":"meta.k8s.io/v1","rv":true,"start":"a"}',
        b'{"v":"meta.k8s.io/v1","rv":1,"start":1}',
        b'{"v":"meta.k8s.io/v1","rv":1,"start":""}',
        b'{"v":"meta.k8s.io/v1","rv":1,"start":"a/../b"}',
        b'{"v":"meta.k8s.io/v1","rv":1,"start":"//a"}',
        b'{"v":1,"rv":1,"start":"a"}',
    ],
)
def test_malformed_tokens_are_400(raw):
    with pytest.raises(StatusError) as refused:
        decode_continue(base64.urlsafe_b64encode(raw).rstrip(b"=").decode())
    assert refused.value.code == 400
