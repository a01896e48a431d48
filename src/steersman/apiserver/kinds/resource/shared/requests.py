"""Defaults of device requests, which claims and claim templates share (KEP-4381)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


def default_claim_spec(spec: Tree | None) -> None:
    """Each request asks for exactly one device unless it says otherwise."""
    for request in ((spec or {}).get("devices") or {}).get("requests") or ():
        if request.get("exactly") is not None:
            _default_request(request["exactly"])
        for alternative in request.get("firstAvailable") or ():
            _default_request(alternative)


def _default_request(request: Tree) -> None:
    if not request.get("allocationMode"):
        request["allocationMode"] = "ExactCount"
    if request["allocationMode"] == "ExactCount" and not request.get("count"):
        request["count"] = 1
    for toleration in request.get("tolerations") or ():
        if not toleration.get("operator"):
            toleration["operator"] = "Equal"
