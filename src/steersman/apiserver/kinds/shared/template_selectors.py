"""Validation of workload selectors and of the template labels that must match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.selectors import LabelSelector, SelectorError, from_label_selector
from steersman.apiserver.kinds.shared.podspec.validate import validate_pod_template
from steersman.apiserver.kinds.shared.validation import check_unchanged, validate_label_selector
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor

NO_MATCH: Final = "`selector` does not match template `labels`"


def parse_selector(tree: Tree | None) -> LabelSelector | None:
    """Parse a selector (absent: matches nothing); ``None`` if it is invalid."""
    try:
        return from_label_selector(tree)
    except SelectorError:
        return None


def shown(selector: Tree | None) -> Tree | None:
    """Return the selector as messages show it, with sorted labels."""
    if not selector or not selector.get("matchLabels"):
        return selector
    return {**selector, "matchLabels": dict(sorted(selector["matchLabels"].items()))}


def is_empty(selector: Tree) -> bool:
    """Report whether a selector matches every Pod."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def template_labels(template: Tree) -> dict[str, str]:
    """Return the labels of Pods created from the template."""
    labels: dict[str, str] = (template.get("metadata") or {}).get("labels") or {}
    return labels


def check_selector(spec: Tree, path: Path, *, empty_detail: str) -> Iterator[FieldError]:
    """Validate that a selector is set, valid and not empty."""
    selector = spec.get("selector")
    if selector is None:
        yield field.required(path.child("selector"))
        return
    yield from validate_label_selector(selector, path.child("selector"))
    if is_empty(selector):
        yield field.invalid(path.child("selector"), selector, empty_detail)


def check_labels_match(template: Tree, selector: LabelSelector, path: Path) -> Iterator[FieldError]:
    """Validate that the selector matches the labels of the template."""
    labels = template_labels(template)
    if not selector.matches(labels):
        yield field.invalid(path.child("metadata", "labels"), dict(sorted(labels.items())) or None, NO_MATCH)


def check_selector_unchanged(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Reject changes of the selector."""
    yield from check_unchanged(
        shown(obj["spec"].get("selector")), shown(old["spec"].get("selector")), field.Path("spec", "selector")
    )


def check_always_restarts(template: Tree, path: Path, *, kind: str) -> Iterator[FieldError]:
    """Reject templates with a restart policy other than Always, or with ``activeDeadlineSeconds``."""
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy") or ""
    if policy != "Always":
        yield field.not_supported(path.child("spec", "restartPolicy"), policy, ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        yield field.forbidden(path.child("spec", "activeDeadlineSeconds"), detail)


def validate_replicated_template(spec: Tree, path: Path, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate the template of a Deployment or ReplicaSet, and that the selector matches it. ``path``: the spec's."""
    selector = parse_selector(spec.get("selector"))
    if selector is None:
        yield field.invalid(path.child("selector"), shown(spec.get("selector")), "invalid label selector")
        return
    template = spec.get("template") or {}
    template_path = path.child("template")
    if not selector.is_empty:
        yield from check_labels_match(template, selector, template_path)
    yield from validate_pod_template(template, template_path, facts_for=facts_for)
    yield from check_always_restarts(template, template_path, kind="ReplicaSet")
