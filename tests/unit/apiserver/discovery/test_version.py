"""Version document."""

import json
import re

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.discovery.version import VersionEndpoint
from steersman.apiserver.http import Request

#: https://semver.org, as client-go's version package reads it: build metadata does not count.
SEMVER = re.compile(r"v(\d+)\.(\d+)\.(\d+)\+[0-9A-Za-z-.]+")


def request(accept: str) -> Request:
    headers = [(b"accept", accept.encode())]
    return Request({"method": "GET", "path": "/version", "query_string": b"", "headers": headers}, receive=None)


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", "text/html, application/json;q=0.1"])
async def test_git_version_is_parsable_semver(accept):
    document = json.loads((await VersionEndpoint()(request(accept))).body)
    assert SEMVER.fullmatch(document["gitVersion"]).groups()[:2] == (document["major"], document["minor"])
    assert (document["minor"], document["minCompatibilityMinor"]) == ("36", "35")


async def test_other_media_types_are_406():
    with pytest.raises(StatusError) as error:
        await VersionEndpoint()(request("application/yaml"))
    assert error.value.code == 406
    assert error.value.message == "406: Not Acceptable\n\nAvailable representations: application/json"
