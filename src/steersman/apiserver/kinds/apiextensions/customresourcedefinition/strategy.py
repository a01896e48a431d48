"""Strategy of CustomResourceDefinitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.generic.writing import time_text
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.conditions import set_condition
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.formats import unrecognized_formats
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.validation import (
    definition_name_rule,
    validate_definition,
    validate_definition_status,
    validate_definition_update,
)

if TYPE_CHECKING:
    from steersman.apimachinery import names
    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


_PENDING: Final = (
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)


class CustomResourceDefinitionStrategy(Strategy):
    """Strategy of CustomResourceDefinitions. Status: accepted names, stored versions and conditions."""

    group_resource = "customresourcedefinitions.apiextensions.k8s.io"
    checks_preconditions_itself = True
    has_generation = True
    allow_unconditional_update = False
    is_metered = True
    finalizers_need_domains = False
    delete_finalizers = ("customresourcecleanup.apiextensions.k8s.io",)
    required_lists = frozenset({("spec", "versions")})

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        names = spec.setdefault("names", {})
        if not names.get("singular"):
            names["singular"] = names.get("kind", "").lower()
        if not names.get("listKind") and names.get("kind"):
            names["listKind"] = names["kind"] + "List"
        if spec.get("conversion") is None:
            spec["conversion"] = {"strategy": "None"}
        conversion = spec["conversion"]
        webhook = conversion.get("webhook")
        if webhook is not None and webhook.get("clientConfig") is None and not webhook.get("conversionReviewVersions"):
            del conversion["webhook"]  # lost in the conversion from v1, as upstream
        service = ((webhook or {}).get("clientConfig") or {}).get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        super().prepare_for_create(ctx, obj)
        _add_stored_version(obj)

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_update(ctx, obj, old)
        obj["status"] = {**(old.get("status") or {})}
        _add_stored_version(obj)

    def mark_deleted(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Set the condition ``Terminating``, in which the finalizing controller reports its progress.

        As upstream, neither the generation nor a grace period is set.
        """
        metadata, before = obj["metadata"], old["metadata"]
        metadata.pop("deletionGracePeriodSeconds", None)
        if "generation" in before:
            metadata["generation"] = before["generation"]
        conditions = [dict(c) for c in (obj.get("status") or {}).get("conditions") or ()]
        set_condition(conditions, "Terminating", "True", *_PENDING, now=time_text(ctx.now))
        obj["status"] = {**(obj.get("status") or {}), "conditions": conditions}

    def name_rule(self, obj: Tree) -> names.NameRule:
        return definition_name_rule(obj)

    def validate(self, ctx: RequestContext, obj: Tree) -> list[FieldError]:
        return list(validate_definition(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> list[FieldError]:
        return list(validate_definition_update(obj, old))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> list[FieldError]:
        return list(validate_definition_status(obj))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> list[str]:
        old_formats = set(unrecognized_formats(old)) if old is not None else set()
        formats = dict.fromkeys(unrecognized_formats(obj))
        return [f"unrecognized format {quote(name)}" for name in formats if name not in old_formats]


def _add_stored_version(obj: Tree) -> None:
    """Add the storage version to ``status.storedVersions``."""
    name = next((v.get("name", "") for v in obj["spec"].get("versions") or () if v.get("storage")), None)
    status = obj.setdefault("status", {})
    stored = status.get("storedVersions") or []
    if name is not None and name not in stored:
        status["storedVersions"] = [*stored, name]
