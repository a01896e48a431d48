"""Requests about built-in kinds, other than creates, whose size a client chooses.

Patches, applies among many managers, selectors, lists of many objects, access reviews.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from tests.complexity.measuring import Cost

from steersman.apimachinery.trees import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steersman.testing import InProcessAPIServer


_JSON_PATCH = "application/json-patch+json"
_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
_APPLY = "application/apply-patch+yaml"
_CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
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
    #: Size → paths and bodies of objects that exist meanwhile, and are deleted by their path and name.
    others: Callable[[int], Iterable[tuple[str, Tree]]] = lambda size: ()
    #: Code of the response.
    code: int = 200


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


def _owned_by_many(size: int) -> Tree:
    """Return a ConfigMap each of whose keys another manager has applied."""
    tree = _config_map(size)
    tree["metadata"]["managedFields"] = [
        {
            "manager": f"m{number}",
            "operation": "Apply",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {f"f:k{number}": {}}},
        }
        for number in range(size)
    ]
    return tree


def _applied(size: int, value: str) -> Tree:
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": dict.fromkeys(_config_map(size)["data"], value)}


def _config_maps(size: int) -> Iterable[tuple[str, Tree]]:
    for number in range(size):
        labels = {"n": f"v{number}", "grown": "yes"}
        yield _CONFIG_MAPS, {"metadata": {"name": f"c{number}", "labels": labels}, "data": {"k": "v"}}


def _role_of_many_rules(size: int) -> Iterable[tuple[str, Tree]]:
    rules = [{"apiGroups": [""], "resources": [f"r{number}"], "verbs": ["get"]} for number in range(size)]
    yield f"{_RBAC}/clusterroles", {"metadata": {"name": "grown"}, "rules": rules}
    yield f"{_RBAC}/clusterrolebindings", _binding("grown", "jane")


def _many_bindings(size: int) -> Iterable[tuple[str, Tree]]:
    yield f"{_RBAC}/clusterroles", {"metadata": {"name": "grown"}, "rules": []}
    for number in range(size):
        yield f"{_RBAC}/clusterrolebindings", _binding(f"grown-{number}", "jane")


def _binding(name: str, user: str) -> Tree:
    group = "rbac.authorization.k8s.io"
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": "grown"}
    subjects = [{"apiGroup": group, "kind": "User", "name": user}]
    return {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}


def _review(spec: Callable[[int], Tree]) -> Any:
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return lambda size: ("POST", path, "application/json", {"spec": spec(size)})


def _access(**spec: Any) -> Tree:
    return {"resourceAttributes": {"verb": "get", "resource": "secrets", "namespace": "default"}, **spec}


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
    return [{"name": f"E{number}"} for number in range(size)]


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
        code=422,
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
        code=422,
    ),
    SizedRequest(
        "strategic merge: delete every item of a list map",
        _pod,
        _patch(_STRATEGIC, _env_patch(lambda n: {"name": f"E{n}", "$patch": "delete"}), _PODS),
        _PODS,
        code=422,
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
        code=422,
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
        code=409,
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
    SizedRequest(
        "list: many query parameters",
        None,
        _list(lambda size: "&".join(f"p{n}=v" for n in range(size))),
        code=400,
    ),
    SizedRequest(
        "list: many accepted media types", None, _list(lambda size: "", ",".join(["application/x"] * 3000) + ",*/*")
    ),
    SizedRequest("get: deep path", None, lambda size: ("GET", "/apis" + "/a" * size, "", None), code=404),
    SizedRequest(
        "list: many objects, many requirements of one label",
        None,
        _list(lambda size: f"labelSelector={quote(','.join(f'n!=x{n}' for n in range(100)))}"),
        others=_config_maps,
    ),
    SizedRequest(
        "list: many objects, as many values of a label",
        None,
        _list(lambda size: f"labelSelector={quote('n in (' + ','.join(f'v{n}' for n in range(size)) + ')')}"),
        others=_config_maps,
    ),
    SizedRequest("list: many objects, as a Table", None, _list(lambda size: "", _TABLE), others=_config_maps),
    SizedRequest(
        "list: many objects, in protobuf",
        None,
        _list(lambda size: "", "application/vnd.kubernetes.protobuf"),
        others=_config_maps,
    ),
    SizedRequest("list: many objects, as YAML", None, _list(lambda size: "", "application/yaml"), others=_config_maps),
    SizedRequest(
        "deletion of many objects",
        None,
        lambda size: ("DELETE", f"{_CONFIG_MAPS}?labelSelector=grown%3Dyes", "", None),
        others=_config_maps,
    ),
    SizedRequest(
        "apply: conflicts with many managers",
        _owned_by_many,
        _patch(_APPLY, lambda size: _applied(size, "w"), query="?fieldManager=b"),
        code=409,
    ),
    SizedRequest(
        "apply: takes from many managers",
        _owned_by_many,
        _patch(_APPLY, lambda size: _applied(size, "w"), query="?fieldManager=b&force=true"),
    ),
    SizedRequest(
        "apply: shares with many managers",
        _owned_by_many,
        _patch(_APPLY, lambda size: _applied(size, "v"), query="?fieldManager=b"),
    ),
    SizedRequest(
        "merge patch: takes from many managers",
        _owned_by_many,
        _patch(_MERGE, lambda size: {"data": dict.fromkeys(_config_map(size)["data"], "w")}),
    ),
    SizedRequest(
        "access review: role with many rules",
        None,
        _review(lambda size: _access(user="jane")),
        others=_role_of_many_rules,
        code=201,
    ),
    SizedRequest(
        "access review: many bindings",
        None,
        _review(lambda size: _access(user="jane")),
        others=_many_bindings,
        code=201,
    ),
    SizedRequest(
        "access review: many groups",
        None,
        _review(lambda size: _access(user="jane", groups=[f"g{number}" for number in range(size)])),
        code=201,
    ),
)


async def measure_request(server: InProcessAPIServer, sized: SizedRequest, size: int) -> Cost:
    """Create the objects, send the request, delete them; return the cost of the request."""
    json_type = {"content-type": "application/json"}
    if sized.stored is not None:
        body = msgspec.json.encode(sized.stored(size))
        path = f"{sized.collection}?fieldManager=creator"
        answer = await server.request("POST", path, body=body, headers=json_type)
        assert answer.code == 201, answer.json()
    others = [(path, tree["metadata"]["name"], msgspec.json.encode(tree)) for path, tree in sized.others(size)]
    for path, _, body in others:
        answer = await server.request("POST", path, body=body, headers=json_type)
        assert answer.code == 201, answer.json()
    method, path, media_type, payload = sized.request(size)
    header = "content-type" if payload is not None else "accept"
    headers = {header: media_type} if media_type else {}
    body_bytes = None if payload is None else msgspec.json.encode(payload)
    started_at = time.process_time()
    answer = await server.request(method, path, body=body_bytes, headers=headers)
    elapsed = time.process_time() - started_at
    if sized.stored is not None:
        clear = b'{"metadata":{"finalizers":null}}'
        await server.request("PATCH", f"{sized.collection}/sized", body=clear, headers={"content-type": _MERGE})
        await server.request("DELETE", f"{sized.collection}/sized?gracePeriodSeconds=0")
    for path, name, _ in others:
        await server.request("DELETE", f"{path}/{name}")
    return Cost(size, {sized.name: elapsed}, {sized.name: answer.code})
