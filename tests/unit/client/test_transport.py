"""Requests as they go over the wire."""

import pytest

from steersman.client.transport import Request, TransportError, read_body


def test_request_target_is_encoded_once():
    request = Request("GET", "/api/v1/pods/a b", (("labelSelector", "app in (a,b)"), ("watch", "true")))
    assert request.target == "/api/v1/pods/a%20b?labelSelector=app+in+%28a%2Cb%29&watch=true"


def test_request_target_keeps_colons():
    assert Request("GET", "/apis/x/clusterroles/system:node").target == "/apis/x/clusterroles/system:node"


def test_transport_error_reports_before_sending():
    assert not TransportError("reset").before_sending
    assert TransportError("refused", before_sending=True).before_sending


async def test_body_is_read_up_to_a_bound():
    async def chunks():
        for chunk in (b"ab", b"cd"):
            yield chunk

    assert await read_body(chunks(), bytes_max=4) == b"abcd"
    with pytest.raises(TransportError, match="larger than 3 bytes"):
        await read_body(chunks(), bytes_max=3)
