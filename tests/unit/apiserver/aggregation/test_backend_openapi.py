"""OpenAPI of aggregated API servers in the documents of this server."""

import asyncio

from tests.busy_machine import HANG_SECONDS
from tests.unit.apiserver.aggregation.backends import PATH, backend, condition, register, response, things

from steersman.testing import InProcessAPIServer

THING = {"type": "object", "description": "A thing."}
V2 = {
    "swagger": "2.0",
    "paths": {f"{PATH}/things": {"get": {"schema": {"$ref": "#/definitions/com.example.Thing"}}}, "/healthz": {}},
    "definitions": {"com.example.Thing": THING},
}
REFERENCE = {"$ref": "#/definitions/com.example.Thing"}
URL = f"/openapi/v3{PATH}?hash=AB"


async def documented(seen):
    target = seen.target.partition("?")[0]
    if target == "/openapi/v3":
        return response({"paths": {PATH[1:]: {"serverRelativeURL": URL}, "apis/other/v1": {"serverRelativeURL": "/x"}}})
    if target == "/openapi/v2":
        if seen.headers.get("if-none-match") == ['"1"']:
            return response(b"", status=304)
        return response(V2, headers='ETag: "1"\r\n')
    if target == f"/openapi/v3{PATH}":
        return response({"openapi": "3.0.0", "paths": {}}, headers='ETag: "AB"\r\n')
    return await things(seen)


async def until(server, path, holds):
    async with asyncio.timeout(HANG_SECONDS):
        while not holds(body := (await server.request("GET", path)).json()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # noqa: TID251 — the server runs on the real clock
    return body


async def test_version_3_lists_and_forwards_documents_of_backends():
    async with InProcessAPIServer() as server, backend(documented) as served:
        await register(server, served.port)
        index = await until(server, "/openapi/v3", lambda document: PATH[1:] in document["paths"])
        assert index["paths"][PATH[1:]] == {"serverRelativeURL": URL}
        assert "api/v1" in index["paths"]
        assert "apis/other/v1" not in index["paths"]
        await condition(server, "Passed")  # requests are forwarded from then on
        answer = await server.request("GET", URL)
        assert (answer.json()["openapi"], answer.header("etag")) == ("3.0.0", '"AB"')
        assert served.last(URL).headers["x-remote-group"]


async def test_version_2_holds_paths_and_definitions_of_backends():
    async with InProcessAPIServer() as server, backend(documented) as served:
        await register(server, served.port)
        merged = await until(server, "/openapi/v2", lambda document: f"{PATH}/things" in document["paths"])
        assert merged["definitions"]["com.example.Thing"] == THING
        assert "/healthz" not in merged["paths"]
        assert "/api/v1/pods" in merged["paths"]
        first = await server.request("GET", "/openapi/v2")
        assert (await server.request("GET", "/openapi/v2")).header("etag") == first.header("etag")
        again = await server.request("GET", "/openapi/v2", headers={"if-none-match": first.header("etag")})
        assert again.code == 304
        kind = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
        assert b"com.example.Thing" in (await server.request("GET", "/openapi/v2", headers={"accept": kind})).body


async def test_documents_go_with_their_apiservice():
    async with InProcessAPIServer() as server, backend(documented) as served:
        await register(server, served.port)
        await until(server, "/openapi/v2", lambda document: f"{PATH}/things" in document["paths"])
        await server.request("DELETE", "/apis/apiregistration.k8s.io/v1/apiservices/v1.things.example.com")
        await until(server, "/openapi/v2", lambda document: f"{PATH}/things" not in document["paths"])
        assert PATH[1:] not in (await server.request("GET", "/openapi/v3")).json()["paths"]


async def test_backend_with_garbage_has_no_documents():
    async def garbled(seen):
        return response(b"<html>") if seen.target.startswith("/openapi") else await things(seen)

    async with InProcessAPIServer() as server, backend(garbled) as served:
        await register(server, served.port)
        await condition(server, "Passed")
        assert f"{PATH}/things" not in (await server.request("GET", "/openapi/v2")).json()["paths"]
        assert (await server.request("GET", f"/openapi/v3{PATH}")).code == 404


async def test_version_2_of_a_backend_without_version_3_is_converted():
    async def old(seen):
        if seen.target.startswith("/openapi/v3"):
            return response({"kind": "Status"}, status=404)
        if seen.target == "/openapi/v2":
            get = {"produces": ["application/json"], "responses": {"200": {"description": "OK", "schema": REFERENCE}}}
            paths = {f"{PATH}/things": {"get": get}, "/healthz": {}}
            return response(
                {**V2, "info": {"title": "Things", "version": "v1"}, "paths": paths}, headers='ETag: "1"\r\n'
            )
        return await things(seen)

    async with InProcessAPIServer() as server, backend(old) as served:
        await register(server, served.port)
        index = await until(server, "/openapi/v3", lambda document: PATH[1:] in document["paths"])
        url = index["paths"][PATH[1:]]["serverRelativeURL"]
        assert url.startswith(f"/openapi/v3{PATH}?hash=")
        answer = await server.request("GET", url)
        document = answer.json()
        assert (document["openapi"], document["info"]["title"]) == ("3.0.0", "Things")
        assert document["paths"].keys() == {f"{PATH}/things", "/healthz"}  # the whole document, as upstream
        assert document["components"]["schemas"] == {"com.example.Thing": THING}
        assert answer.header("cache-control") == "public, immutable"
        again = await server.request("GET", url, headers={"if-none-match": answer.header("etag")})
        assert again.code == 304
        assert (await server.request("GET", f"/openapi/v3{PATH}?hash=AB")).header("location") == url
        kind = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
        assert b"com.example.Thing" in (await server.request("GET", url, headers={"accept": kind})).body
        merged = (await server.request("GET", "/openapi/v2")).json()
        assert "/healthz" not in merged["paths"]
