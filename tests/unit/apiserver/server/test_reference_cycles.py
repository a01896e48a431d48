"""Requests leave no reference cycles, whose garbage would wait for a collection together with the trees they hold."""

import asyncio
import gc
from collections import Counter

import msgspec
import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.apiserver.workers import LARGE_BYTES
from steersman.testing import InProcessAPIServer

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LISTS = "/apis/example.com/v1/namespaces/default/lists"
JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
LARGE = {f"k{number}": "v" * 100 for number in range(LARGE_BYTES // 100)}


def config_map(name, data):
    return msgspec.json.encode({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": data})


def definition():
    ruled = {
        "type": "array",
        "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(a, a < 9)"}],
    }
    schema = {"type": "object", "properties": {"n": ruled}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": {"plural": "lists", "kind": "List"}}
    return msgspec.json.encode({"metadata": {"name": "lists.example.com"}, "spec": {**spec, "versions": [version]}})


def custom(numbers):
    return msgspec.json.encode(
        {"apiVersion": "example.com/v1", "kind": "List", "metadata": {"name": "x"}, "n": numbers}
    )


#: Name, method, path, body, content or accepted type, code.
REQUESTS = (
    ("create", "POST", CONFIG_MAPS, config_map("a", {"k": "v"}), JSON, 201),
    ("create that exists", "POST", CONFIG_MAPS, config_map("a", {"k": "v"}), JSON, 409),
    ("create of an invalid object", "POST", CONFIG_MAPS, config_map("_", {"k": "v"}), JSON, 422),
    ("create of a large object", "POST", CONFIG_MAPS, config_map("large", LARGE), JSON, 201),
    ("create of an invalid large object", "POST", CONFIG_MAPS, config_map("_", LARGE), JSON, 422),
    ("syntax error", "POST", CONFIG_MAPS, b'{"metadata":', JSON, 400),
    ("syntax error of a large object", "POST", CONFIG_MAPS, config_map("b", LARGE)[:-1], JSON, 400),
    ("update of a large object", "PUT", f"{CONFIG_MAPS}/large", config_map("large", {**LARGE, "k1": "w"}), JSON, 200),
    ("merge patch of a large object", "PATCH", f"{CONFIG_MAPS}/large", b'{"data":{"k2":"w"}}', MERGE, 200),
    (
        "JSON patch of a large object",
        "PATCH",
        f"{CONFIG_MAPS}/large",
        b'[{"op":"add","path":"/data/n","value":"x"}]',
        JSON_PATCH,
        200,
    ),
    ("apply of a large object", "PATCH", f"{CONFIG_MAPS}/large?fieldManager=m&force=true", config_map("large", LARGE), APPLY, 200),
    ("list", "GET", CONFIG_MAPS, b"", JSON, 200),
    ("list as a Table", "GET", CONFIG_MAPS, b"", TABLE, 200),
    ("list as YAML", "GET", CONFIG_MAPS, b"", "application/yaml", 200),
    ("list in protobuf", "GET", CONFIG_MAPS, b"", "application/vnd.kubernetes.protobuf", 200),
    ("missing object", "GET", f"{CONFIG_MAPS}/missing", b"", JSON, 404),
    ("deletion of a large object", "DELETE", f"{CONFIG_MAPS}/large", b"", JSON, 200),
    ("custom object", "POST", LISTS, custom([1, 2]), JSON, 201),
    ("custom object against a rule", "POST", LISTS, custom([10]), JSON, 422),
    ("definition", "PATCH", f"{DEFINITIONS}/lists.example.com", b'{"metadata":{"labels":{"a":"b"}}}', MERGE, 200),
    ("watch", "GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion=1", b"", JSON, 200),
)  # fmt: skip


@pytest.fixture
async def server():
    """A server that has served each request once, so that tables are loaded; its automatic collections are off."""
    async with InProcessAPIServer() as started:
        assert (await started.request("POST", DEFINITIONS, body=definition())).code == 201
        async with asyncio.timeout(HANG_SECONDS):
            while (await started.request("GET", LISTS)).code != 200:  # noqa: ASYNC110
                await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn
        yield started


async def send(server, method, path, body, kind):
    accept = kind if method == "GET" else JSON
    return (await server.request(method, path, body=body, headers={"content-type": kind, "accept": accept})).code


def collected():
    """Return the types of this project's objects in what a collection frees."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    garbage, gc.garbage[:] = list(gc.garbage), []
    names = Counter(f"{type(item).__module__}.{type(item).__qualname__}" for item in garbage)
    functions = [item for item in garbage if getattr(item, "__module__", None) and hasattr(item, "__qualname__")]
    names.update(f"{item.__module__}.{item.__qualname__}" for item in functions)
    del garbage, functions
    gc.collect()
    return {name: number for name, number in names.items() if name.startswith("steersman.")}


async def test_requests_leave_no_reference_cycles(server):
    garbage = {}
    gc.collect()
    gc.freeze()  # what exists need not be visited again
    gc.disable()
    try:
        for name, method, path, body, kind, code in REQUESTS:
            assert await send(server, method, path, body, kind) == code, name
            await asyncio.sleep(0)  # noqa: TID251 — no time passes; the request's task ends
            if names := collected():
                garbage[name] = names
    finally:
        gc.enable()
        gc.unfreeze()
    assert garbage == {}
