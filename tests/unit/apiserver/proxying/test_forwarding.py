"""Forwarding of responses and errors of kubelets."""

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.proxying.connections import DialError
from steersman.apiserver.proxying.forwarding import read_from_kubelet
from steersman.apiserver.proxying.kubelet import Location

KUBELET = Location("h", "10250", "/containerLogs/ns/p/c", is_kubelet=True)


class Answering:
    """Scripted response of a kubelet."""

    is_open = True

    def __init__(self, code: int, body: bytes = b"") -> None:
        self.code, self.body = code, body

    async def round_trip(self, location, sent, *, as_kubelets_client):
        if self.code == 0:
            raise DialError("dial tcp h:10250: connect: connection refused")
        return self

    async def text(self, size_max):
        return self.body

    async def pieces(self):
        yield self.body


async def test_read_from_kubelet_streams_plain_text():
    response = await read_from_kubelet(Answering(200, b"log"), KUBELET, group_resource="pods", name="p")
    assert (response.code, response.headers) == (200, [(b"content-type", b"text/plain")])
    assert [piece async for piece in response.stream] == [b"log"]


@pytest.mark.parametrize(
    ("code", "status", "message"),
    [
        (400, 400, "why"),
        (500, 500, "Internal error occurred: why"),
        (404, 404, "the server could not find the requested resource (pods p)"),
        (0, 500, 'Get "https://h:10250/containerLogs/ns/p/c": dial tcp h:10250: connect: connection refused'),
    ],
)
async def test_read_from_kubelet_converts_errors(code, status, message):
    with pytest.raises(StatusError) as refused:
        await read_from_kubelet(Answering(code, b"why"), KUBELET, group_resource="pods", name="p")
    assert (refused.value.code, refused.value.message) == (status, message)
