"""Strategy of ResourceClaimTemplates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.kinds.resource.shared.admin_access import check_requests, no_namespaces
from steersman.apiserver.kinds.resource.shared.claim_validation import validate_template
from steersman.apiserver.kinds.resource.shared.requests import default_claim_spec
from steersman.apiserver.kinds.shared.validation import check_unchanged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.resource.shared.admin_access import NamespaceLabels
    from steersman.apiserver.request import RequestContext


class ResourceClaimTemplateStrategy(Strategy):
    """Strategy of ResourceClaimTemplates."""

    group_resource = "resourceclaimtemplates.resource.k8s.io"
    returns_deleted_object = True
    metadata_checks_on_update = (1, 1)
    is_metered = True
    columns = (columns.NAME_COLUMN, columns.AGE_COLUMN)

    def __init__(self, labels_of: NamespaceLabels = no_namespaces) -> None:
        """``labels_of``: returns the labels of a namespace, which permit admin access."""
        self._labels_of = labels_of

    def default(self, obj: Tree, version: str) -> None:
        default_claim_spec((obj.get("spec") or {}).get("spec"))

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        spec = (obj.get("spec") or {}).get("spec") or {}
        return [*check_requests(spec, ctx.namespace, self._labels_of), *validate_template(obj)]

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        path = Path("spec")
        changes = list(check_unchanged(obj.get("spec"), old.get("spec"), path, go_type="ResourceClaimTemplateSpec"))
        return [*validate_template(obj), *changes] if changes else []

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), columns.age(obj, now)]
