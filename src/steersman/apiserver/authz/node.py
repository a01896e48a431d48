"""``--authorization-mode Node``: authorization of kubelets. Upstream: ``plugin/pkg/auth/authorizer/node``.

A kubelet may read objects related to Pods bound to its Node, and write its Node, Lease and CSINode; other requests are
authorized by the rules of the role ``system:node``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authz.interface import ALLOW, NO_OPINION, Decision, Rules, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.apiserver.authz.node_graph import NodeGraph
    from steersman.apiserver.authz.policy import PolicyRule
    from steersman.apiserver.request import RequestInfo, UserInfo

_PREFIX: Final = "system:node:"
NODES_GROUP: Final = "system:nodes"
_LEASES_NAMESPACE: Final = "kube-node-lease"
_OWN_VERBS: Final = frozenset({"get", "create", "update", "patch", "delete"})
_READS: Final = frozenset({"get", "list", "watch"})
_SLICE_VERBS: Final = ("get", "watch", "list", "create", "update", "patch", "delete", "deletecollection")

#: Resources that related nodes may get, list and watch.
_READABLE: Final = {("", "secrets"): "Secret", ("", "configmaps"): "ConfigMap"}
#: Resources that related nodes may get.
_GETTABLE: Final = {
    ("", "persistentvolumes"): "PersistentVolume",
    ("resource.k8s.io", "resourceclaims"): "ResourceClaim",
    ("storage.k8s.io", "volumeattachments"): "VolumeAttachment",
}


def node_of(user: UserInfo) -> str | None:
    """Return the name of the node that a user is (empty if missing); None for other users."""
    if not user.name.startswith(_PREFIX) or NODES_GROUP not in user.groups:
        return None
    return user.name[len(_PREFIX) :]


class NodeAuthorizer:
    """``Authorizer`` of users ``system:node:<name>`` in ``system:nodes``."""

    def __init__(self, graph: Callable[[], NodeGraph], rules: Callable[[], Sequence[PolicyRule]]) -> None:
        """Both are called at the first request of a node; ``rules`` returns those of the role ``system:node``."""
        self._graph_of: Final = graph
        self._rules_of: Final = rules
        self._graph: NodeGraph | None = None
        self._rules: Sequence[PolicyRule] = ()
        self._special: Final[dict[tuple[str, str], Callable[[str, RequestInfo], Decision]]] = {
            ("", "persistentvolumeclaims"): self._claim,
            ("", "serviceaccounts"): self._account,
            ("", "nodes"): self._node,
            ("", "pods"): self._pod,
            ("coordination.k8s.io", "leases"): self._lease,
            ("storage.k8s.io", "csinodes"): self._csi_node,
            ("resource.k8s.io", "resourceslices"): self._slice,
        }

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allow requests of a node for its objects; no opinion about other users."""
        node = node_of(user)
        if node is None:
            return NO_OPINION
        if not node:
            return _no_opinion(f'unknown node for user "{user.name}"')
        if self._graph is None:
            self._graph, self._rules = self._graph_of(), self._rules_of()
        if info.is_resource:
            kind = (info.group, info.resource)
            special = self._special.get(kind)
            if special is not None:
                return special(node, info)
            if kind in _READABLE:
                return self._read(node, info, _READABLE[kind])
            if kind in _GETTABLE:
                return self._get(node, info, _GETTABLE[kind])
        return ALLOW if any(_allows(rule, info) for rule in self._rules) else NO_OPINION

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Return incomplete rules for nodes, which cannot be listed."""
        del namespace
        if node_of(user) is not None:
            return Rules(incomplete=True, error="node authorizer does not support user rule resolution")
        return Rules()

    # -- by relationship -----------------------------------------------------------------------------------------------

    def _related(self, node: str, info: RequestInfo, kind: str) -> Decision:
        assert self._graph is not None
        if not info.name:
            return _no_opinion("No Object name found")
        if self._graph.has_path(node, kind, info.namespace, info.name):
            return ALLOW
        return _no_opinion(f"no relationship found between node '{node}' and this object")

    def _read(self, node: str, info: RequestInfo, kind: str) -> Decision:
        if info.verb not in _READS:
            return _no_opinion("can only read resources of this type")
        if info.subresource:
            return _no_opinion("cannot read subresource")
        if not info.namespace:
            return _no_opinion("can only read namespaced object of this type")
        return self._related(node, info, kind)

    def _get(self, node: str, info: RequestInfo, kind: str) -> Decision:
        if info.verb != "get":
            return _no_opinion("can only get individual resources of this type")
        if info.subresource:
            return _no_opinion("cannot get subresource")
        return self._related(node, info, kind)

    def _claim(self, node: str, info: RequestInfo) -> Decision:
        kind = "PersistentVolumeClaim"
        if info.subresource != "status":
            return self._get(node, info, kind)
        if info.verb not in ("update", "patch"):
            return _no_opinion("can only get or update PersistentVolumeClaim status")
        return self._related(node, info, kind)

    def _account(self, node: str, info: RequestInfo) -> Decision:
        asks_for_token = info.verb == "create" and info.subresource == "token"
        if not asks_for_token and (info.verb != "get" or info.subresource):
            return _no_opinion("can only get individual resources of this type, or create tokens for them")
        return self._related(node, info, "ServiceAccount")

    def _pod(self, node: str, info: RequestInfo) -> Decision:
        verb, subresource = info.verb, info.subresource
        if subresource in ("status", "eviction"):
            allowed_verbs = ("create",) if subresource == "eviction" else ("update", "patch")
            return ALLOW if verb in allowed_verbs else NO_OPINION
        if subresource:
            return NO_OPINION
        if verb == "get":
            return self._get(node, info, "Pod")
        if verb in ("list", "watch"):
            if ("spec.nodeName", node, True) in info.fields:
                return ALLOW
            if info.name:
                return self._related(node, info, "Pod")
            return _no_opinion("can only list/watch pods with spec.nodeName field selector")
        # the admission plugin NodeRestriction checks which pods
        return ALLOW if verb in ("create", "delete") else NO_OPINION

    def _slice(self, node: str, info: RequestInfo) -> Decision:
        if info.subresource:
            return _no_opinion("cannot authorize ResourceSlice subresources")
        if info.verb == "create":
            return ALLOW
        if info.verb in ("get", "update", "patch", "delete"):
            return self._related(node, info, "ResourceSlice")
        if info.verb not in _SLICE_VERBS:
            return _no_opinion(f"only the following verbs are allowed for a ResourceSlice: {', '.join(_SLICE_VERBS)}")
        if ("spec.nodeName", node, True) in info.fields:
            return ALLOW
        return _no_opinion("can only list/watch/deletecollection resourceslices with nodeName field selector")

    # -- by name -------------------------------------------------------------------------------------------------------

    def _node(self, node: str, info: RequestInfo) -> Decision:
        if info.subresource == "status":
            return ALLOW if info.verb in ("update", "patch") else NO_OPINION
        if info.subresource:
            return NO_OPINION
        if info.verb in ("create", "update", "patch"):
            return ALLOW
        if info.verb not in _READS:
            return NO_OPINION
        if info.name == node:
            return ALLOW
        if not info.name:
            return _no_opinion(f"node '{node}' cannot read all nodes, only its own Node object")
        return _no_opinion(f"node '{node}' cannot read '{info.name}', only its own Node object")

    def _lease(self, node: str, info: RequestInfo) -> Decision:
        if info.verb not in _OWN_VERBS:
            return _no_opinion("can only get, create, update, patch, or delete a node lease")
        if info.namespace != _LEASES_NAMESPACE:
            return _no_opinion(f'can only access leases in the "{_LEASES_NAMESPACE}" system namespace')
        if info.verb != "create" and info.name != node:
            return _no_opinion("can only access node lease with the same name as the requesting node")
        return ALLOW

    def _csi_node(self, node: str, info: RequestInfo) -> Decision:
        if info.verb not in _OWN_VERBS:
            return _no_opinion("can only get, create, update, patch, or delete a CSINode")
        if info.subresource:
            return _no_opinion("cannot authorize CSINode subresources")
        if info.verb != "create" and info.name != node:
            return _no_opinion("can only access CSINode with the same name as the requesting node")
        return ALLOW


def _no_opinion(reason: str) -> Decision:
    return Decision(Verdict.NO_OPINION, reason)


def _allows(rule: PolicyRule, info: RequestInfo) -> bool:
    if not rule.allows_verb(info.verb):
        return False
    if not info.is_resource:
        return rule.allows_path(info.path)
    return rule.allows_resource(info.group, info.resource, info.subresource)
