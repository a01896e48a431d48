"""Warnings for deprecated API versions (KEP-1693)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from steersman.schema.resources import Resource


class _Deprecation(NamedTuple):
    since: str
    #: Release that removes the version; empty if none is planned.
    until: str = ""
    #: Replacement; empty if there is none.
    instead: str = ""


#: Deprecated versions that are served, by apiVersion and kind.
_DEPRECATIONS: Final = {
    ("v1", "ComponentStatus"): _Deprecation("v1.19"),
    ("v1", "Endpoints"): _Deprecation("v1.33", instead="discovery.k8s.io/v1 EndpointSlice"),
    ("coordination.k8s.io/v1alpha2", "LeaseCandidate"): _Deprecation("v1.35", "v1.38"),
    ("coordination.k8s.io/v1beta1", "LeaseCandidate"): _Deprecation("v1.36", "v1.39"),
}


def deprecation_warning(resource: Resource) -> str:
    """Return the warning of responses about a resource; empty if it is not deprecated."""
    deprecation = _DEPRECATIONS.get((resource.api_version, resource.kind))
    if deprecation is None:
        return resource.deprecation_warning
    text = f"{resource.api_version} {resource.kind} is deprecated in {deprecation.since}+"
    if deprecation.until:
        text += f", unavailable in {deprecation.until}+"
    return f"{text}; use {deprecation.instead}" if deprecation.instead else text


def removed_release(resource: Resource) -> str | None:
    """Return the release that removes a deprecated resource, e.g. ``1.39``; empty if none is planned, None if the
    resource is not deprecated.
    """
    deprecation = _DEPRECATIONS.get((resource.api_version, resource.kind))
    if deprecation is None:
        return "" if resource.deprecation_warning else None
    return deprecation.until.removeprefix("v")


def deprecation_notes(resource: Resource) -> dict[str, str]:
    """Return the audit annotations of requests for a resource."""
    if (resource.api_version, resource.kind) not in _DEPRECATIONS:
        return {}
    notes = {"k8s.io/deprecated": "true"}
    if release := removed_release(resource):
        notes["k8s.io/removed-release"] = release
    return notes
