"""Base strategy of validating and mutating webhook configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.admissionregistration.shared.webhook_validation import validate_webhooks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_STATIC_SUFFIX: Final = ".static.k8s.io"


def default_rules(rules: Any) -> None:
    """Default ``scope`` of rules to ``*``."""
    for rule in rules or ():
        if rule.get("scope") is None:
            rule["scope"] = "*"


def static_name_warnings(obj: Tree) -> Sequence[str]:
    """Yield a warning if the name has the suffix of manifest-based configurations (KEP-5793)."""
    if not (obj["metadata"].get("name") or "").endswith(_STATIC_SUFFIX):
        return ()
    condition = (
        "for static manifest-based configurations when the ManifestBasedAdmissionControlConfig feature gate is enabled"
    )
    return (f'metadata.name: names ending with "{_STATIC_SUFFIX}" will be reserved {condition}',)


def default_selectors(matcher: Tree) -> None:
    """Default absent selectors to empty ones, which match everything."""
    for name in ("namespaceSelector", "objectSelector"):
        if matcher.get(name) is None:
            matcher[name] = {}


class WebhookConfigurationStrategy(Strategy):
    """Base strategy of webhook configurations; generation follows the webhooks."""

    has_generation = True
    is_metered = True
    allow_unconditional_update = False
    finalizers_need_domains = False
    metadata_checks_on_update = (0, 1)
    columns = (
        columns.NAME_COLUMN,
        Column(
            "Webhooks",
            type="integer",
            description="Webhooks indicates the number of webhooks registered in this configuration",
        ),
        columns.AGE_COLUMN,
    )
    reset_fields = {}

    def default(self, obj: Tree, version: str) -> None:
        for webhook in obj.get("webhooks") or ():
            self.default_webhook(webhook)

    def default_webhook(self, webhook: Tree) -> None:
        """Default one webhook."""
        if webhook.get("failurePolicy") is None:
            webhook["failurePolicy"] = "Fail"
        if webhook.get("matchPolicy") is None:
            webhook["matchPolicy"] = "Equivalent"
        default_selectors(webhook)
        if webhook.get("timeoutSeconds") is None:
            webhook["timeoutSeconds"] = 10
        service = (webhook.get("clientConfig") or {}).get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443
        default_rules(webhook.get("rules"))

    def generation_view(self, obj: Tree) -> Any:
        return obj.get("webhooks") or None

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_webhooks(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_webhooks(obj, old))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return static_name_warnings(obj)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), len(obj.get("webhooks") or ()), columns.age(obj, now)]
