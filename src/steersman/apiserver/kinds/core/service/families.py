"""Defaulting and validation of ``ipFamilyPolicy``, ``ipFamilies``, ``clusterIP`` and ``clusterIPs`` of Services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.addresses import check_ip, check_ip_loosely, parse_ip
from steersman.apiserver.kinds.core.service.fields import (
    EXTERNAL_NAME,
    HEADLESS,
    PREFER_DUAL_STACK,
    REQUIRE_DUAL_STACK,
    SINGLE_STACK,
    cluster_ips,
    is_headless,
)
from steersman.apiserver.kinds.shared.allocation import IPV4, IPV6, family_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_CLUSTER_IPS: Final = _SPEC.child("clusterIPs")
_FAMILIES: Final = _SPEC.child("ipFamilies")
_POLICY: Final = _SPEC.child("ipFamilyPolicy")
_OTHER: Final = {IPV4: IPV6, IPV6: IPV4}


def fill_in_families(spec: Tree, old: Tree | None, families: Sequence[str]) -> Sequence[FieldError]:
    """Set ``ipFamilyPolicy`` and ``ipFamilies`` from the client's fields and the cluster's ``families``.

    The first of ``families`` is the cluster's default. Returns errors.
    """
    if spec.get("type") == EXTERNAL_NAME or (old is not None and _keeps_preferred_families(spec, old)):
        return ()
    if not spec.get("ipFamilyPolicy"):
        spec["ipFamilyPolicy"] = _inferred_policy(spec, old)
    errors = list(validate_cluster_ips(spec, old))
    if errors:
        return errors
    if old is not None:
        errors += _validate_reductions(spec, old)
    errors += _validate_single_stack(spec)
    errors += _infer_from_addresses(spec, families)
    if errors:
        return errors
    if is_headless(spec) and not spec.get("selector"):
        _fill_in_headless(spec, families)
        return ()
    errors += _validate_configured(spec, families)
    if not errors:
        _fill_in_families(spec, families)
    return errors


def _keeps_preferred_families(spec: Tree, old: Tree) -> bool:
    """Report whether a PreferDualStack Service keeps its families: only an update of the Service itself changes them."""
    return (
        spec.get("ipFamilyPolicy") == PREFER_DUAL_STACK
        and cluster_ips(spec) == cluster_ips(old)
        and list(spec.get("ipFamilies") or ()) == list(old.get("ipFamilies") or ())
    )


def _inferred_policy(spec: Tree, old: Tree | None) -> str:
    if old is not None and old.get("ipFamilyPolicy"):
        return str(old["ipFamilyPolicy"])
    return REQUIRE_DUAL_STACK if is_headless(spec) and not spec.get("selector") else SINGLE_STACK


def _validate_reductions(spec: Tree, old: Tree) -> list[FieldError]:
    """Yield errors for removed addresses or families; removing one requires the policy ``SingleStack``."""
    errors: list[FieldError] = []
    for name, singular in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        before, after = list(old.get(name) or ()), list(spec.get(name) or ())
        if spec["ipFamilyPolicy"] == SINGLE_STACK:
            if before == after and len(after) > 1:
                spec[name] = after[:1]
        elif after and len(after) < len(before) and after == before[: len(after)]:
            detail = f"must be 'SingleStack' to release the secondary {singular}"
            errors.append(field.invalid(_POLICY, spec["ipFamilyPolicy"], detail))
    return errors


def _validate_single_stack(spec: Tree) -> list[FieldError]:
    if spec["ipFamilyPolicy"] != SINGLE_STACK:
        return []
    return [
        field.invalid(
            _POLICY,
            SINGLE_STACK,
            f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {plural} are specified",
        )
        for name, plural in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
        if len(spec.get(name) or ()) == 2
    ]


def _infer_from_addresses(spec: Tree, families: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    ips = cluster_ips(spec)
    if ips[:1] == [HEADLESS]:
        return errors
    inferred = list(spec.get("ipFamilies") or ())
    for position, text in enumerate(ips[len(inferred) :], start=len(inferred)):
        ip = parse_ip(text)
        if ip is None:
            continue
        family = family_of(ip)
        if family in families:
            inferred.append(family)
        else:
            errors.append(
                field.invalid(_CLUSTER_IPS.index(position), ips, f"{family} is not configured on this cluster")
            )
    if inferred:
        spec["ipFamilies"] = inferred
    return errors


def _fill_in_headless(spec: Tree, families: Sequence[str]) -> None:
    """Set the families of a headless Service without selector, whose endpoints may have families that the cluster
    lacks.
    """
    chosen = list(spec.get("ipFamilies") or families[:1])
    if len(chosen) < 2 and spec["ipFamilyPolicy"] != SINGLE_STACK:
        chosen.append(_OTHER[chosen[0]])
    spec["ipFamilies"] = chosen


def _validate_configured(spec: Tree, families: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec["ipFamilyPolicy"] == REQUIRE_DUAL_STACK and len(families) < 2:
        errors.append(
            field.invalid(_POLICY, REQUIRE_DUAL_STACK, "this cluster is not configured for dual-stack services")
        )
    errors += [
        field.invalid(_FAMILIES.index(position), family, "not configured on this cluster")
        for position, family in enumerate(spec.get("ipFamilies") or ())
        if family not in families
    ]
    return errors


def _fill_in_families(spec: Tree, families: Sequence[str]) -> None:
    chosen = list(spec.get("ipFamilies") or families[:1])
    if spec["ipFamilyPolicy"] != SINGLE_STACK and len(chosen) == 1 and len(families) == 2:
        chosen.append(_OTHER[chosen[0]])
    spec["ipFamilies"] = chosen


# -- validation -------------------------------------------------------------------------------------------------------


def validate_cluster_ips(spec: Tree, old: Tree | None) -> list[FieldError]:
    """Validate cluster IPs, families and policy together. ExternalName Services are skipped."""
    if spec.get("type") == EXTERNAL_NAME:
        return []
    errors = _validate_singular_and_plural(spec)
    errors += _validate_family_values(spec)
    ips = cluster_ips(spec)
    wrong = _validate_addresses(ips, set(cluster_ips(old)) if old is not None else set())
    errors += wrong
    if len(ips) > 2:
        errors.append(field.invalid(_CLUSTER_IPS, ips, "may only hold up to 2 values"))
    if wrong:
        return errors
    if len(ips) > 1 and len({family_of(ip) for text in ips if (ip := parse_ip(text)) is not None}) < 2:
        errors.append(field.invalid(_CLUSTER_IPS, ips, "may specify no more than one IP for each IP family"))
    if not is_headless(spec):
        errors += _families_of_addresses(ips, spec.get("ipFamilies") or ())
    return errors


def _validate_singular_and_plural(spec: Tree) -> list[FieldError]:
    single, ips = spec.get("clusterIP"), cluster_ips(spec)
    if not single:
        if ips:
            return [field.invalid(_CLUSTER_IPS, ips, "must be empty when `clusterIP` is not specified")]
    elif not ips:
        return [field.required(_CLUSTER_IPS)]
    elif ips[0] != single:
        return [field.invalid(_CLUSTER_IPS, ips, "first value must match `clusterIP`")]
    return []


def _validate_family_values(spec: Tree) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in _OTHER:
            errors.append(field.not_supported(_FAMILIES.index(position), family, (IPV4, IPV6)))
        if family in seen:
            errors.append(field.duplicate(_FAMILIES.index(position), family))
        seen.add(family)
    policy: Any = spec.get("ipFamilyPolicy")
    supported = (PREFER_DUAL_STACK, REQUIRE_DUAL_STACK, SINGLE_STACK)
    if policy is not None and policy not in supported:
        errors.append(field.not_supported(_POLICY, policy, supported))
    return errors


def _validate_addresses(ips: list[str], before: set[str]) -> list[FieldError]:
    """Yield errors for invalid addresses; addresses of the old object need only pass the legacy parser."""
    errors: list[FieldError] = []
    for position, text in enumerate(ips):
        if position == 0 and text == HEADLESS:
            if len(ips) > 1:
                errors.append(field.invalid(_CLUSTER_IPS, ips, "'None' must be the first and only value"))
            continue
        faults = check_ip_loosely(text) if text in before else check_ip(text)
        errors += [field.invalid(_CLUSTER_IPS.index(position), text, fault) for fault in faults]
    return errors


def _families_of_addresses(ips: list[str], families: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, (text, family) in enumerate(zip(ips, families, strict=False)):
        ip = parse_ip(text)
        if ip is not None and family in _OTHER and family_of(ip) != family:
            detail = f"expected an {family} value as indicated by `ipFamilies[{position}]`"
            errors.append(field.invalid(_CLUSTER_IPS.index(position), text, detail))
    return errors


def validate_cluster_ips_update(spec: Tree, old: Tree) -> list[FieldError]:
    """Validate an update: first address and family are immutable, the second may be added, or removed with
    ``SingleStack``.
    """
    if EXTERNAL_NAME in (spec.get("type"), old.get("type")):
        return []
    ips, before = cluster_ips(spec), cluster_ips(old)
    errors: list[FieldError] = []
    if not (is_headless(spec) and is_headless(old)):
        errors += _validate_changes(
            _CLUSTER_IPS, ips, before, spec, field_name="clusterIP", shown=ips, is_unset=not ips
        )
    if is_headless(spec) or is_headless(old):
        return errors
    families, families_before = list(spec.get("ipFamilies") or ()), list(old.get("ipFamilies") or ())
    # upstream reports the addresses as the value of the error about the number of families
    shown = families if len(families) == len(families_before) else ips
    return errors + _validate_changes(
        _FAMILIES, families, families_before, spec, field_name="ipFamily", shown=shown, is_unset=not ips
    )


def _validate_changes(
    path: field.Path,
    after: list[str],
    before: list[str],
    spec: Tree,
    *,
    field_name: str,
    shown: list[str],
    is_unset: bool,
) -> list[FieldError]:
    first = path.index(0)
    if len(after) == len(before):
        return [
            field.invalid(first if field_name == "ipFamily" else path.index(position), shown, "may not change once set")
            for position, value in enumerate(before)
            if value != after[position]
        ]
    errors: list[FieldError] = []
    if len(after) < len(before) and is_unset:
        errors.append(field.invalid(first, after, f"primary {field_name} can not be unset"))
    if before and after and after[0] != before[0]:
        errors.append(field.invalid(first, shown, "may not change once set"))
    if len(after) == 1 < len(before) and spec.get("ipFamilyPolicy") != SINGLE_STACK:
        detail = f"must be set to 'SingleStack' when releasing the secondary {field_name}"
        errors.append(field.invalid(_POLICY, spec.get("ipFamilyPolicy"), detail))
    return errors
