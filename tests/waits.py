"""Waits for objects, by watch, and conditions to wait for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.busy_machine import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.client import Client


async def wait_until(
    client: Client,
    resource: Any,
    condition: Callable[[Any], object],
    *,
    name: str = "",
    namespace: str | None = None,
    field_selector: str = "",
    label_selector: str = "",
) -> Any:
    """Return the first object that meets the condition, of those with the name and the labels or fields."""
    field_selector = f"metadata.name={name}" if name else field_selector
    async with (
        asyncio.timeout(HANG_SECONDS),
        client.watch(
            resource, namespace=namespace, field_selector=field_selector, label_selector=label_selector
        ) as events,
    ):
        async for event in events:
            if event.type in ("ADDED", "MODIFIED") and condition(event.object):
                return event.object
    raise AssertionError("the watch has ended")


def holder_of(lease: Any) -> str:
    """Return the identity of the holder of a Lease; empty if it has none."""
    return lease["spec"].get("holderIdentity") or ""


def is_ready(obj: Any) -> bool:
    """True if the condition ``Ready`` of the object is true."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
