import pytest

from steersman.apiserver.http import Request, Response
from steersman.apiserver.request import RequestInfo
from steersman.apiserver.server.dispatching import dispatching
from steersman.apiserver.server.routes import Routes


async def _resources(request):
    return Response(200, b"a resource")


@pytest.mark.parametrize(
    ("path", "is_resource", "body"), [("/api/v1/pods", True, b"a resource"), ("/own", False, b"own")]
)
async def test_dispatching_separates_resources_from_other_paths(path, is_resource, body):
    async def own(request):
        return Response(200, b"own")

    routes = Routes()
    routes.add("/own", own)
    request = Request({"method": "GET", "path": path, "query_string": b"", "headers": []}, None)  # type: ignore[arg-type]
    request.info = RequestInfo("get", path, is_resource)
    assert (await dispatching(_resources, routes)(request)).body == body
