"""ClusterRoleBindings."""

from __future__ import annotations

from steersman.apiserver.registry.rbac.bindings import BindingStrategy


class ClusterRoleBindingStrategy(BindingStrategy):
    """Gives a role everywhere."""

    group_resource = "clusterrolebindings.rbac.authorization.k8s.io"
    namespaced = False
    role_kinds = ("ClusterRole",)
