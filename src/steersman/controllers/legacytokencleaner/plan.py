"""Decision about a legacy token Secret (KEP-2799). Pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.kinds.shared.podspec.secrets import secret_names
from steersman.client.objects import annotations_of, labels_of, metadata_field, name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.core_v1 import ConfigMap, Pod, Secret, ServiceAccount

#: Config map in ``kube-system`` in which the API server records the start of tracking.
TRACKING: Final = "kube-apiserver-legacy-service-account-token-tracking"
INVALID_SINCE: Final = "kubernetes.io/legacy-token-invalid-since"
#: Annotation of a token Secret with the UID of its account.
UID: Final = "kubernetes.io/service-account.uid"
LAST_USED: Final = "kubernetes.io/legacy-token-last-used"


@dataclass(frozen=True, slots=True)
class Invalidate:
    """Label the Secret with the date, which invalidates its token."""

    day: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the Secret: it has been invalid for the retention period."""


def is_tracked_long_enough(tracking: ConfigMap | None, *, now: datetime, period: timedelta) -> bool:
    """Report whether uses were tracked for at least the period, from the day after tracking began."""
    since = _day((tracking.data or {}).get("since") if tracking else None)
    if since is None:
        return False
    return now >= datetime.combine(since + timedelta(days=1), time(), tzinfo=UTC) + period


def account_of(secret: Secret, account: ServiceAccount | None) -> ServiceAccount | None:
    """Return the account of the name in the Secret, unless the Secret names another UID."""
    uid = annotations_of(secret).get(UID, "")
    return account if account is not None and uid in ("", uid_of(account)) else None


def decide(
    secret: Secret, account: ServiceAccount | None, mounted: Iterable[str], *, now: datetime, period: timedelta
) -> Invalidate | Delete | None:
    """Return the action. ``mounted``: Secrets that pods of the namespace use. Only auto-generated Secrets are affected.

    A token whose last use is unknown, because its label is no date, is kept.
    """
    limit = now - period
    created = metadata_field(secret, "creationTimestamp")
    if created is None or created >= limit or metadata_field(secret, "deletionTimestamp") is not None:
        return None
    listed = [reference.name for reference in (account.secrets if account else None) or ()]
    if name_of(secret) not in listed or name_of(secret) in mounted:
        return None
    last_used = labels_of(secret).get(LAST_USED)
    if last_used is not None:
        used = _day(last_used)
        if used is None or used >= limit.date():
            return None
    invalid = _day(labels_of(secret).get(INVALID_SINCE))
    if invalid is None:
        return Invalidate(now.date().isoformat())
    return Delete() if invalid < limit.date() else None


def used_secrets(pods: Iterable[Pod], namespace: str) -> set[str]:
    """Return the names of Secrets that pods of a namespace refer to."""
    return {
        name
        for pod in pods
        if namespace_of(pod) == namespace and pod.spec is not None
        for name in secret_names(msgspec.to_builtins(pod.spec))
    }


def _day(text: str | None) -> date | None:
    """Parse ``YYYY-MM-DD``; None for other texts."""
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError:
        return None
    return day if day is not None and day.isoformat() == text else None
