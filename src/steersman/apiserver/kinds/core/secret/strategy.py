"""Strategy of Secrets."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, ClassVar

from steersman.apiserver.generic.columns import AGE_COLUMN, NAME_COLUMN, age, name_of
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.core.secret.tls_pair import tls_warnings
from steersman.apiserver.kinds.shared.config_validation import validate_secret, validate_secret_update

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class SecretStrategy(Strategy):
    """Strategy of Secrets. ``stringData`` is write-only and merged into ``data``; the type is immutable."""

    group_resource = "secrets"
    metadata_checks_on_update = (1, 1)
    reset_fields: ClassVar = {}
    field_labels: ClassVar = {"type": lambda obj: obj.get("type", "")}
    columns = (
        NAME_COLUMN,
        Column("Type", field="core.v1.Secret.type"),
        Column("Data", field="core.v1.Secret.data"),
        AGE_COLUMN,
    )

    def default(self, obj: Tree, version: str) -> None:
        texts = obj.pop("stringData", None)
        if texts:
            data = obj.get("data")
            if data is None:
                data = obj["data"] = {}
            for key, text in texts.items():
                data[key] = b64encode(text.encode()).decode("ascii")
        if not obj.get("type"):
            obj["type"] = "Opaque"

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return validate_secret(obj)

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validate_secret_update(obj, old)

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return tls_warnings(obj)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), age(obj, now)]
