"""Strategy of RoleBindings."""

from __future__ import annotations

from steersman.apiserver.kinds.rbac.shared.bindings import BindingStrategy, binding_columns


class RoleBindingStrategy(BindingStrategy):
    """Strategy of RoleBindings."""

    group_resource = "rolebindings.rbac.authorization.k8s.io"
    columns = binding_columns("RoleBinding")
    namespaced = True
    role_kinds = ("Role", "ClusterRole")
