"""Requests other than creates whose size a client chooses: patches, applies by many managers, selectors."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tests.complexity.measuring import Cost

from steersman.apimachinery.trees import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.testing import InProcessAPIServer


_JSON_PATCH = "application/json-patch+json"
_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
_APPLY = "application/apply-patch+yaml"
_CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_PODS = "/api/v1/namespaces/default/pods"


@dataclass(frozen=True)
class SizedRequest:
    """A request of a given size about an object, and the object that has to exist before."""

    name: str
    #: Size → body of the object created first; None when there is none.
    stored: Callable[[int], Tree] | None
    #: Size → method, path, content type and body.
    request: Callable[[int], tuple[str, str, str, Any]]
    collection: str = _CONFIG_MAPS


def _config_map(size: int) -> Tree:
    return {"metadata": {"name": "sized"}, "data": {f"k{number}": "v" for number in range(size)}}


def _pod(size: int) -> Tree:
    env = [{"name": f"E{number}", "value": "v"} for number in range(size)]
    return {"metadata": {"name": "sized"}, "spec": {"containers": [{"name": "c", "image": "i", "env": env}]}}


def _with_finalizers(size: int) -> Tree:
    return {"metadata": {"name": "sized", "finalizers": [f"example.com/f{number}" for number in range(size)]}}


def _with_owners(size: int) -> Tree:
    owners = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": f"o{number}", "uid": f"u{number}"} for number in range(size)
    ]
    return {"metadata": {"name": "sized", "ownerReferences": owners}}


def _patch(media_type: str, body: Callable[[int], Any], collection: str = _CONFIG_MAPS, query: str = "") -> Any:
    return lambda size: ("PATCH", f"{collection}/sized{query}", media_type, body(size))


def _operations(template: Callable[[int], Tree]) -> Callable[[int], list[Tree]]:
    return lambda size: [template(number) for number in range(size)]


def _env_patch(item: Callable[[int], Tree], **directives: Callable[[int], Any]) -> Callable[[int], Tree]:
    def body(size: int) -> Tree:
        container: Tree = {"name": "c", "env": [item(number) for number in range(size)]}
        container.update({key: value(size) for key, value in directives.items()})
        return {"spec": {"containers": [container]}}

    return body


def _order(size: int) -> list[Tree]:
    return [{"name": f"E{number}"} for number in reversed(range(size))]


def _list(query: Callable[[int], str], accept: str = "") -> Any:
    return lambda size: ("GET", f"{_CONFIG_MAPS}?{query(size)}", accept, None)


REQUESTS: tuple[SizedRequest, ...] = (
    SizedRequest(
        "JSON patch: add at the head of a list",
        _with_finalizers,
        _patch(
            _JSON_PATCH,
            _operations(lambda n: {"op": "add", "path": "/metadata/finalizers/0", "value": f"example.com/g{n}"}),
        ),
    ),
    SizedRequest(
        "JSON patch: remove from the head of a list",
        _with_finalizers,
        _patch(_JSON_PATCH, lambda size: [{"op": "remove", "path": "/metadata/finalizers/0"}] * (size - 1)),
    ),
    SizedRequest(
        "JSON patch: test of the whole map",
        _config_map,
        _patch(_JSON_PATCH, lambda size: [{"op": "test", "path": "/data/k0", "value": "v"}] * size),
    ),
    SizedRequest(
        "JSON patch: copy of the whole map",
        _config_map,
        _patch(_JSON_PATCH, _operations(lambda n: {"op": "copy", "from": "/data", "path": f"/c{n}"})),
    ),
    SizedRequest(
        "JSON patch: move of the whole map",
        _config_map,
        _patch(
            _JSON_PATCH,
            _operations(
                lambda n: {
                    "op": "move",
                    "from": "/data" if n % 2 == 0 else "/m",
                    "path": "/m" if n % 2 == 0 else "/data",
                }
            ),
        ),
    ),
    SizedRequest(
        "merge patch", _config_map, _patch(_MERGE, lambda size: {"data": dict.fromkeys(_config_map(size)["data"])})
    ),
    SizedRequest(
        "strategic merge: change every item of a list map",
        _pod,
        _patch(_STRATEGIC, _env_patch(lambda n: {"name": f"E{n}", "value": "w"}), _PODS),
        _PODS,
    ),
    SizedRequest(
        "strategic merge: delete every item of a list map",
        _pod,
        _patch(_STRATEGIC, _env_patch(lambda n: {"name": f"E{n}", "$patch": "delete"}), _PODS),
        _PODS,
    ),
    SizedRequest(
        "strategic merge: order of a list map",
        _pod,
        _patch(
            _STRATEGIC,
            _env_patch(lambda n: {"name": f"E{n}", "value": "w"}, **{"$setElementOrder/env": _order}),
            _PODS,
        ),
        _PODS,
    ),
    SizedRequest(
        "strategic merge: add to a list of scalars",
        _with_finalizers,
        _patch(_STRATEGIC, lambda size: {"metadata": {"finalizers": [f"example.com/g{n}" for n in range(size)]}}),
    ),
    SizedRequest(
        "strategic merge: delete from a list of scalars",
        _with_finalizers,
        _patch(
            _STRATEGIC,
            lambda size: {
                "metadata": {"$deleteFromPrimitiveList/finalizers": _with_finalizers(size)["metadata"]["finalizers"]}
            },
        ),
    ),
    SizedRequest(
        "strategic merge: change every owner",
        _with_owners,
        _patch(
            _STRATEGIC,
            lambda size: {"metadata": {"ownerReferences": [{"uid": f"u{n}", "name": "renamed"} for n in range(size)]}},
        ),
    ),
    SizedRequest(
        "apply: a map",
        _config_map,
        _patch(
            _APPLY,
            lambda size: {"apiVersion": "v1", "kind": "ConfigMap", "data": _config_map(size)["data"]},
            query="?fieldManager=a&force=true",
        ),
    ),
    SizedRequest(
        "apply: conflicts",
        _config_map,
        _patch(
            _APPLY,
            lambda size: {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "data": dict.fromkeys(_config_map(size)["data"], "w"),
            },
            query="?fieldManager=b",
        ),
    ),
    SizedRequest(
        "list: label selector with many requirements",
        None,
        _list(lambda size: f"labelSelector={quote(','.join(f'k{n}=v' for n in range(size)))}"),
    ),
    SizedRequest(
        "list: label selector with many values",
        None,
        _list(lambda size: f"labelSelector={quote('k in (' + ','.join(f'v{n}' for n in range(size)) + ')')}"),
    ),
    SizedRequest(
        "list: field selector with many terms",
        None,
        _list(lambda size: f"fieldSelector={quote(','.join('metadata.name!=n' + str(n) for n in range(size)))}"),
    ),
    SizedRequest("list: many query parameters", None, _list(lambda size: "&".join(f"p{n}=v" for n in range(size)))),
    SizedRequest(
        "list: many accepted media types", None, _list(lambda size: "", ",".join(["application/x"] * 3000) + ",*/*")
    ),
    SizedRequest("get: deep path", None, lambda size: ("GET", "/apis" + "/a" * size, "", None)),
)


async def measure_request(server: InProcessAPIServer, sized: SizedRequest, size: int) -> Cost:
    """Create the object, send the request, delete the object; return the cost of the request."""
    if sized.stored is not None:
        body = json.dumps(sized.stored(size)).encode()
        answer = await server.request(
            "POST", f"{sized.collection}?fieldManager=creator", body=body, headers={"content-type": "application/json"}
        )
        assert answer.code == 201, answer.json()
    method, path, media_type, payload = sized.request(size)
    header = "content-type" if payload is not None else "accept"
    headers = {header: media_type} if media_type else {}
    body_bytes = None if payload is None else json.dumps(payload).encode()
    started_at = time.process_time()
    answer = await server.request(method, path, body=body_bytes, headers=headers)
    elapsed = time.process_time() - started_at
    if sized.stored is not None:
        clear = b'{"metadata":{"finalizers":null}}'
        await server.request("PATCH", f"{sized.collection}/sized", body=clear, headers={"content-type": _MERGE})
        await server.request("DELETE", f"{sized.collection}/sized?gracePeriodSeconds=0")
    return Cost(size, {sized.name: elapsed}, {sized.name: answer.code})
