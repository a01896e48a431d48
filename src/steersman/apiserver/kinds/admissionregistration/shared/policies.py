"""Base strategies of admission policies and their bindings (KEP-3488, KEP-3962)."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.gotext import label_selector_text
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.admissionregistration.shared.webhooks import (
    default_rules,
    default_selectors,
    static_name_warnings,
)
from steersman.apiserver.kinds.shared.status_writes import keep_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.admissionregistration.shared.param_access import ParamAccess
    from steersman.apiserver.request import RequestContext


def default_match(match: Tree | None) -> None:
    """Default the match criteria of a policy or binding."""
    if match is None:
        return
    if match.get("matchPolicy") is None:
        match["matchPolicy"] = "Equivalent"
    default_selectors(match)
    default_rules(match.get("resourceRules"))
    default_rules(match.get("excludeResourceRules"))


class _AuthorizedStrategy(Strategy):
    """Strategy of objects whose parameters their writer must be able to read."""

    validation_depends_on_user = True
    is_metered = True

    def __init__(self, access: ParamAccess | None = None) -> None:
        """``access``: authorization of writers; None skips it."""
        self._access: Final = access

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return self._validate_and_authorize(ctx, obj, None)

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return self._validate_and_authorize(ctx, obj, old)

    def _validate_and_authorize(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> list[FieldError]:
        """Return validation errors, or, without any, the errors of authorization."""
        errors = list(self.validate_object(obj))
        if errors or self._access is None:
            return errors
        return list(self.authorize_writer(self._access, ctx, obj, old))

    @abstractmethod
    def validate_object(self, obj: Tree) -> Iterable[FieldError]:
        """Validate an object without authorization."""

    @abstractmethod
    def authorize_writer(
        self, access: ParamAccess, ctx: RequestContext, obj: Tree, old: Tree | None
    ) -> Iterable[FieldError]:
        """Raise 403 or yield errors if the writer may not use the object's parameters."""

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return static_name_warnings(obj)


class PolicyStrategy(_AuthorizedStrategy):
    """Base strategy of admission policies."""

    has_generation = True
    allow_unconditional_update = False
    finalizers_need_domains = False
    metadata_checks_on_update = (0, 1)
    reset_fields = {"": (("status",),), "status": (("metadata",), ("spec",))}
    #: Field of the policy's rules, which the Table counts.
    rules_field: ClassVar[str]

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("failurePolicy") is None:
            spec["failurePolicy"] = "Fail"
        default_match(spec.get("matchConstraints"))

    def authorize_writer(
        self, access: ParamAccess, ctx: RequestContext, obj: Tree, old: Tree | None
    ) -> Iterable[FieldError]:
        return access.check_policy(ctx.user, obj, old)

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        keep_metadata(obj, old)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        kind = spec.get("paramKind")
        parameters = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else columns.UNSET
        return [columns.name_of(obj), len(spec.get(self.rules_field) or ()), parameters, columns.age(obj, now)]


class PolicyBindingStrategy(_AuthorizedStrategy):
    """Base strategy of policy bindings."""

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

    def authorize_writer(
        self, access: ParamAccess, ctx: RequestContext, obj: Tree, old: Tree | None
    ) -> Iterable[FieldError]:
        return access.check_binding(ctx.user, obj, old)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        return [
            columns.name_of(obj),
            spec.get("policyName", ""),
            _reference(spec.get("paramRef")),
            columns.age(obj, now),
        ]


def _reference(reference: Tree | None) -> str:
    """Return the params of a binding. Upstream: ``printValidatingAdmissionPolicyBinding``."""
    if not reference:
        return columns.UNSET
    namespace, name, selector = reference.get("namespace"), reference.get("name"), reference.get("selector")
    if name:
        return f"{namespace}/{name}" if namespace else f"*/{name}"
    return columns.UNSET if selector is None else label_selector_text(selector)
