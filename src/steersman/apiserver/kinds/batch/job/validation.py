"""Validation of Jobs and of the job templates of CronJobs. Upstream: ``ValidateJob``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.domain_paths import check_domain_prefixed_path
from steersman.apiserver.kinds.batch.job.policies import validate_failure_policy, validate_success_policy
from steersman.apiserver.kinds.shared.conditions import has_condition
from steersman.apiserver.kinds.shared.counts import check_none_negative
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.podspec.validate import validate_pod_template
from steersman.apiserver.kinds.shared.template_selectors import (
    check_labels_match,
    parse_selector,
    shown,
    template_labels,
)
from steersman.apiserver.kinds.shared.validation import FIELD_IS_IMMUTABLE, check_unchanged, validate_label_selector
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor

#: Labels of a Job's Pods, in legacy and prefixed form.
UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")

_SPEC: Final = field.Path("spec")
_INDEXED: Final = "Indexed"
_GO_TYPES: Final = {"podFailurePolicy": "PodFailurePolicy", "successPolicy": "SuccessPolicy"}
_INDEXED_PARALLELISM_MAX: Final = 100_000
_FAILED_INDEXES_MAX: Final = 100_000
#: Above this number of completions, failed indexes and parallelism have lower limits.
_MANY_COMPLETIONS: Final = 100_000
_MANY_COMPLETIONS_LIMIT: Final = 10_000
_MANAGED_BY_MAX_BYTES: Final = 63
_COUNTS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
#: Template fields that are mutable until the Job starts.
_DIRECTIVES: Final = ("nodeSelector", "tolerations", "schedulingGates")


def validate_job(obj: Tree, old: Tree | None = None, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate a Job."""
    spec = obj["spec"]
    had = template_labels(old["spec"].get("template") or {}) if old is not None else None
    prefixed = had is None or (UID_LABELS[1] in had and NAME_LABELS[1] in had)
    yield from _check_generated_selector(obj, with_prefix=prefixed)
    yield from _validate_whole_spec(spec, _SPEC, facts_for=facts_for)
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == _INDEXED and completions > 0:
        name = obj["metadata"].get("name") or ""
        hostname = f"{name}-{completions - 1}"
        if names.check_dns1123_label(hostname):
            detail = f"will not able to create pod with invalid DNS label: {hostname}"
            yield field.invalid(field.Path("metadata", "name"), name, detail)


def validate_job_update(obj: Tree, old: Tree, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate an update. As upstream, the spec is validated twice and its errors are reported twice."""
    spec, before = obj["spec"], old["spec"]
    yield from validate_job(obj, old, facts_for=facts_for)
    yield from _validate_whole_spec(spec, _SPEC, facts_for=facts_for)
    yield from _check_completions(spec, before, _SPEC.child("completions"))
    yield from check_unchanged(shown(spec.get("selector")), shown(before.get("selector")), _SPEC.child("selector"))
    yield from _check_template_update(spec, old, _SPEC)
    for name in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        yield from _check_same(spec.get(name), before.get(name), _SPEC.child(name), go_type=_GO_TYPES.get(name, ""))


def validate_job_template(template: Tree, path: Path, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate the job template of a CronJob, whose selector must be unset."""
    spec, spec_path = template.get("spec") or {}, path.child("spec")
    yield from _validate_spec(spec, spec_path, facts_for=facts_for)
    if spec.get("selector") is not None:
        yield field.invalid(spec_path.child("selector"), shown(spec["selector"]), "`selector` will be auto-generated")
    if spec.get("manualSelector"):
        yield field.not_supported(spec_path.child("manualSelector"), True, ("nil", "false"))


def _check_generated_selector(obj: Tree, *, with_prefix: bool) -> Iterator[FieldError]:
    """Validate a generated selector: it selects the UID, and the template has the UID and name labels."""
    spec, metadata = obj["spec"], obj["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    uid, name = metadata.get("uid") or "", metadata.get("name") or ""
    if not uid:
        yield field.required("metadata.uid")
    labels, labels_path = template_labels(spec.get("template") or {}), _SPEC.child("template", "metadata", "labels")
    expected: dict[str, str] = {}
    for uid_label, name_label in zip(UID_LABELS[: 1 + with_prefix], NAME_LABELS[: 1 + with_prefix], strict=True):
        expected |= {uid_label: uid, name_label: name}
    for label, value in expected.items():
        if label not in labels:
            yield field.required(labels_path.key(label), f"must be '{value}'")
        elif labels[label] != value:
            yield field.invalid(labels_path.key(label), dict(sorted(labels.items())), f"must be '{value}'")
    selector = parse_selector(spec["selector"])
    if selector is not None and not selector.matches(expected):
        yield field.invalid(_SPEC.child("selector"), shown(spec["selector"]), "`selector` not auto-generated")


def _validate_whole_spec(spec: Tree, path: Path, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    yield from _validate_spec(spec, path, facts_for=facts_for)
    if spec.get("selector") is None:
        yield field.required(path.child("selector"))
    else:
        yield from validate_label_selector(spec["selector"], path.child("selector"))
    selector = parse_selector(spec.get("selector"))
    if selector is not None:
        yield from check_labels_match(spec.get("template") or {}, selector, path.child("template"))


def _validate_spec(spec: Tree, path: Path, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    yield from check_none_negative(spec, _COUNTS, path)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield field.required(path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified")
    if (manager := spec.get("managedBy")) is not None:
        yield from check_domain_prefixed_path(manager, path.child("managedBy"))
        if len(manager.encode()) > _MANAGED_BY_MAX_BYTES:
            yield field.too_long(path.child("managedBy"), max_bytes=_MANAGED_BY_MAX_BYTES)
    yield from _validate_mode(spec, path)
    if spec.get("podFailurePolicy") is not None:
        yield from validate_failure_policy(spec, path.child("podFailurePolicy"))
    if spec.get("successPolicy") is not None:
        success_policy_path = path.child("successPolicy")
        if spec.get("completionMode") != _INDEXED:
            yield field.invalid(
                success_policy_path, go_form("SuccessPolicy", spec["successPolicy"]), "requires indexed completion mode"
            )
        elif spec.get("completions") is not None:
            yield from validate_success_policy(spec, success_policy_path)
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None:
        supported = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
        if replacement not in supported:
            yield field.not_supported(path.child("podReplacementPolicy"), replacement, supported)
    yield from validate_pod_template(spec.get("template") or {}, path.child("template"), facts_for=facts_for)
    yield from _check_restart_policy(spec, path.child("template", "spec", "restartPolicy"))


def _validate_mode(spec: Tree, path: Path) -> Iterator[FieldError]:
    mode = spec.get("completionMode")
    if mode not in (None, "NonIndexed", _INDEXED):
        yield field.not_supported(path.child("completionMode"), mode, ("NonIndexed", _INDEXED))
    if mode == _INDEXED:
        yield from _validate_indexed(spec, path)
    elif mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if (value := spec.get(name)) is not None:
                yield field.invalid(path.child(name), value, "requires indexed completion mode")


def _validate_indexed(spec: Tree, path: Path) -> Iterator[FieldError]:
    completions, parallelism, failed = (spec.get(n) for n in ("completions", "parallelism", "maxFailedIndexes"))
    parallelism_path, failed_path = path.child("parallelism"), path.child("maxFailedIndexes")
    if completions is None:
        yield field.required(path.child("completions"), f"when completion mode is {_INDEXED}")
    if parallelism is not None and parallelism > _INDEXED_PARALLELISM_MAX:
        detail = f"must be less than or equal to {_INDEXED_PARALLELISM_MAX} when completion mode is {_INDEXED}"
        yield field.invalid(parallelism_path, parallelism, detail)
    if failed is not None:
        if completions is not None and failed > completions:
            yield field.invalid(failed_path, failed, "must be less than or equal to completions")
        if failed > _FAILED_INDEXES_MAX:
            yield field.invalid(failed_path, failed, f"must be less than or equal to {_FAILED_INDEXES_MAX}")
    if completions is None or completions <= _MANY_COMPLETIONS or spec.get("backoffLimitPerIndex") is None:
        return
    if failed is None:
        yield field.required(failed_path, f"must be specified when completions is above {_MANY_COMPLETIONS}")
    detail = (
        f"must be less than or equal to {_MANY_COMPLETIONS_LIMIT} when completions are above {_MANY_COMPLETIONS} "
        "and used with backoff limit per index"
    )
    for value, value_path in ((parallelism, parallelism_path), (failed, failed_path)):
        if value is not None and value > _MANY_COMPLETIONS_LIMIT:
            yield field.invalid(value_path, value, detail)


def _check_restart_policy(spec: Tree, path: Path) -> Iterator[FieldError]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy") or ""
    if policy in ("", "Always"):
        yield field.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield field.not_supported(path, policy, ("OnFailure", "Never"))
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        yield field.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _check_completions(spec: Tree, before: Tree, path: Path) -> Iterator[FieldError]:
    """Validate changes of ``completions``: only of Indexed Jobs, equal to ``parallelism``."""
    completions = spec.get("completions")
    if completions == before.get("completions"):
        return
    if spec.get("completionMode") != _INDEXED:
        yield field.invalid(path, completions, FIELD_IS_IMMUTABLE)
    elif completions is not None and completions != spec.get("parallelism"):
        yield field.invalid(path, completions, "can only be modified in tandem with spec.parallelism")


def _check_template_update(spec: Tree, old: Tree, path: Path) -> Iterator[FieldError]:
    """Validate changes of the template: scheduling directives and resources while the Job is suspended without active
    Pods.
    """
    template, before = spec.get("template") or {}, old["spec"].get("template") or {}
    if not _is_template_mutable(old):
        yield from _check_same(template, before, path.child("template"), go_type="PodTemplateSpec")
        return
    pod, old_pod = template.get("spec") or {}, before.get("spec") or {}
    if _immutable_part(pod, pod) != _immutable_part(old_pod, pod):
        yield field.invalid(path.child("template.spec"), go_form("PodSpec", pod), FIELD_IS_IMMUTABLE)


def _check_same(new: Any, old: Any, path: Path, *, go_type: str) -> Iterator[FieldError]:
    if new != old:
        yield field.invalid(path, go_form(go_type, new) if go_type and new is not None else new, FIELD_IS_IMMUTABLE)


def _is_template_mutable(old: Tree) -> bool:
    status = old.get("status") or {}
    if not old["spec"].get("suspend"):
        return False
    return status.get("startTime") is None or (has_condition(status, "Suspended") and not status.get("active"))


def _immutable_part(pod: Tree, model: Tree) -> Tree:
    """Return the immutable part of a Pod spec, with containers matched to those of ``model`` by position and name."""
    fixed = {name: value for name, value in pod.items() if name not in (*_DIRECTIVES, "affinity")}
    affinity = {k: v for k, v in (pod.get("affinity") or {}).items() if k != "nodeAffinity" and v is not None}
    if affinity:
        fixed["affinity"] = affinity
    for kind in ("containers", "initContainers"):
        containers, model_containers = pod.get(kind) or [], model.get(kind) or []
        if len(containers) == len(model_containers):
            fixed[kind] = [
                {k: v for k, v in c.items() if k != "resources"} if c.get("name") == m.get("name") else c
                for c, m in zip(containers, model_containers, strict=True)
            ]
    return fixed
