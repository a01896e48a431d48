"""Reader of stage files: each document is a ``Stage`` of ``kwok.x-k8s.io/v1alpha1``, for objects of any kind."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.client.requests import PatchType
from steersman.client.resource_types import tree
from steersman.nodes.gotemplate import TemplateSyntaxError
from steersman.nodes.kwok.format import Next, PatchFormat, StageFormat, StageSpec, Step
from steersman.nodes.kwok.selectors import selector_matches, time_from, weight_from
from steersman.nodes.kwok.templating import read, render_tree
from steersman.nodes.node_object import TemplateError
from steersman.nodes.stages import Delay, Outcome, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.gotemplate import Template
    from steersman.nodes.kwok.format import ApplyFormat, DelayFormat, FinalizersFormat
    from steersman.nodes.stages import StageContext

    Transition = Callable[[Tree, StageContext], Outcome]

API_VERSION: Final = "kwok.x-k8s.io/v1alpha1"
_OTHER_KINDS: Final = ("ResourceUsage", "ClusterResourceUsage", "Metric")
_DOCUMENT_END: Final = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_PATCH_TYPES: Final = {
    "json": PatchType.JSON,
    "merge": PatchType.MERGE,
    "strategic": PatchType.STRATEGIC,
}
#: Kinds whose patches are strategic by default. Upstream: ``computePatch`` in kwok/pkg/utils/lifecycle/next.go.
_STRATEGIC_KINDS: Final = ("Node", "Pod")


class KwokFile(NamedTuple):
    """Contents of a file."""

    stages: list[StageOf]
    #: ResourceUsage, ClusterResourceUsage and Metric documents, by kind.
    others: dict[str, list[Any]]


class StageOf(NamedTuple):
    """A stage with the API version and kind of its objects."""

    api_version: str
    kind: str
    stage: Stage


def read_stage_file(path: Path) -> KwokFile:
    """Read a file. Raises TemplateError with the file, the document and the reason."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"{path}: {error}") from None
    kwok_file = KwokFile([], {})
    for number, document in enumerate(_DOCUMENT_END.split(text), 1):
        try:
            content = decode_yaml(document.encode()).tree
        except DecodeError as error:
            raise TemplateError(f"{path}: document {number}: {error}") from None
        if content is None:
            continue
        try:
            _add(kwok_file, content)
        except TemplateError as error:
            raise TemplateError(f"{path}: {_name_of(content, number)}: {error}") from None
    if not kwok_file.stages and not kwok_file.others:
        raise TemplateError(f"{path}: there is no Stage in it")
    return kwok_file


def _add(file: KwokFile, content: Any) -> None:
    if isinstance(content, dict) and content.get("apiVersion") == API_VERSION and content.get("kind") in _OTHER_KINDS:
        check_usage([content])
        file.others.setdefault(content["kind"], []).append(content)
        return
    stage = read_stage(content)
    if stage is not None:
        file.stages.append(stage)


def _name_of(content: Any, number: int) -> str:
    try:
        return f"{content['kind'].lower()} {content['metadata']['name']}"
    except (TypeError, KeyError, AttributeError):
        return f"document {number}"


def check_usage(documents: Sequence[Any]) -> None:
    """Raise TemplateError for invalid usage or metric documents."""
    from steersman.nodes.kwok.usage_pages import read_usage  # noqa: PLC0415 — loads CEL, which few files need

    read_usage(documents, dice=Random(0))  # noqa: S311 — nothing is drawn


def read_stage(content: Any) -> StageOf | None:
    """Read one document; None for a stage without selector, which matches nothing. Raises TemplateError."""
    if not isinstance(content, dict) or (content.get("apiVersion"), content.get("kind")) != (API_VERSION, "Stage"):
        kind = f"{content.get('kind')} of {content.get('apiVersion')}" if isinstance(content, dict) else "no object"
        raise TemplateError(f"a Stage of {API_VERSION} is expected, this is {kind}")
    try:
        document = msgspec.convert(content, StageFormat)
    except msgspec.ValidationError as error:
        raise TemplateError(str(error)) from None
    spec, about = document.spec, document.spec.resource_ref
    api_version = about.api_group or "v1"
    _check_resource_ref(api_version, about.kind)
    is_strategic = api_version == "v1" and about.kind in _STRATEGIC_KINDS
    transition = _transition(spec, PatchType.STRATEGIC if is_strategic else PatchType.MERGE)
    if spec.selector is None:
        return None
    weight = spec.weight if spec.weight_from is None else weight_from(spec.weight_from, spec.weight)
    is_selected = selector_matches(spec.selector)
    stage = Stage(
        document.metadata.name,
        lambda obj, _now: is_selected(obj),
        transition,
        _delay(spec.delay),
        weight,
        writes_status=any(
            all_step.patch is not None and all_step.patch.root == "status" for all_step in _all_steps(spec)
        ),
    )
    return StageOf(api_version, about.kind, stage)


def _check_resource_ref(api_version: str, kind: str) -> None:
    """Raise TemplateError for a kind that cannot exist; kinds of other API groups are checked later by discovery."""
    try:
        tree(api_version, kind)
    except LookupError:
        if api_version == "v1":
            raise TemplateError(f'resourceRef: no matches for kind "{kind}" in version "v1"') from None
        if "/" not in api_version:
            raise TemplateError(f'resourceRef.apiGroup: "{api_version}" is not of the form GROUP/VERSION') from None


def _delay(delay: DelayFormat | None) -> Delay:
    if delay is None:
        return Delay()
    jitter = delay.jitter_duration_milliseconds
    return Delay(
        (delay.duration_milliseconds or 0) / 1000,
        None if jitter is None else jitter / 1000,
        time_from(delay.duration_from),
        time_from(delay.jitter_duration_from),
    )


# Transitions


def _transition(spec: StageSpec, default_type: PatchType) -> Transition:
    for step in spec.steps:
        _step(step, default_type)  # also reports faults of steps without an effect
    transitions = [_step(all_step, default_type) for all_step in _all_steps(spec)]

    def transition(obj: Tree, stage_context: StageContext) -> Outcome:
        outcome: Outcome | None = None
        for transition in reversed(transitions):
            outcome = transition(obj, stage_context)._replace(then=outcome)
        return outcome or Outcome()

    return transition


def _all_steps(spec: StageSpec) -> Sequence[Step]:
    return _until_deleted(spec.steps) if spec.steps else _steps(spec.next or Next())


def _until_deleted(steps: Sequence[Step]) -> Sequence[Step]:
    """Return the steps that take effect: after a deletion, only events."""
    effective: list[Step] = []
    is_deleted = False
    for step in steps:
        if not is_deleted and not step.delete:
            effective.append(step)
        elif not is_deleted:
            effective.append(Step(event=step.event, finalizers=step.finalizers, delete=True))
        elif step.event is not None:
            effective.append(Step(event=step.event))
        is_deleted = is_deleted or step.delete
    return effective


def _steps(after: Next) -> Sequence[Step]:
    """Return the steps in order of execution: event, finalizers, then deletion or changes."""
    if after.status_patch_as is not None:
        raise TemplateError("impersonation is not supported (statusPatchAs)")
    steps = [Step(event=after.event)] if after.event else []
    if after.finalizers:
        steps.append(Step(finalizers=after.finalizers))
    if after.delete:
        return [*steps, Step(delete=True)]
    if after.status_template:
        status = PatchFormat(subresource=after.status_subresource, root="status", template=after.status_template)
        steps.append(Step(patch=status))
    return [*steps, *(Step(patch=patch) for patch in after.patches)]


def _step(step: Step, default_type: PatchType) -> Transition:
    event = (step.event.type, step.event.reason, step.event.message) if step.event else None
    fixed = _with_finalizers(Outcome(event=event, delete=step.delete), step.finalizers)
    if step.apply is not None:
        return _applied(fixed, step.apply)
    return (lambda *_: fixed) if step.patch is None else _patched(fixed, step.patch, default_type)


def _with_finalizers(outcome: Outcome, finalizers: FinalizersFormat | None) -> Outcome:
    if finalizers is None:
        return outcome
    return outcome._replace(
        finalizers_added=tuple(finalizer.value for finalizer in finalizers.add),
        finalizers_removed=tuple(finalizer.value for finalizer in finalizers.remove),
        finalizers_emptied=finalizers.empty,
    )


def _template(text: str) -> Template:
    try:
        return read(text)
    except TemplateSyntaxError as error:
        raise TemplateError(f"template: {error}") from None


def _applied(outcome: Outcome, apply: ApplyFormat) -> Transition:
    if apply.impersonation is not None:
        raise TemplateError("impersonation is not supported")
    template = _template(apply.template)
    return lambda obj, stage_context: outcome._replace(applied=render_tree(template, obj, stage_context))


def _patched(outcome: Outcome, patch: PatchFormat, default_type: PatchType) -> Transition:
    if patch.type and patch.type not in _PATCH_TYPES:
        raise TemplateError(f'unknown patch type "{patch.type}"')
    if patch.impersonation is not None:
        raise TemplateError("impersonation is not supported")
    template = _template(patch.template)
    patch_type = _PATCH_TYPES[patch.type] if patch.type else default_type

    def transition(obj: Tree, stage_context: StageContext) -> Outcome:
        body = _below(patch.root, render_tree(template, obj, stage_context), patch_type)
        return outcome._replace(patch=body, patch_type=patch_type, subresource=patch.subresource)

    return transition


def _below(root: str, body: Any, patch_type: PatchType) -> Any:
    if patch_type is PatchType.JSON:
        return (
            [{**operation, "path": f"/{root}{operation['path']}"} for operation in body or ()] if root else body or []
        )
    return {root: body or {}} if root else body or {}
