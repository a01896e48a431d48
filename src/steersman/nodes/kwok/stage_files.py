"""Stage files: each document one ``Stage`` of ``kwok.x-k8s.io/v1alpha1``, for Pods or Nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.client.requests import PatchType
from steersman.nodes.gotemplate import TemplateSyntaxError
from steersman.nodes.kwok.format import Next, PatchFormat, StageFormat, StageSpec, Step
from steersman.nodes.kwok.selectors import selected_by, time_from, weight_from
from steersman.nodes.kwok.templating import read, rendered
from steersman.nodes.node_object import TemplateError
from steersman.nodes.stages import Delay, Outcome, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from steersman.nodes.kwok.format import DelayFormat, FinalizersFormat
    from steersman.nodes.stages import Surroundings

    Tree = dict[str, Any]
    Turn = Callable[[Tree, Surroundings], Outcome]

API_VERSION: Final = "kwok.x-k8s.io/v1alpha1"
_KINDS: Final = ("Pod", "Node")
_DOCUMENT_END: Final = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_PATCH_TYPES: Final = {
    None: PatchType.STRATEGIC,
    "": PatchType.STRATEGIC,
    "json": PatchType.JSON,
    "merge": PatchType.MERGE,
    "strategic": PatchType.STRATEGIC,
}


class StageOf(NamedTuple):
    """A stage, and the kind that it is about."""

    kind: str
    stage: Stage


def read_stage_file(path: Path) -> list[StageOf]:
    """The stages of a file, in its order. Raises TemplateError, which tells the file, the stage and the fault."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"{path}: {error}") from None
    found = []
    for number, document in enumerate(_DOCUMENT_END.split(text), 1):
        try:
            tree = decode_yaml(document.encode()).tree
        except DecodeError as error:
            raise TemplateError(f"{path}: document {number}: {error}") from None
        if tree is None:
            continue
        try:
            made = read_stage(tree)
        except TemplateError as error:
            raise TemplateError(f"{path}: {_name_of(tree, number)}: {error}") from None
        if made is not None:
            found.append(made)
    if not found:
        raise TemplateError(f"{path}: there is no Stage in it")
    return found


def _name_of(tree: Any, number: int) -> str:
    try:
        return f"stage {tree['metadata']['name']}"
    except (TypeError, KeyError):
        return f"document {number}"


def read_stage(tree: Any) -> StageOf | None:
    """One document; None for a stage that has no selector, which matches nothing. Raises TemplateError."""
    if not isinstance(tree, dict) or (tree.get("apiVersion"), tree.get("kind")) != (API_VERSION, "Stage"):
        kind = f"{tree.get('kind')} of {tree.get('apiVersion')}" if isinstance(tree, dict) else "no object"
        raise TemplateError(f"a Stage of {API_VERSION} is expected, this is {kind}")
    try:
        document = msgspec.convert(tree, StageFormat)
    except msgspec.ValidationError as error:
        raise TemplateError(str(error)) from None
    spec, about = document.spec, document.spec.resource_ref
    if about.kind not in _KINDS or about.api_group not in ("", "v1"):
        raise TemplateError(f"stages are for Pods and Nodes, not for {about.kind} of {about.api_group}")
    turn = _turn(spec)
    if spec.selector is None:
        return None
    weight = spec.weight if spec.weight_from is None else weight_from(spec.weight_from, spec.weight)
    is_selected = selected_by(spec.selector)
    stage = Stage(document.metadata.name, lambda obj, _now: is_selected(obj), turn, _delay(spec.delay), weight)
    return StageOf(about.kind, stage)


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


# What it turns into


def _turn(spec: StageSpec) -> Turn:
    turns = [_step(each) for each in (spec.steps or _steps(spec.next or Next()))]

    def turn(obj: Tree, around: Surroundings) -> Outcome:
        made: Outcome | None = None
        for each in reversed(turns):
            made = each(obj, around)._replace(then=made)
        return made or Outcome()

    return turn


def _steps(after: Next) -> Sequence[Step]:
    """In the order in which they are done: the event, finalizers, and then the end or changes."""
    if after.status_patch_as is not None:
        raise TemplateError("nobody can be impersonated here (statusPatchAs)")
    steps = [Step(event=after.event)] if after.event else []
    if after.finalizers:
        steps.append(Step(finalizers=after.finalizers))
    if after.delete:
        return [*steps, Step(delete=True)]
    if after.status_template:
        status = PatchFormat(subresource=after.status_subresource, root="status", template=after.status_template)
        steps.append(Step(patch=status))
    return [*steps, *(Step(patch=each) for each in after.patches)]


def _step(step: Step) -> Turn:
    event = (step.event.type, step.event.reason, step.event.message) if step.event else None
    fixed = _with_finalizers(Outcome(event=event, delete=step.delete), step.finalizers)
    return (lambda *_: fixed) if step.patch is None else _patched(fixed, step.patch)


def _with_finalizers(outcome: Outcome, finalizers: FinalizersFormat | None) -> Outcome:
    if finalizers is None:
        return outcome
    return outcome._replace(
        finalizers_added=tuple(each.value for each in finalizers.add),
        finalizers_removed=tuple(each.value for each in finalizers.remove),
        finalizers_emptied=finalizers.empty,
    )


def _patched(outcome: Outcome, patch: PatchFormat) -> Turn:
    if patch.type not in _PATCH_TYPES:
        raise TemplateError(f'unknown patch type "{patch.type}"')
    if patch.impersonation is not None:
        raise TemplateError("nobody can be impersonated here (impersonation)")
    try:
        template = read(patch.template)
    except TemplateSyntaxError as error:
        raise TemplateError(f"template: {error}") from None
    patch_type = _PATCH_TYPES[patch.type]

    def turn(obj: Tree, around: Surroundings) -> Outcome:
        body = _below(patch.root, rendered(template, obj, around), patch_type)
        return outcome._replace(patch=body, patch_type=patch_type, subresource=patch.subresource)

    return turn


def _below(root: str, body: Any, patch_type: PatchType) -> Any:
    if patch_type is PatchType.JSON:
        return [{**each, "path": f"/{root}{each['path']}"} for each in body or ()] if root else body or []
    return {root: body or {}} if root else body or {}
