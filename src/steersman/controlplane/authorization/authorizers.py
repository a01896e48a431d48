"""Ordered list of authorizers, as flags or a configuration file name them.

Upstream: ``AuthorizationConfiguration`` of staging/src/k8s.io/apiserver/pkg/apis/apiserver/types.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

ABAC: Final = "ABAC"
WEBHOOK: Final = "Webhook"
#: Values of ``--authorization-mode`` and types of authorizers.
TYPES: Final = (ABAC, "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", WEBHOOK)
#: Versions of the reviews that webhooks answer.
REVIEW_VERSIONS: Final = ("v1", "v1beta1")


class WebhookConfiguration(NamedTuple):
    """Configuration of a webhook."""

    kubeconfig: Path
    #: Version of reviews.
    version: str
    #: Time in the cache of answers that allow, and of others; 0: never cached.
    authorized_seconds: float
    unauthorized_seconds: float
    #: Timeout of one call.
    timeout_seconds: float
    #: Failure policy: a webhook that fails denies; otherwise it has no opinion.
    denies_on_error: bool = False
    #: Match conditions.
    expressions: tuple[str, ...] = ()


class AuthorizerConfiguration(NamedTuple):
    """Authorizer of a type."""

    type: str
    name: str
    #: Configuration of a webhook; None for other types.
    webhook: WebhookConfiguration | None = None


def authorizer_name(type_: str) -> str:
    """Return the name of an authorizer that is no webhook. Upstream: ``GetNameForAuthorizerMode``."""
    return type_.lower()
