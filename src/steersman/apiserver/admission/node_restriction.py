"""``NodeRestriction``: limits a kubelet to its own Node, and to the pods bound to it.

The Node authorizer decides by names; this plugin decides by the content of objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apimachinery.errors import not_found
from steersman.apimachinery.gotext import quote
from steersman.apiserver.admission.certificates import common_name
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.apiserver.admission.node_audiences import Audiences
from steersman.apiserver.admission.node_labels import forbidden_labels
from steersman.apiserver.admission.node_pods import check_mirror_pod, owner_uid
from steersman.apiserver.authz.node import node_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

    Rule = Callable[[str, Attributes], Awaitable[None]]

_LEASES_NAMESPACE: Final = "kube-node-lease"
#: Signers of the kubelets' client and serving certificates.
_KUBELET_SIGNERS: Final = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")
#: Status fields of a claim that a kubelet may change during volume expansion.
_CLAIM_STATUS: Final = ("capacity", "conditions", "allocatedResourceStatuses", "allocatedResources")


class NodeRestriction(Plugin):
    """Restrictions of users ``system:node:<name>`` in the group ``system:nodes``."""

    name: ClassVar[str] = "NodeRestriction"

    def __init__(self, cache_of: Callable[[str], WatchCache], *, authorizer: Authorizer) -> None:
        """``cache_of`` returns the watch cache of a resource by name."""
        self._pods: Final = Lookup(cache_of("pods"), whole)
        self._nodes: Final = Lookup(cache_of("nodes"), whole)
        self._audiences: Final = Audiences(cache_of, authorizer)
        self._rules: Final[dict[str, Rule]] = {
            "pods": self._pod,
            "nodes": self._node,
            "persistentvolumeclaims": self._claim,
            "serviceaccounts": self._account,
            "leases.coordination.k8s.io": self._lease,
            "csinodes.storage.k8s.io": self._csi_node,
            "resourceslices.resource.k8s.io": self._slice,
            "certificatesigningrequests.certificates.k8s.io": self._request,
        }

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for the resources that kubelets write."""
        return resource.group_resource in self._rules and operation is not Operation.CONNECT

    async def admit(self, attributes: Attributes) -> None:
        """Raise 403 for a forbidden write, 404 for a missing object."""
        node = node_of(attributes.user)
        if node is None:
            return
        if not node:
            raise attributes.forbidden(f"could not determine node from user {quote(attributes.user.name)}")
        await self._rules[attributes.group_resource](node, attributes)

    # -- pods ----------------------------------------------------------------------------------------------------------

    async def _pod(self, node: str, attributes: Attributes) -> None:
        match attributes.subresource:
            case "":
                await self._whole_pod(node, attributes)
            case "status":
                _check_pod_status(node, attributes)
            case "eviction":
                pod = await self._stored_pod(attributes, attributes.name)
                if pod["spec"].get("nodeName") != node:
                    raise attributes.forbidden(f"node {node} can only evict pods with spec.nodeName set to itself")
            case other:
                raise attributes.forbidden(
                    f"unexpected pod subresource {quote(other)}, only 'status' and 'eviction' are allowed"
                )

    async def _whole_pod(self, node: str, attributes: Attributes) -> None:
        if attributes.operation is Operation.DELETE:
            pod = await self._stored_pod(attributes, attributes.name)
            if pod["spec"].get("nodeName") != node:
                message = f"node {quote(node)} can only delete pods with spec.nodeName set to itself"
                raise attributes.forbidden(message)
        elif attributes.operation is Operation.CREATE and attributes.object is not None:
            uid = owner_uid(node, attributes, attributes.object)
            cached_node = await self._nodes.get(node)
            if cached_node is None:
                raise not_found("nodes", node)
            cached_uid = cached_node["metadata"]["uid"]
            if uid != cached_uid:
                raise attributes.forbidden(f"node {node} UID mismatch: expected {uid} got {cached_uid}")
            check_mirror_pod(node, attributes, attributes.object)
        else:
            raise attributes.forbidden(
                f"unexpected operation {quote(attributes.operation)},"
                f" node {quote(node)} can only create and delete mirror pods"
            )

    async def _stored_pod(self, attributes: Attributes, name: str) -> Tree:
        pod = await self._pods.get(name, namespace=attributes.namespace)
        if pod is None:
            raise not_found("pods", name)
        return pod

    # -- objects of a node ---------------------------------------------------------------------------------------------

    async def _node(self, node: str, attributes: Attributes) -> None:
        if attributes.name != node:
            raise attributes.forbidden(f"node {quote(node)} is not allowed to modify node {quote(attributes.name)}")
        new, old = attributes.object, attributes.old_object
        if new is None:
            return
        if old is None:
            _check_new_node(node, attributes, new)
        else:
            _check_changed_node(node, attributes, new, old)

    async def _claim(self, node: str, attributes: Attributes) -> None:
        if attributes.subresource != "status":
            raise attributes.forbidden("may only update PVC status")
        if _without_expansion_fields(attributes.object or {}) != _without_expansion_fields(attributes.old_object or {}):
            raise attributes.forbidden(
                f"node {quote(node)} is not allowed to update fields other than status.quantity and status.conditions"
            )

    async def _account(self, node: str, attributes: Attributes) -> None:
        if attributes.operation is not Operation.CREATE or attributes.subresource != "token":
            return
        spec = (attributes.object or {}).get("spec") or {}
        ref = spec.get("boundObjectRef") or {}
        if (ref.get("apiVersion"), ref.get("kind")) != ("v1", "Pod") or not ref.get("name"):
            raise attributes.forbidden("node requested token not bound to a pod")
        if not ref.get("uid"):
            raise attributes.forbidden("node requested token with a pod binding without a uid")
        pod = await self._stored_pod(attributes, ref["name"])
        if ref["uid"] != pod["metadata"]["uid"]:
            raise attributes.forbidden(
                f"the UID in the bound object reference ({ref['uid']}) does not match the UID in record."
                " The object might have been deleted and then recreated"
            )
        if pod["spec"].get("nodeName") != node:
            raise attributes.forbidden("node requested token bound to a pod scheduled on a different node")
        await self._audiences.check(attributes, spec.get("audiences") or [], pod)

    async def _lease(self, node: str, attributes: Attributes) -> None:
        if attributes.namespace != _LEASES_NAMESPACE:
            raise attributes.forbidden(f"can only access leases in the {quote(_LEASES_NAMESPACE)} system namespace")
        if _name_of(attributes) != node:
            raise attributes.forbidden("can only access node lease with the same name as the requesting node")

    async def _csi_node(self, node: str, attributes: Attributes) -> None:
        if _name_of(attributes) != node:
            raise attributes.forbidden("can only access CSINode with the same name as the requesting node")

    async def _slice(self, node: str, attributes: Attributes) -> None:
        verbs = {Operation.CREATE: "create", Operation.DELETE: "delete"}
        verb = verbs.get(attributes.operation)
        if verb is None:
            return
        spec = (attributes.object or attributes.old_object or {}).get("spec") or {}
        if (spec.get("nodeName") or "") != node:
            raise attributes.forbidden(f"can only {verb} ResourceSlice with the same NodeName as the requesting node")

    async def _request(self, node: str, attributes: Attributes) -> None:
        spec = (attributes.object or {}).get("spec") or {}
        if attributes.operation is not Operation.CREATE or spec.get("signerName") not in _KUBELET_SIGNERS:
            return
        try:
            subject = common_name(spec.get("request") or "")
        except ValueError as error:
            raise attributes.forbidden(f"unable to parse csr: {error}") from None
        if subject != f"system:node:{node}":
            raise attributes.forbidden(f"can only create a node CSR with CN=system:node:{node}")


def _name_of(attributes: Attributes) -> str:
    """Return the object's name; on create from its metadata."""
    if attributes.operation is Operation.CREATE and attributes.object is not None:
        return attributes.object["metadata"].get("name") or ""
    return attributes.name


def _check_pod_status(node: str, attributes: Attributes) -> None:
    new, old = attributes.object or {}, attributes.old_object or {}
    if old["spec"].get("nodeName") != node:
        raise attributes.forbidden(
            f"node {quote(node)} can only update pod status for pods with spec.nodeName set to itself"  # noqa: S608 — no SQL
        )
    if (old["metadata"].get("labels") or {}) != (new["metadata"].get("labels") or {}):
        raise attributes.forbidden(f"node {quote(node)} cannot update labels through pod status")
    status, before = new.get("status") or {}, old.get("status") or {}
    if (status.get("resourceClaimStatuses") or []) != (before.get("resourceClaimStatuses") or []):
        raise attributes.forbidden(f"node {quote(node)} cannot update resource claim statues")
    if status.get("extendedResourceClaimStatus") != before.get("extendedResourceClaimStatus"):
        raise attributes.forbidden(f"node {quote(node)} cannot update extended resource claim status")


def _check_new_node(node: str, attributes: Attributes, new: Tree) -> None:
    if (new.get("spec") or {}).get("configSource") is not None:
        raise attributes.forbidden(f"node {quote(node)} is not allowed to create pods with a non-nil configSource")
    if forbidden_keys := forbidden_labels(new, None):
        raise attributes.forbidden(
            f"node {quote(node)} is not allowed to set the following labels: {', '.join(forbidden_keys)}"
        )


def _check_changed_node(node: str, attributes: Attributes, new: Tree, old: Tree) -> None:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    source = spec.get("configSource")
    if source is not None and source != before.get("configSource"):
        message = f"node {quote(node)} is not allowed to update configSource to a new non-nil configSource"
        raise attributes.forbidden(message)
    if (spec.get("taints") or []) != (before.get("taints") or []):
        raise attributes.forbidden(f"node {quote(node)} is not allowed to modify taints")
    if (new["metadata"].get("ownerReferences") or []) != (old["metadata"].get("ownerReferences") or []):
        raise attributes.forbidden(f"node {quote(node)} is not allowed to modify ownerReferences")
    if forbidden_keys := forbidden_labels(new, old):
        raise attributes.forbidden(f"is not allowed to modify labels: {', '.join(forbidden_keys)}")


def _without_expansion_fields(claim: Tree) -> Tree:
    """Return a claim without the fields that a kubelet may change."""
    metadata = {
        key: value for key, value in claim["metadata"].items() if key not in ("resourceVersion", "managedFields")
    }
    status = {key: value for key, value in (claim.get("status") or {}).items() if key not in _CLAIM_STATUS}
    return {**claim, "metadata": metadata, "status": status}
