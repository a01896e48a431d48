"""Validation of Pod updates. Upstream: ``ValidatePodUpdate``.

Mutable are images, a shorter ``activeDeadlineSeconds``, additional tolerations and removed scheduling gates; while
gates remain, node affinity may narrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.trees import tree_key
from steersman.apiserver.kinds.core.pod.validation import validate_pod
from steersman.apiserver.kinds.shared.go_form import go_diff, go_form
from steersman.apiserver.kinds.shared.podspec.rules import PodRules
from steersman.apiserver.kinds.shared.podspec.validate import validate_pod_annotations
from steersman.apiserver.kinds.shared.podspec.validate_placement import validate_tolerations
from steersman.apiserver.kinds.shared.validation import check_all
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor

_SPEC: Final = field.Path("spec")
_ANNOTATIONS: Final = field.Path("metadata", "annotations")
_MAY_CHANGE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_TERMS: Final = ("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
MIRROR: Final = "kubernetes.io/config.mirror"
_INT32_MAX: Final = (1 << 31) - 1


def validate_pod_update(pod: Tree, old: Tree, facts_for: FactsFor = new_facts) -> list[FieldError]:
    """Validate an update of a Pod, in upstream's order; stops at the first error after which upstream returns."""
    spec, before = pod["spec"], old["spec"]
    if spec == before and pod["metadata"].get("annotations") == old["metadata"].get("annotations"):
        return []
    errors = validate_pod(pod, rules_of(pod), facts_for)
    errors += validate_annotation_changes(pod, old)
    for kind in ("containers", "initContainers"):
        new_list, old_list = spec.get(kind) or (), before.get(kind) or ()
        if len(new_list) != len(old_list):
            detail = "pod updates may not add or remove containers"
            return [*errors, field.forbidden(_SPEC.child(kind), detail)]
        errors += _check_images(new_list, _SPEC.child(kind))
    faults, is_grave = _check_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    errors += faults
    if is_grave:
        return errors
    errors += _check_tolerations(spec.get("tolerations") or (), before.get("tolerations") or ())
    errors += _check_gates(spec.get("schedulingGates") or (), before.get("schedulingGates") or ())
    if spec == before:
        return errors
    masked = _with_mutable_fields_of(spec, before)
    if before.get("schedulingGates"):
        errors += _validate_narrowing(masked, before)
    if _without_empty(masked) != _without_empty(before):
        detail = f"pod updates may not change fields other than {_MAY_CHANGE}\n{go_diff('PodSpec', before, masked)}"
        errors.append(field.forbidden(_SPEC, detail))
    return errors


def rules_of(pod: Tree) -> PodRules:
    """Return the rules for the spec of this Pod."""
    return PodRules(is_pod=True, pod_name=pod["metadata"].get("name") or "")


def validate_annotation_changes(pod: Tree, old: Tree) -> Iterator[FieldError]:
    """Reject changes of annotations that configure a started Pod: AppArmor, seccomp and mirror pods."""
    now, before = pod["metadata"].get("annotations") or {}, old["metadata"].get("annotations") or {}
    for name in sorted(before):
        if now.get(name) != before[name]:
            yield from _check_annotation(name, "remove or update")
    for name in sorted(now):
        if name not in before:
            yield from _check_annotation(name, "add")
    yield from validate_pod_annotations(now, pod["spec"], _ANNOTATIONS)


def _check_annotation(name: str, change: str) -> Iterator[FieldError]:
    if name.startswith(_APP_ARMOR):
        yield field.forbidden(_ANNOTATIONS.key(name), f"may not {change} AppArmor annotations")
    if name == MIRROR:
        yield field.forbidden(_ANNOTATIONS.key(name), f"may not {change} mirror pod annotation")


def _check_images(containers: Sequence[Tree], path: Path) -> Iterator[FieldError]:
    for position, container in enumerate(containers):
        image = container.get("image") or ""
        image_path = path.index(position).child("image")
        if not image:
            yield field.required(image_path)
        if image != image.strip():
            yield field.invalid(image_path, image, "must not have leading or trailing whitespace")


def _check_deadline(deadline: int | None, before: int | None) -> tuple[list[FieldError], bool]:
    """Validate ``activeDeadlineSeconds``, which may be added or shortened. Returns whether validation continues."""
    path = _SPEC.child("activeDeadlineSeconds")
    if deadline is None:
        if before is None:
            return [], False
        return [field.invalid(path, None, "must not update from a positive integer to nil value")], False
    if faults := names.check_in_range(deadline, 0, _INT32_MAX):
        return list(check_all(path, deadline, faults)), True
    if before is not None and before < deadline:
        return [field.invalid(path, deadline, "must be less than or equal to previous value")], True
    return [], False


def _check_tolerations(tolerations: Sequence[Tree], before: Sequence[Tree]) -> list[FieldError]:
    """Validate that tolerations are only added; ``tolerationSeconds`` may change."""
    path = _SPEC.child("tolerations")
    new_keys = {tree_key(_without_seconds(toleration)) for toleration in tolerations}
    if any(tree_key(_without_seconds(toleration)) not in new_keys for toleration in before):
        return [field.forbidden(path, "existing toleration can not be modified except its tolerationSeconds")]
    return validate_tolerations(tolerations, path)


def _without_seconds(toleration: Tree) -> Tree:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds" and value}


def _check_gates(gates: Sequence[Tree], before: Sequence[Tree]) -> Iterator[FieldError]:
    old_gates = {gate.get("name") for gate in before}
    for position, gate in enumerate(gates):
        if gate.get("name") not in old_gates:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'"
            yield field.forbidden(_SPEC.child("schedulingGates").index(position).child("name"), detail)


def _with_mutable_fields_of(spec: Tree, before: Tree) -> Tree:
    """Return the new spec with mutable fields set to their old values."""
    masked = dict(spec)
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            pairs = zip(spec[kind], before[kind], strict=True)
            masked[kind] = [{**container, "image": other.get("image", "")} for container, other in pairs]
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        _copy_field(masked, before, name)
    if (before.get("terminationGracePeriodSeconds") or 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        _copy_field(masked, before, "terminationGracePeriodSeconds")
    return masked


def _copy_field(masked: Tree, before: Tree, name: str) -> None:
    if before.get(name) is None:
        masked.pop(name, None)
    else:
        masked[name] = before[name]


def _without_empty(spec: Tree) -> Tree:
    """Return the spec without empty lists, which equal absent ones; an empty struct does not."""
    return {name: value for name, value in spec.items() if value not in (None, [])}


# -- scheduling gates -------------------------------------------------------------------------------------------------


def _validate_narrowing(masked: Tree, before: Tree) -> Iterator[FieldError]:
    """Validate the node selector and affinity of a gated Pod, which may narrow, and set them to the old values in
    ``masked``.
    """
    selector, old_selector = masked.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if any(selector.get(label) != value for label, value in old_selector.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield field.invalid(_SPEC.child("nodeSelector"), selector or None, detail)
    _copy_field(masked, before, "nodeSelector")
    affinity, old_affinity = masked.get("affinity"), before.get("affinity")
    nodes, old_nodes = (affinity or {}).get("nodeAffinity"), (old_affinity or {}).get("nodeAffinity")
    if nodes == old_nodes:
        return
    yield from _check_affinity(nodes, old_nodes)
    if affinity is None:
        masked["affinity"] = {"nodeAffinity": old_nodes}
    elif old_affinity is None and not affinity.get("podAffinity") and not affinity.get("podAntiAffinity"):
        del masked["affinity"]
    else:
        masked["affinity"] = dict(affinity)
        _copy_field(masked["affinity"], old_affinity or {}, "nodeAffinity")


def _check_affinity(nodes: Tree | None, before: Tree | None) -> Iterator[FieldError]:
    """Validate node selector terms: their number stays, requirements may be added to each."""
    terms, old_terms = _terms_of(nodes), _terms_of(before)
    if not old_terms:
        return
    path = _SPEC.child("affinity", "nodeAffinity").child(*_TERMS)
    if len(terms) != len(old_terms):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield field.invalid(path, go_form("NodeSelectorTerm", list(terms)) or None, detail)
        return
    for position, (term, old_term) in enumerate(zip(terms, old_terms, strict=True)):
        if not _only_adds_requirements(term, old_term):
            detail = "only additions are allowed (no mutations or deletions)"
            yield field.invalid(path.index(position), go_form("NodeSelectorTerm", term), detail)


def _terms_of(nodes: Tree | None) -> Sequence[Tree]:
    required: Any = (nodes or {}).get(_TERMS[0]) or {}
    return required.get(_TERMS[1]) or ()


def _only_adds_requirements(term: Tree, before: Tree) -> bool:
    kinds = ("matchExpressions", "matchFields")
    if not any(before.get(kind) for kind in kinds):
        return not any(
            term.get(kind) for kind in kinds
        )  # adding requirements to an empty term, which matches nothing, would widen the set
    return all(
        (term.get(kind) or [])[: len(requirements)] == requirements
        for kind in kinds
        if (requirements := before.get(kind))
    )
