"""Roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery import names
from steersman.apiserver.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence


class RoleStrategy(Strategy):
    """What may be done within one namespace."""

    group_resource = "roles.rbac.authorization.k8s.io"
    allow_create_on_update = True

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        return names.name_is_path_segment(name, prefix=prefix)
