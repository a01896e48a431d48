"""Requests made up from the words of the API's grammar: whatever they are, the server finds an answer of its own."""

from __future__ import annotations

import json
import random
from urllib.parse import quote

import pytest

from steersman.testing import InProcessAPIServer

SEEDS = 8
REQUESTS = 400

METHODS = [
    "GET",
    "GET",
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "PROPFIND",
    "POST",
    "PUT",
    "PATCH",
    "PATCH",
]
RESOURCES = {
    "/api/v1": ["pods", "configmaps", "services", "secrets", "events", "replicationcontrollers", "serviceaccounts", "endpoints",
                "persistentvolumeclaims", "limitranges", "resourcequotas", "podtemplates", "bindings", "nodes", "namespaces"],
    "/apis/apps/v1": ["deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions"],
    "/apis/batch/v1": ["jobs", "cronjobs"],
    "/apis/rbac.authorization.k8s.io/v1": ["roles", "rolebindings", "clusterroles"],
    "/apis/coordination.k8s.io/v1alpha2": ["leasecandidates"],
    "/apis/autoscaling/v1": ["horizontalpodautoscalers"],
    "/apis/apiextensions.k8s.io/v1": ["customresourcedefinitions"],
    "/apis/authorization.k8s.io/v1": ["subjectaccessreviews", "localsubjectaccessreviews"],
    "/apis/none.example.com/v1": ["things"],
    "/apis/apps/v9": ["deployments"],
}  # fmt: skip
PATHS = ["/", "/apis", "/api", "/apis/apps", "/apis/apps/v1", "/openapi/v3", "/openapi/v2", "/openapi/v3/api/v1", "/version",
         "/healthz", "/readyz/etcd", "/metrics", "/openid/v1/jwks", "/logs", "/api/v2/pods"]  # fmt: skip
NAMES = ["a", "a", "a", "a", "a", "b", "default", "a.b", "x" * 254]
SUBRESOURCES = [
    "status",
    "scale",
    "log",
    "exec",
    "proxy",
    "proxy/x",
    "binding",
    "eviction",
    "token",
    "finalize",
    "approval",
    "x",
]
ODD = ["watch", "%61", "%2F", "%00", "..", "", " ", "ä", "*", "A", "x" * 300, "namespaces"]
PARAMETERS = {
    "watch": ["1", "0", "true", "", "x"],
    "limit": ["1", "0", "-1", "", "x", "9" * 30],
    "continue": ["", "x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "e30", "%00"],
    "resourceVersionMatch": ["Exact", "NotOlderThan", "x", ""],
    "labelSelector": ["a=b", "a in (b,c)", "!a", "a>1", "a in (", "=", ",", "%00", "a" * 400, "((((((", "ä=ö"],
    "fieldSelector": [
        "metadata.name=a",
        "metadata.namespace!=b",
        "spec.nodeName=",
        "x=y",
        "metadata.name",
        "=",
        "a\\",
        ",",
    ],
    "timeoutSeconds": ["1", "0", "-1", "x", "9" * 30],
    "allowWatchBookmarks": ["true", "x"],
    "sendInitialEvents": ["true", "false", "x"],
    "pretty": ["true", "x"],
    "dryRun": ["All", "x", ""],
    "fieldManager": ["m", "", "x" * 200, "\x01"],
    "fieldValidation": ["Strict", "Warn", "Ignore", "x"],
    "force": ["true", "x"],
    "propagationPolicy": ["Background", "Orphan", "Foreground", "x"],
    "gracePeriodSeconds": ["0", "-1", "x"],
    "orphanDependents": ["true", "x"],
    "shardSelector": ["x", "shardRange(object.metadata.uid, '0', '8')"],
    "includeObject": ["None", "x"],
    "exclude": ["etcd", "x"],
    "verbose": [""],
    "hash": ["x"],
    "x": ["y"],
}
ACCEPTS = ["", "", "", "", "application/json", "application/yaml", "*/*", "application/*", "text/html", "x", ";", ",", "application/json;q=x",
           "application/json;as=Table;g=meta.k8s.io;v=v1", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
           "application/vnd.kubernetes.protobuf", "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"]  # fmt: skip
TYPES = ["application/json", "application/json", "application/json", "application/yaml", "application/merge-patch+json", "application/json-patch+json",
         "application/strategic-merge-patch+json", "application/apply-patch+yaml", "text/plain", "", "application/json;charset=x",
         "application/vnd.kubernetes.protobuf"]  # fmt: skip
BODIES = ["", "{}", "[]", "null", "1", '"a"', "{", "a: b", "- a", "\x00", '{"metadata":{}}', '{"metadata":{"name":"a"}}',
          '{"metadata":null}', '{"metadata":[]}', '{"kind":"Pod","apiVersion":"v1"}', '[{"op":"add","path":"/data","value":1}]',
          '[{"op":"x"}]', '{"spec":{"replicas":"x"}}', '{"$patch":"delete"}', '{"a":NaN}', "{" * 300, '{"a":1,"a":2}',
          '{"metadata":{"name":"a","namespace":"other"}}', '{"metadata":{"generateName":"g-"},"data":{"a":"b"}}', "k8s\x00"]  # fmt: skip


PATCH_TYPES = ["application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml",
               "application/json-patch+json"]  # fmt: skip
OBJECTS = ['{"metadata":{"name":"a"}}', '{"metadata":{"name":"b"}}', '{"metadata":{"generateName":"c-"}}',
           '{"metadata":{"name":"a","labels":{"a":"b"}},"data":{"a":"b"}}', '{"spec":{"replicas":2}}', '{"status":{}}',
           '{"metadata":{"name":"b"},"spec":{"containers":[{"name":"c","image":"i"}]}}', '{"spec":null}',
           '[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]', '{"metadata":{"finalizers":["a/b"]}}',
           '{"spec":{"containers":[{"name":"c","$patch":"delete"}]}}', '{"metadata":{"resourceVersion":"1"}}',
           '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"z":"1"}}',
           '{"apiVersion":"autoscaling/v1","kind":"Scale","spec":{"replicas":3}}']  # fmt: skip
_DEFAULT = "/api/v1/namespaces/default"
_APPS = "/apis/apps/v1/namespaces/default"
_TEMPLATE = '{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}'
THERE = {
    f"{_DEFAULT}/configmaps": '{"metadata":{"name":"a"},"data":{"a":"b"}}',
    f"{_DEFAULT}/serviceaccounts": '{"metadata":{"name":"default"}}',
    f"{_DEFAULT}/pods": '{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}',
    f"{_DEFAULT}/services": '{"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}}',
    f"{_APPS}/deployments": f'{{"metadata":{{"name":"a"}},"spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},"template":{_TEMPLATE}}}}}',
    "/apis/batch/v1/namespaces/default/jobs": '{"metadata":{"name":"a"},"spec":{"template":'
    '{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}',
}


def made_up_path(dice: random.Random) -> str:
    """Draw a path, mostly of an existing object; one in ten has a segment that is odd, missing or twice."""
    if dice.random() < 0.1:
        return dice.choice(PATHS)
    root = dice.choice([*RESOURCES, "/api/v1", "/api/v1", "/apis/apps/v1"])
    parts = (
        []
        if dice.random() < 0.15
        else ["namespaces", dice.choice(["default", "default", "default", "default", "none"])]
    )
    parts.append(dice.choice(RESOURCES[root]))
    if dice.random() < 0.6:
        parts.append(dice.choice(NAMES))
        if dice.random() < 0.25:
            parts.append(dice.choice(SUBRESOURCES))
    if dice.random() < 0.1:
        at = dice.randrange(len(parts))
        parts[at : at + dice.randrange(2)] = dice.choices(ODD, k=dice.randrange(3))
    return "/".join([root, *parts])


def made_up(dice: random.Random) -> tuple[str, str, bytes, dict[str, str]]:
    """Draw method, target, body and headers."""
    path = made_up_path(dice)
    method = dice.choice(METHODS)
    names = dice.choices(list(PARAMETERS), k=dice.choice([0, 0, 1, 2, 3]))
    # A watch without an end would wait for one.
    pairs = [f"{name}={quote(dice.choice(PARAMETERS[name]))}" for name in names] + ["timeoutSeconds=1"]
    usual = PATCH_TYPES if method == "PATCH" else ["application/json"]
    headers = {
        "accept": dice.choice(ACCEPTS) if dice.random() < 0.2 else "application/json",
        "content-type": dice.choice(TYPES if dice.random() < 0.2 else usual),
    }
    body = dice.choice(BODIES if dice.random() < 0.5 else OBJECTS)
    return method, f"{path}?{'&'.join(pairs)}", body.encode(), headers


async def fill(server: InProcessAPIServer) -> None:
    """Create objects for the requests."""
    for path, body in THERE.items():
        response = await server.request("POST", path, body=body.encode())
        assert response.code == 201, response.body


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_generated_urls_cause_no_internal_error(seed, caplog):
    dice = random.Random(seed)
    async with InProcessAPIServer() as server:
        await fill(server)
        for _ in range(REQUESTS):
            method, target, body, headers = made_up(dice)
            async with server.open(method, target, body=body, headers=headers) as exchange:
                piece = await anext(aiter(exchange), b"") if "watch" not in target else b""
            assert exchange.code < 600
            assert b"InternalError" not in piece, (method, target, headers, body, json.loads(piece)["message"])
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
