"""ClusterRoles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery import names
from steersman.apiserver.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence


class ClusterRoleStrategy(Strategy):
    """What may be done everywhere, or (through a RoleBinding) within a namespace."""

    group_resource = "clusterroles.rbac.authorization.k8s.io"
    allow_create_on_update = True

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        return names.name_is_path_segment(name, prefix=prefix)
