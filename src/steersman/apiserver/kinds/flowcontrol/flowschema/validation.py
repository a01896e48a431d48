"""Validation of FlowSchemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.flowcontrol.shared.mandatory import EXEMPT, FLOW_SCHEMAS
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.validation import check_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_CONDITIONS: Final = field.Path("status", "conditions")
_PRECEDENCE_MAX: Final = 10_000
_DISTINGUISHERS: Final = ("ByNamespace", "ByUser")
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
#: Subject kind → field of its source, in the order of errors.
_SUBJECTS: Final = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_NAMESPACE_INTRO: Final = "each member of this list must be '*' or a DNS-1123 label; "


def validate_flow_schema(obj: Tree) -> Iterator[FieldError]:
    """Validate a FlowSchema."""
    name, spec = obj["metadata"].get("name") or "", obj.get("spec") or {}
    precedence, path = spec.get("matchingPrecedence") or 0, _SPEC.child("matchingPrecedence")
    if precedence <= 0:
        yield field.invalid(path, precedence, "must be a positive value")
    if precedence > _PRECEDENCE_MAX:
        yield field.invalid(path, precedence, f"must not be greater than {_PRECEDENCE_MAX}")
    if precedence == 1 and name != EXEMPT:
        yield field.invalid(path, 1, f"only the schema named '{EXEMPT}' may have matchingPrecedence 1")
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _DISTINGUISHERS:
        shown = go_form("FlowDistinguisherMethod", method)
        yield field.not_supported(_SPEC.child("distinguisherMethod", "type"), shown, _DISTINGUISHERS)
    level, path = (
        (spec.get("priorityLevelConfiguration") or {}).get("name") or "",
        _SPEC.child("priorityLevelConfiguration", "name"),
    )
    if not level:
        yield field.required(path, "must reference a priority level")
    else:
        yield from check_all(path, level, names.check_dns1123_subdomain(level))
    for position, rule in enumerate(spec.get("rules") or ()):
        yield from _validate_rule(rule, _SPEC.child("rules").index(position))
    fixed = FLOW_SCHEMAS.get(name)
    if fixed is not None and fixed != spec:
        yield field.invalid(_SPEC, go_form("FlowSchemaSpec", spec), f"spec of '{name}' must equal the fixed value")
    yield from validate_flow_conditions(obj)


def validate_flow_conditions(obj: Tree) -> Iterator[FieldError]:
    """Validate the conditions of the status, which have unique types."""
    seen: set[str] = set()
    for position, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        type_path, type_ = _CONDITIONS.index(position).child("type"), condition.get("type") or ""
        if type_ in seen:
            yield field.duplicate(type_path, type_)
        seen.add(type_)
        if not type_:
            yield field.required(type_path, "must not be empty")


def _validate_rule(rule: Tree, path: Path) -> Iterator[FieldError]:
    subjects = rule.get("subjects") or ()
    if not subjects:
        yield field.required(path.child("subjects"), "subjects must contain at least one value")
    for position, subject in enumerate(subjects):
        yield from _validate_subject(subject, path.child("subjects").index(position))
    resource_rules, url_rules = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not resource_rules and not url_rules:
        yield field.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for position, part in enumerate(resource_rules):
        yield from _validate_resources(part, path.child("resourceRules").index(position))
    for position, part in enumerate(url_rules):
        yield from _validate_urls(part, path.child("nonResourceRules").index(position))


def _validate_subject(subject: Tree, path: Path) -> Iterator[FieldError]:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        yield field.not_supported(path.child("kind"), kind, sorted(_SUBJECTS))
        return
    for other in sorted(_SUBJECTS, key=lambda one: one != kind):
        place = _SUBJECTS[other]
        member, field_path = subject.get(place), path.child(place)
        if other != kind:
            if member is not None:
                yield field.forbidden(field_path, f"{place} is forbidden when subject kind is not '{other}'")
        elif member is None:
            yield field.required(field_path, f"{place} is required when subject kind is '{kind}'")
        else:
            yield from _validate_account(member, field_path, is_account=kind == "ServiceAccount")


def _validate_account(account: Tree, path: Path, *, is_account: bool) -> Iterator[FieldError]:
    name = account.get("name") or ""
    if not name:
        yield field.required(path.child("name"))
    elif is_account and name != "*":
        yield from check_all(path.child("name"), name, names.check_dns1123_subdomain(name))
    if not is_account:
        return
    namespace = account.get("namespace") or ""
    if not namespace:
        yield field.required(path.child("namespace"), "must specify namespace for service account")
    else:
        yield from check_all(path.child("namespace"), namespace, names.check_dns1123_label(namespace))


def _validate_wildcard_alone(values: Sequence[str], path: Path, plural: str) -> Iterator[FieldError]:
    if len(values) > 1 and "*" in values:
        yield field.invalid(path, values, f"if '*' is present, must not specify other {plural}")


def _check_verbs(rule: Tree, path: Path) -> Iterator[FieldError]:
    verbs = rule.get("verbs") or ()
    if not verbs:
        yield field.required(path, "verbs must contain at least one value")
    elif "*" in verbs:
        yield from _validate_wildcard_alone(verbs, path, "verbs")
    elif not set(verbs) <= set(_VERBS):
        yield field.not_supported(path, verbs, _VERBS)


def _validate_resources(rule: Tree, path: Path) -> Iterator[FieldError]:
    yield from _check_verbs(rule, path.child("verbs"))
    for key, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values = rule.get(key) or ()
        if not values:
            yield field.required(path.child(key), f"resource rules must supply at least one {one}")
        yield from _validate_wildcard_alone(values, path.child(key), many)
    namespaces, namespaces_path = rule.get("namespaces") or (), path.child("namespaces")
    if not namespaces and not rule.get("clusterScope"):
        detail = "resource rules that are not cluster scoped must supply at least one namespace"
        yield field.required(namespaces_path, detail)
    elif "*" in namespaces:
        yield from _validate_wildcard_alone(namespaces, namespaces_path, "namespaces")
    else:
        for position, namespace in enumerate(namespaces):
            faults = [_NAMESPACE_INTRO + fault for fault in names.check_dns1123_label(namespace)]
            yield from check_all(namespaces_path.index(position), namespace, faults)


def _validate_urls(rule: Tree, path: Path) -> Iterator[FieldError]:
    yield from _check_verbs(rule, path.child("verbs"))
    urls, non_resource_urls_path = rule.get("nonResourceURLs") or (), path.child("nonResourceURLs")
    if not urls:
        yield field.required(non_resource_urls_path, "nonResourceURLs must contain at least one value")
    elif "*" in urls:
        yield from _validate_wildcard_alone(urls, non_resource_urls_path, "non-resource URLs")
    else:
        for position, url in enumerate(urls):
            yield from check_all(non_resource_urls_path.index(position), url, _url_faults(url))


def _url_faults(url: str) -> tuple[str, ...]:
    if not url:
        return ("must not be empty",)
    if url == "/":
        return ()
    if not url.startswith("/"):
        return ("must start with slash",)
    if " " in url:
        return ("must not contain white-space",)
    if "//" in url:
        return ("must not contain double slash",)
    stars = url.count("*")
    if stars > 1 or (stars == 1 and not url.endswith("/*")):
        return ("wildcard can only do suffix matching",)
    return ()
