"""Validation of ``spec.conversion`` of CustomResourceDefinitions."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.pem import pem_blocks
from steersman.apiserver.kinds.shared.validation import check_supported
from steersman.apiserver.kinds.shared.webhook_clients import validate_client, validate_review_versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_STRATEGIES: Final = ("None", "Webhook")


def validate_conversion(spec: Tree, path: Path) -> Iterator[FieldError]:
    """Validate the conversion strategy: None, or Webhook with its client configuration."""
    conversion = spec.get("conversion")
    if conversion is None:
        return
    strategy = conversion.get("strategy")
    if strategy != "None" and spec.get("preserveUnknownFields"):
        yield field.invalid(path.child("strategy"), strategy, "must be None if spec.preserveUnknownFields is true")
    yield from check_supported(strategy, _STRATEGIES, path.child("strategy"))
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    client_path, versions_path = path.child("webhookClientConfig"), path.child("conversionReviewVersions")
    if strategy == "Webhook":
        if client is None:
            yield field.required(client_path, "required when strategy is set to Webhook")
        else:
            yield from validate_client(client, client_path)
        yield from validate_review_versions(versions, versions_path)
        return
    detail = "should not be set when strategy is not set to Webhook"
    if client is not None:
        yield field.forbidden(client_path, detail)
    if versions:
        yield field.forbidden(versions_path, detail)


def validate_ca_bundle(conversion: Tree | None, before: Tree | None, path: Path) -> Iterator[FieldError]:
    """Reject a change of an established definition's CA bundle from valid to invalid."""
    bundle, old = _ca_bundle(conversion), _ca_bundle(before)
    if bundle and not _is_readable(bundle) and (not old or _is_readable(old)):
        detail = "unable to load root certificates: data does not contain any valid RSA or ECDSA certificates"
        yield field.invalid(path.child("webhookClientConfig", "caBundle"), bundle, detail)


def _ca_bundle(conversion: Tree | None) -> str:
    webhook = (conversion or {}).get("webhook") or {}
    return (webhook.get("clientConfig") or {}).get("caBundle") or ""


def _is_readable(bundle: str) -> bool:
    return any(block.type == "CERTIFICATE" for block in pem_blocks(base64.b64decode(bundle)))
