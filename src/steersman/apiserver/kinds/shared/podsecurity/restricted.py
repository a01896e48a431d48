"""Checks of the level restricted, which requires hardening. A check with the name of a baseline check overrides it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.kinds.shared.podsecurity.baseline import bad_proc_mount, bad_seccomp
from steersman.apiserver.kinds.shared.podsecurity.violations import (
    Violation,
    containers,
    context_of,
    in_user_namespace,
    named,
    names_where,
    plural,
    quoted,
    setters,
)

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

_VOLUMES: Final = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)


def _is_exempt(spec: Tree, version: int) -> bool:
    """Report whether the check skips Windows Pods, since the version that considers ``spec.os``."""
    return version >= 25 and (spec.get("os") or {}).get("name") == "windows"


def privilege_escalation(_: dict[str, str], spec: Tree, version: int) -> Violation | None:
    """Check ``allowPrivilegeEscalation``: false in every container."""
    if version < 8 or _is_exempt(spec, version):
        return None
    bad = names_where(spec, lambda container: context_of(container).get("allowPrivilegeEscalation") is not False)
    if not bad:
        return None
    detail = f"{named(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def capabilities(_: dict[str, str], spec: Tree, version: int) -> Violation | None:
    """Check capabilities: every container drops ALL and adds only NET_BIND_SERVICE."""
    if version < 22 or _is_exempt(spec, version):
        return None

    def capabilities_of(container: Tree, kind: str) -> set[str]:
        return set((context_of(container).get("capabilities") or {}).get(kind) or ())

    def added(container: Tree) -> set[str]:
        return capabilities_of(container, "add") - {"NET_BIND_SERVICE"}

    keeping = names_where(spec, lambda container: "ALL" not in capabilities_of(container, "drop"))
    adding = names_where(spec, added)
    details = [f'{named(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    if adding:
        listed = quoted(sorted(set().union(*map(added, containers(spec)))))
        details.append(f"{named(adding)} must not include {listed} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def proc_mount(_: dict[str, str], spec: Tree, version: int) -> Violation | None:
    """Check ``procMount``: default only, also in a user namespace."""
    return bad_proc_mount(spec) if version >= 35 else None


def volumes(_: dict[str, str], spec: Tree, __: int) -> Violation | None:
    """Check volume types: no host or network storage."""
    bad: dict[str, str] = {}
    for volume in spec.get("volumes") or ():
        kinds = [name for name, source in volume.items() if name != "name" and source is not None]
        if not _VOLUMES.intersection(kinds):
            bad[volume.get("name", "")] = kinds[0] if kinds else "unknown"
    if not bad:
        return None
    types = sorted(set(bad.values()))
    word, use = plural("volume", "volumes", len(bad)), plural("uses", "use", len(bad))
    kind = plural("type", "types", len(types))
    detail = f"{word} {quoted(bad)} {use} restricted volume {kind} {quoted(types)}"
    return Violation("restricted volume types", detail)


def run_as_non_root(_: dict[str, str], spec: Tree, __: int) -> Violation | None:
    """Check ``runAsNonRoot``: true for the Pod or every container, except in a user namespace."""
    if in_user_namespace(spec):
        return None
    reason = "runAsNonRoot != true"
    subjects = setters(spec, lambda context: context.get("runAsNonRoot") is False)
    if subjects:
        return Violation(reason, f"{subjects} must not set securityContext.runAsNonRoot=false")
    return _lacking(spec, "runAsNonRoot", reason, "runAsNonRoot=true")


def run_as_user(_: dict[str, str], spec: Tree, version: int) -> Violation | None:
    """Check ``runAsUser``: not 0, except in a user namespace."""
    if version < 23 or in_user_namespace(spec):
        return None
    subjects = setters(spec, lambda context: context.get("runAsUser") == 0)
    return Violation("runAsUser=0", f"{subjects} must not set runAsUser=0") if subjects else None


def seccomp(_: dict[str, str], spec: Tree, version: int) -> Violation | None:
    """Check that the Pod or every container sets a seccomp profile."""
    if version < 19 or _is_exempt(spec, version):
        return None
    wrong = bad_seccomp(spec)
    if wrong is not None:
        return wrong
    needed = 'seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return _lacking(spec, "seccompProfile", "seccompProfile", needed)


def _lacking(spec: Tree, name: str, reason: str, needed: str) -> Violation | None:
    """Return a violation if neither the Pod nor all containers set the field."""

    def has(holder: Tree) -> Any:
        return context_of(holder).get(name) is not None

    if has(spec):
        return None
    bad = names_where(spec, lambda container: not has(container))
    return Violation(reason, f"pod or {named(bad)} must set securityContext.{needed}") if bad else None
