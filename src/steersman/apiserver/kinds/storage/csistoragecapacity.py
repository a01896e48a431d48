"""Strategy of CSIStorageCapacities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery import field, names
from steersman.apimachinery.field import Path
from steersman.apimachinery.quantity import Quantity, parse
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.kinds.shared.deprecated_labels import selector_warnings
from steersman.apiserver.kinds.shared.validation import (
    IS_NEGATIVE,
    check_all,
    check_unchanged,
    validate_label_selector,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class CSIStorageCapacityStrategy(Strategy):
    """Strategy of CSIStorageCapacities. Topology and storage class are immutable."""

    group_resource = "csistoragecapacities.storage.k8s.io"
    allow_unconditional_update = False
    metadata_checks_on_update = (1, 1)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(_validate(obj, None))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return [
            *_validate(obj, old),
            *check_unchanged(obj.get("nodeTopology"), old.get("nodeTopology"), Path("nodeTopology")),
            *check_unchanged(obj.get("storageClassName"), old.get("storageClassName"), Path("storageClassName")),
        ]

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return list(selector_warnings(obj.get("nodeTopology"), "nodeTopology"))


def _validate(obj: Tree, old: Tree | None) -> Iterator[FieldError]:
    path = Path("nodeTopology")
    lax = old is not None and next(validate_label_selector(old.get("nodeTopology"), path), None) is not None
    yield from validate_label_selector(obj.get("nodeTopology"), path, allow_invalid_values=lax)
    name = obj.get("storageClassName") or ""
    yield from check_all(Path("storageClassName"), name, names.check_dns1123_subdomain(name))
    amount = obj.get("capacity")
    if amount is not None and parse(amount) < Quantity(0):
        yield field.invalid("capacity", amount, IS_NEGATIVE)
