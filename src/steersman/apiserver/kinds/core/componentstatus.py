"""Strategy of ComponentStatuses, which are never stored: ``endpoints/component_statuses.py`` builds them per request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.generic.columns import NAME_COLUMN, name_of
from steersman.apiserver.generic.strategy import Column, Strategy

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apimachinery.trees import Tree


class ComponentStatusStrategy(Strategy):
    """Strategy of ComponentStatuses; only the columns of its Table differ from the defaults."""

    group_resource = "componentstatuses"
    columns = (
        NAME_COLUMN,
        Column("Status", description="Status of the component conditions"),
        Column("Message", description="Message of the component conditions"),
        Column("Error", description="Error of the component conditions"),
    )

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        status, message, error = "Unknown", "", ""
        for condition in obj.get("conditions") or ():
            if condition.get("type") == "Healthy":
                status = "Healthy" if condition.get("status") == "True" else "Unhealthy"
                message, error = condition.get("message", ""), condition.get("error", "")
                break
        return [name_of(obj), status, message, error]
