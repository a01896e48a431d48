"""Check of Accept headers by produced media types."""

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.discovery.produces import require_accepted
from steersman.apiserver.http import Request


def request(accept: str) -> Request:
    headers = [(b"accept", accept.encode())]
    return Request({"method": "GET", "path": "/", "query_string": b"", "headers": headers}, receive=None)


@pytest.mark.parametrize("accept", ["", "*/*", "text/html;q=1, a/b;x=y"])
def test_require_accepted_accepts(accept):
    require_accepted(request(accept), "a/b")


@pytest.mark.parametrize("accept", ["a/*", "a/c", "A/B", ","])
def test_require_accepted_raises_406(accept):
    with pytest.raises(StatusError) as error:
        require_accepted(request(accept), "a/b")
    assert error.value.message == "406: Not Acceptable\n\nAvailable representations: a/b"
