"""Validation of Pods, beyond the rules of pod specs in ``kinds/shared/podspec``. Upstream: ``ValidatePodCreate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.shared.podspec.profile_annotations import validate_profiles_match
from steersman.apiserver.kinds.shared.podspec.rules import PodRules
from steersman.apiserver.kinds.shared.podspec.validate import (
    spec_errors,
    validate_only_for_pods,
    validate_pod_annotations,
    validate_pod_spec,
)
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor

_SPEC: Final = field.Path("spec")
_ANNOTATIONS: Final = field.Path("metadata", "annotations")


def validate_pod_create(pod: Tree, facts_for: FactsFor = new_facts) -> list[FieldError]:
    """Return the errors of a new Pod."""
    spec, annotations = pod["spec"], pod["metadata"].get("annotations")
    facts = facts_for(spec)
    if facts.is_valid_new and not annotations:
        return []
    errors = _errors_of_new(pod)
    if not errors:
        facts.is_valid_new = True
    return errors


def _errors_of_new(pod: Tree) -> list[FieldError]:
    spec, annotations = pod["spec"], pod["metadata"].get("annotations")
    rules = PodRules(is_pod=True, pod_name=pod["metadata"].get("name") or "")
    errors: list[FieldError] = []
    if annotations:
        errors += validate_pod_annotations(annotations, spec, _ANNOTATIONS)
    errors += spec_errors(spec, _SPEC, rules)
    errors += validate_only_for_pods(spec, _SPEC)
    if spec.get("ephemeralContainers"):
        errors.append(field.forbidden(_SPEC.child("ephemeralContainers"), "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        errors.append(field.forbidden(_SPEC.child("nodeName"), detail))
    if annotations:
        errors += validate_profiles_match(annotations, spec, _SPEC)
    return errors


def validate_pod(pod: Tree, rules: PodRules, facts_for: FactsFor = new_facts) -> list[FieldError]:
    """Validate a Pod on update. Upstream: ``ValidatePod``."""
    spec, annotations = pod["spec"], pod["metadata"].get("annotations")
    errors: list[FieldError] = []
    if annotations:
        errors += validate_pod_annotations(annotations, spec, _ANNOTATIONS)
    errors += validate_pod_spec(spec, _SPEC, rules, facts_for=facts_for)
    errors += validate_only_for_pods(spec, _SPEC)
    return errors
