"""Mandatory FlowSchemas and PriorityLevelConfigurations, whose specs are fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

EXEMPT: Final = "exempt"
CATCH_ALL: Final = "catch-all"


def _everything(*groups: str) -> list[Tree]:
    return [
        {
            "subjects": [{"kind": "Group", "group": {"name": name}} for name in groups],
            "resourceRules": [
                {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
            ],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }
    ]


FLOW_SCHEMAS: Final[dict[str, Tree]] = {
    EXEMPT: {
        "priorityLevelConfiguration": {"name": EXEMPT},
        "matchingPrecedence": 1,
        "rules": _everything("system:masters"),
    },
    CATCH_ALL: {
        "priorityLevelConfiguration": {"name": CATCH_ALL},
        "matchingPrecedence": 10_000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": _everything("system:unauthenticated", "system:authenticated"),
    },
}
#: Specs of the mandatory priority levels, by name.
PRIORITY_LEVELS: Final[dict[str, Tree]] = {
    EXEMPT: {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
    CATCH_ALL: {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
    },
}
