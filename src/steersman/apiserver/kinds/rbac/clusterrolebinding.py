"""Strategy of ClusterRoleBindings."""

from __future__ import annotations

from steersman.apiserver.kinds.rbac.shared.bindings import BindingStrategy, binding_columns


class ClusterRoleBindingStrategy(BindingStrategy):
    """Strategy of ClusterRoleBindings."""

    group_resource = "clusterrolebindings.rbac.authorization.k8s.io"
    columns = binding_columns("ClusterRoleBinding")
    namespaced = False
    role_kinds = ("ClusterRole",)
