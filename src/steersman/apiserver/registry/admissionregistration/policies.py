"""What admission policies and their bindings have in common (KEP-3488, KEP-3962)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.admissionregistration.webhooks import default_rules, default_selectors
from steersman.apiserver.registry.status_writes import keep_metadata
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apiserver.request import RequestContext


def default_match(match: Tree | None) -> None:
    """Fill in what a policy or binding matches."""
    if match is None:
        return
    if match.get("matchPolicy") is None:
        match["matchPolicy"] = "Equivalent"
    default_selectors(match)
    default_rules(match.get("resourceRules"))
    default_rules(match.get("excludeResourceRules"))


def default_parameters(reference: Tree | None) -> None:
    """Missing parameters deny unless the reference says otherwise."""
    if reference is not None and reference.get("parameterNotFoundAction") is None:
        reference["parameterNotFoundAction"] = "Deny"


class PolicyStrategy(Strategy):
    """A policy: what it matches and what it does, in CEL."""

    has_generation = True
    allow_unconditional_update = False
    finalizers_need_domains = False
    metadata_checks_on_update = (0, 1)
    reset_fields = {"": (("status",),), "status": (("metadata",), ("spec",))}
    #: Where its rules lie, which the Table counts.
    rules_field: ClassVar[str]

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("failurePolicy") is None:
            spec["failurePolicy"] = "Fail"
        default_match(spec.get("matchConstraints"))

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        keep_metadata(obj, old)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        kind = spec.get("paramKind")
        parameters = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else columns.UNSET
        return [columns.name_of(obj), len(spec.get(self.rules_field) or ()), parameters, columns.age(obj, now)]


class PolicyBindingStrategy(Strategy):
    """A binding: where a policy applies, with which parameters."""

    has_generation = True
    allow_unconditional_update = False
    finalizers_need_domains = False
    metadata_checks_on_update = (0, 1)
    columns = (
        columns.NAME_COLUMN,
        Column(
            "PolicyName", description="PolicyName indicates the policy definition which the policy binding binded to"
        ),
        Column("ParamRef", description="ParamRef indicates the param resource which sets the configration param"),
        columns.AGE_COLUMN,
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        default_match(spec.get("matchResources"))
        default_parameters(spec.get("paramRef"))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        return [
            columns.name_of(obj),
            spec.get("policyName", ""),
            _reference(spec.get("paramRef")),
            columns.age(obj, now),
        ]


def _reference(reference: Tree | None) -> str:
    if not reference:
        return columns.UNSET
    namespace, name = reference.get("namespace"), reference.get("name")
    if name:
        return f"{namespace}/{name}" if namespace else f"*/{name}"
    selector = columns.selector_text(reference.get("selector")) if reference.get("selector") is not None else ""
    return f"{namespace or '*'}/{selector}" if selector else columns.UNSET
