"""Validation of webhook configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.domain_paths import check_qualified_domain
from steersman.apiserver.kinds.admissionregistration.shared.matching import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    check_enum,
    validate_conditions,
    validate_rule,
)
from steersman.apiserver.kinds.shared.validation import validate_label_selector
from steersman.apiserver.kinds.shared.webhook_clients import REVIEW_VERSIONS, validate_client, validate_review_versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_WEBHOOKS: Final = field.Path("webhooks")
#: Other side effects are accepted only if the old configuration has them.
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_ALL_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")
_TIMEOUT_SECONDS: Final = (1, 30)
_SELECTORS: Final = ("namespaceSelector", "objectSelector")


def validate_webhooks(obj: Tree, old: Tree | None = None) -> Iterator[FieldError]:
    """Validate a webhook configuration. Legacy values that ``old`` has are accepted."""
    webhooks = obj.get("webhooks") or ()
    before: Sequence[Tree] = (old.get("webhooks") or ()) if old is not None else ()
    unique = len({webhook.get("name") for webhook in before}) == len(before)
    recognized = all(set(webhook.get("admissionReviewVersions") or ()) & set(REVIEW_VERSIONS) for webhook in before)
    no_effects = all(webhook.get("sideEffects") in _SIDE_EFFECTS for webhook in before)
    lax = any(
        next(validate_label_selector(webhook.get(name), _WEBHOOKS), None) is not None
        for webhook in before
        for name in _SELECTORS
    )
    seen: set[str] = set()
    for position, webhook in enumerate(webhooks):
        item_path, name = _WEBHOOKS.index(position), webhook.get("name") or ""
        effects = _SIDE_EFFECTS if no_effects else _ALL_SIDE_EFFECTS
        yield from _validate_webhook(webhook, item_path, effects, lax_selectors=lax)
        versions = webhook.get("admissionReviewVersions") or ()
        yield from validate_review_versions(
            versions,
            item_path.child("admissionReviewVersions"),
            must_be_known=recognized,
            if_empty=f"must specify one of {', '.join(REVIEW_VERSIONS)}",
        )
        if name and name in seen and unique:
            yield field.duplicate(item_path.child("name"), name)
        seen.add(name)


def _validate_webhook(
    webhook: Tree, path: Path, effects: Sequence[str], *, lax_selectors: bool
) -> Iterator[FieldError]:
    yield from check_qualified_domain(webhook.get("name") or "", path.child("name"))
    for position, rule in enumerate(webhook.get("rules") or ()):
        yield from validate_rule(rule, path.child("rules").index(position))
    yield from check_enum(webhook.get("failurePolicy"), FAILURE_POLICIES, path.child("failurePolicy"))
    yield from check_enum(webhook.get("matchPolicy"), MATCH_POLICIES, path.child("matchPolicy"))
    side_effects = webhook.get("sideEffects")
    if side_effects is None:
        yield field.required(path.child("sideEffects"), f"must specify one of {', '.join(effects)}")
    yield from check_enum(side_effects, effects, path.child("sideEffects"))
    seconds, (low, high) = webhook.get("timeoutSeconds"), _TIMEOUT_SECONDS
    if seconds is not None and not low <= seconds <= high:
        detail = f"the timeout value must be between {low} and {high} seconds"
        yield field.invalid(path.child("timeoutSeconds"), seconds, detail)
    for name in _SELECTORS:
        yield from validate_label_selector(webhook.get(name), path.child(name), allow_invalid_values=lax_selectors)
    yield from check_enum(webhook.get("reinvocationPolicy"), REINVOCATION_POLICIES, path.child("reinvocationPolicy"))
    yield from validate_client(webhook.get("clientConfig") or {}, path.child("clientConfig"))
    yield from validate_conditions(webhook.get("matchConditions") or (), path.child("matchConditions"))
