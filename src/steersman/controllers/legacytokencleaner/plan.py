"""Decision about a legacy token Secret (KEP-2799). Pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from steersman.client.objects import labels_of, metadata_field, name_of, namespace_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.core_v1 import ConfigMap, Pod, Secret, ServiceAccount

#: In ``kube-system``; the API server writes into it since when the use of tokens is noted.
TRACKING: Final = "kube-apiserver-legacy-service-account-token-tracking"
INVALID_SINCE: Final = "kubernetes.io/legacy-token-invalid-since"
LAST_USED: Final = "kubernetes.io/legacy-token-last-used"


@dataclass(frozen=True, slots=True)
class Invalidate:
    """Label it with the date; its token is rejected from then on."""

    day: str


@dataclass(frozen=True, slots=True)
class Delete:
    """It has been invalid for the retention period."""


def is_tracked_long_enough(tracking: ConfigMap | None, *, now: datetime, period: timedelta) -> bool:
    """Report whether uses were noted for at least the period."""
    since = _day((tracking.data or {}).get("since") if tracking else None)
    return since is not None and now.date() >= since + period


def decide(
    secret: Secret, account: ServiceAccount | None, mounted: Iterable[str], *, now: datetime, period: timedelta
) -> Invalidate | Delete | None:
    """Return the action. ``mounted``: Secrets that pods of the namespace mount. Only auto-generated Secrets are affected."""
    limit = now - period
    created = metadata_field(secret, "creationTimestamp")
    if created is None or created >= limit or metadata_field(secret, "deletionTimestamp") is not None:
        return None
    listed = [reference.name for reference in (account.secrets if account else None) or ()]
    if name_of(secret) not in listed or name_of(secret) in mounted:
        return None
    used = _day(labels_of(secret).get(LAST_USED))
    if used is not None and used >= limit.date():
        return None
    invalid = _day(labels_of(secret).get(INVALID_SINCE))
    if invalid is None:
        return Invalidate(now.date().isoformat())
    return Delete() if invalid < limit.date() else None


def mounted_secrets(pods: Iterable[Pod], namespace: str) -> set[str]:
    """Return the names of Secrets that pods of a namespace mount."""
    return {
        volume.secret.secretName
        for pod in pods
        if namespace_of(pod) == namespace and pod.spec is not None
        for volume in pod.spec.volumes or ()
        if volume.secret is not None and volume.secret.secretName
    }


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None
