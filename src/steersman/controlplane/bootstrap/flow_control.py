"""Default priority levels and flow schemas. Upstream: ``k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.kinds.flowcontrol.shared.mandatory import CATCH_ALL, EXEMPT
from steersman.controlplane.bootstrap.ensure import DesiredObject, ensure
from steersman.controlplane.bootstrap.errors import BootstrapError

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.server.loopback import Loopback


_GROUP: Final = "flowcontrol.apiserver.k8s.io"
_API: Final = f"/apis/{_GROUP}/v1"
_MANAGER: Final = "api-priority-and-fairness-config-producer-v1"
_AUTOUPDATE: Final = "apf.kubernetes.io/autoupdate-spec"
_KUBE_SYSTEM: Final = "kube-system"
#: Names of the priority levels and flow schemas whose specs are always repaired.
_MANDATORY: Final = frozenset({EXEMPT, CATCH_ALL})

#: Name → shares of the server's seats, percent that others may borrow, and queues, hand size and length (none: reject).
_LEVELS: Final[dict[str, tuple[int, int, tuple[int, int, int] | None]]] = {
    "catch-all": (5, 0, None),
    "global-default": (20, 50, (128, 6, 50)),
    "leader-election": (10, 0, (16, 4, 50)),
    "node-high": (40, 25, (64, 6, 50)),
    "system": (30, 33, (64, 6, 50)),
    "workload-high": (40, 50, (128, 6, 50)),
    "workload-low": (100, 90, (128, 6, 50)),
}


def _group(name: str) -> Tree:
    return {"kind": "Group", "group": {"name": name}}


def _user(name: str) -> Tree:
    return {"kind": "User", "user": {"name": name}}


def _accounts_of_system() -> Tree:
    return {"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": _KUBE_SYSTEM}}


def _on(verbs: str, group: str, resources: str, *, cluster: bool = False) -> Tree:
    rule = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split(), "namespaces": ["*"]}
    return {**rule, "clusterScope": True} if cluster else rule


_EVERYBODY: Final = (_group("system:unauthenticated"), _group("system:authenticated"))
_ON_EVERYTHING: Final[Tree] = {
    "resourceRules": [_on("*", "*", "*", cluster=True)],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}
_ON_NODES: Final[Tree] = {
    "resourceRules": [_on("*", "", "nodes nodes/status", cluster=True), _on("*", "coordination.k8s.io", "leases")]
}
_ON_LEASES: Final[Tree] = {"resourceRules": [_on("get create update", "coordination.k8s.io", "leases")]}
_ON_PROBES: Final[Tree] = {
    "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}]
}

#: By name: precedence, level, distinguisher method, resource rules, subjects.
_SCHEMAS: Final[dict[str, tuple[int, str, str, Tree, tuple[Tree, ...]]]] = {
    "exempt": (1, "exempt", "", _ON_EVERYTHING, (_group("system:masters"),)),
    "probes": (2, "exempt", "", _ON_PROBES, _EVERYBODY),
    "system-leader-election": (
        100,
        "leader-election",
        "ByUser",
        _ON_LEASES,
        (_user("system:kube-controller-manager"), _user("system:kube-scheduler"), _accounts_of_system()),
    ),
    "system-node-high": (400, "node-high", "ByUser", _ON_NODES, (_group("system:nodes"),)),
    "system-nodes": (500, "system", "ByUser", _ON_EVERYTHING, (_group("system:nodes"),)),
    "kube-controller-manager": (
        800,
        "workload-high",
        "ByNamespace",
        _ON_EVERYTHING,
        (_user("system:kube-controller-manager"),),
    ),
    "kube-scheduler": (800, "workload-high", "ByNamespace", _ON_EVERYTHING, (_user("system:kube-scheduler"),)),
    "kube-system-service-accounts": (900, "workload-high", "ByNamespace", _ON_EVERYTHING, (_accounts_of_system(),)),
    "service-accounts": (9000, "workload-low", "ByUser", _ON_EVERYTHING, (_group("system:serviceaccounts"),)),
    "global-default": (9900, "global-default", "ByUser", _ON_EVERYTHING, _EVERYBODY),
    "catch-all": (10000, "catch-all", "ByUser", _ON_EVERYTHING, _EVERYBODY),
}


def priority_levels() -> list[Tree]:
    """Return the levels in the served version."""
    exempt = {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}
    levels = [_object("PriorityLevelConfiguration", "exempt", exempt)]
    for name, (shares, lendable, queues) in _LEVELS.items():
        response: Tree = {"type": "Reject"}
        if queues is not None:
            number, hand, length = queues
            response = {
                "type": "Queue",
                "queuing": {"queues": number, "handSize": hand, "queueLengthLimit": length},
            }
        limited = {"nominalConcurrencyShares": shares, "lendablePercent": lendable, "limitResponse": response}
        levels.append(_object("PriorityLevelConfiguration", name, {"type": "Limited", "limited": limited}))
    return levels


def flow_schemas() -> list[Tree]:
    """Return the schemas by matching precedence."""
    schemas = []
    for name, (precedence, level, distinguisher, rule, subjects) in _SCHEMAS.items():
        spec: Tree = {
            "matchingPrecedence": precedence,
            "priorityLevelConfiguration": {"name": level},
            "rules": [{"subjects": list(subjects), **rule}],
        }
        if distinguisher:
            spec["distinguisherMethod"] = {"type": distinguisher}
        schemas.append(_object("FlowSchema", name, spec))
    return schemas


async def bootstrap_flow_control(client: Loopback) -> None:
    """Create the default objects, repair those whose annotation allows it, and delete those of earlier versions.

    Raises RuntimeError.
    """
    levels, schemas = priority_levels(), flow_schemas()
    await ensure(
        client, [*_desired_objects("prioritylevelconfigurations", levels), *_desired_objects("flowschemas", schemas)]
    )
    await _delete_unwanted(client, "flowschemas", schemas)
    await _delete_unwanted(client, "prioritylevelconfigurations", levels)


def _desired_objects(plural: str, trees: list[Tree]) -> list[DesiredObject]:
    return [DesiredObject(f"{_API}/{plural}?fieldManager={_MANAGER}", tree, _repair) for tree in trees]


def _repair(existing: Tree, desired: Tree) -> Tree | None:
    """Return the object with the default spec and an annotation that reports whether the spec is kept up to date.

    The annotation decides; without a boolean in it, an object whose spec was never changed is updated. The specs of
    mandatory objects are always updated. Upstream: ``ReviseIfNeeded`` of ``util/flowcontrol/.../ensurer``.
    """
    annotations = existing["metadata"].get("annotations") or {}
    annotated = _boolean(annotations.get(_AUTOUPDATE))
    may_update = annotated if annotated is not None else existing["metadata"].get("generation") == 1
    updates = may_update or existing["metadata"]["name"] in _MANDATORY
    is_outdated = updates and not _is_default(existing.get("spec") or {}, desired)
    if annotated == updates and not is_outdated:
        return None
    metadata = existing["metadata"]
    if annotated != updates:
        metadata = {**metadata, "annotations": {**annotations, _AUTOUPDATE: "true" if updates else "false"}}
    return {**existing, "metadata": metadata, "spec": desired["spec"] if is_outdated else existing.get("spec")}


def _is_default(spec: Tree, desired: Tree) -> bool:
    """Report whether a spec is the default; the seats of the level ``exempt`` may be changed."""
    default = desired["spec"]
    if desired["kind"] == "PriorityLevelConfiguration" and desired["metadata"]["name"] == EXEMPT:
        return spec.get("type") == default["type"] and spec.get("exempt") is not None
    return bool(spec == default)


def _boolean(text: str | None) -> bool | None:
    """Return the value of Go's ``strconv.ParseBool``; None for other texts."""
    if text in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    return False if text in ("0", "f", "F", "FALSE", "false", "False") else None


async def _delete_unwanted(client: Loopback, plural: str, trees: list[Tree]) -> None:
    """Delete objects that are annotated as defaults but are no longer defaults. Upstream: ``RemoveUnwantedObjects``."""
    names = {tree["metadata"]["name"] for tree in trees}
    answer = await client.request("GET", f"{_API}/{plural}?resourceVersion=0")
    for existing in (answer.json().get("items") or ()) if answer.code == 200 else ():
        metadata = existing["metadata"]
        if metadata["name"] in names or not _boolean((metadata.get("annotations") or {}).get(_AUTOUPDATE)):
            continue
        options = {"preconditions": {"resourceVersion": metadata["resourceVersion"]}}
        path = f"{_API}/{plural}/{metadata['name']}"
        deleted = await client.request("DELETE", path, body=msgspec.json.encode(options))
        if deleted.code not in (200, 404, 409):
            raise BootstrapError(f"{path}: {deleted.body.decode(errors='replace')}")


def _object(kind: str, name: str, spec: Tree) -> Tree:
    metadata = {"name": name, "annotations": {_AUTOUPDATE: "true"}}
    return {"kind": kind, "apiVersion": f"{_GROUP}/v1", "metadata": metadata, "spec": spec}
