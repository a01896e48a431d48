"""ConfigMap ``kube-apiserver-legacy-service-account-token-tracking``: start of the tracking of legacy tokens, on which their
cleaner depends. Upstream: ``pkg/controlplane/controller/legacytokentracking/controller.go``.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import is_already_exists, is_conflict, is_not_found
from steersman.client.errors import ApiError
from steersman.client.resource_types import tree

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.client import Client

CONFIG_MAPS: Final = tree("v1", "ConfigMap")
NAMESPACE: Final = "kube-system"
NAME: Final = "kube-apiserver-legacy-service-account-token-tracking"

_SINCE: Final = "since"
_RACES_MAX: Final = 5


def plan_tracking(existing: Tree | None, today: date) -> Tree | None:
    """Return the ConfigMap to write; None if ``existing`` holds a date already."""
    data = (existing or {}).get("data") or {}
    if existing is not None and _is_date(data.get(_SINCE)):
        return None
    metadata = {"namespace": NAMESPACE, "name": NAME} if existing is None else existing["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {**data, _SINCE: today.isoformat()},
    }


async def track(client: Client, today: date) -> None:
    """Create or repair the ConfigMap. Raises ``ApiError``, ``ClientError``."""
    for _ in range(_RACES_MAX):
        try:
            existing: Tree | None = await client.get(CONFIG_MAPS, NAME, namespace=NAMESPACE)
        except ApiError as error:
            if not is_not_found(error):
                raise
            existing = None
        desired = plan_tracking(existing, today)
        if desired is None:
            return
        try:
            await (client.create(desired) if existing is None else client.update(desired))
        except ApiError as error:
            if not (is_conflict(error) or is_already_exists(error)):  # another server wrote it meanwhile
                raise
        else:
            return


def _is_date(text: str | None) -> bool:
    try:
        return text is not None and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
