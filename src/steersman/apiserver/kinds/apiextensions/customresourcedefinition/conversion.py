"""Validation of ``spec.conversion`` of CustomResourceDefinitions."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery import field
from steersman.apimachinery.pem import pem_blocks
from steersman.apiserver.kinds.shared.validation import check_supported
from steersman.apiserver.kinds.shared.webhook_clients import (
    REVIEW_VERSIONS,
    validate_client,
    validate_review_versions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_STRATEGIES: Final = ("None", "Webhook")
_UNREADABLE: Final = "unable to load root certificates: data does not contain any valid RSA or ECDSA certificates"


class Strictness(NamedTuple):
    """Rules that depend on the stored definition. Defaults: those of a new one."""

    #: One of the review versions must be known.
    known_review_version: bool = True
    #: The CA bundle must be readable.
    readable_bundle: bool = False


def strictness_for(before: Tree | None, *, is_established: bool) -> Strictness:
    """Return the rules for an update of a definition with the conversion ``before``.

    Unknown review versions and unreadable CA bundles are accepted if the stored definition has such.
    """
    webhook = (before or {}).get("webhook") or {}
    versions = webhook.get("conversionReviewVersions") or ()
    bundle = (webhook.get("clientConfig") or {}).get("caBundle") or ""
    return Strictness(
        known_review_version=not versions or any(version in REVIEW_VERSIONS for version in versions),
        readable_bundle=is_established and (not bundle or _is_readable(bundle)),
    )


def validate_conversion(spec: Tree, path: Path, strictness: Strictness) -> Iterator[FieldError]:
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
            bundle = client.get("caBundle") or ""
            if bundle and strictness.readable_bundle and not _is_readable(bundle):
                yield field.invalid(client_path.child("caBundle"), bundle, _UNREADABLE)
        yield from validate_review_versions(versions, versions_path, must_be_known=strictness.known_review_version)
        return
    detail = "should not be set when strategy is not set to Webhook"
    if client is not None:
        yield field.forbidden(client_path, detail)
    if versions:
        yield field.forbidden(versions_path, detail)


def _is_readable(bundle: str) -> bool:
    return any(block.type == "CERTIFICATE" for block in pem_blocks(base64.b64decode(bundle)))
