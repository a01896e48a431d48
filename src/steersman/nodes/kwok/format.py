"""Structs of KWOK's ``Stage``."""

from __future__ import annotations

from typing import Any

import msgspec


class Part(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Base of the structs; unknown fields are errors, because a misspelled field would have no effect."""


class Expression(Part):
    """A jq query or a CEL expression."""

    expression: str


class ExpressionFrom(Part):
    """Source of a duration or weight."""

    expression_from: str = ""
    jq: Expression | None = None
    cel: Expression | None = None


class Comparison(Part, kw_only=True):
    """A jq query with an operator and values."""

    key: str
    operator: str
    values: list[str] = []


class Requirement(Part):
    """A jq comparison, inline or under ``jq``, or a CEL condition, inline or under ``cel``."""

    key: str = ""
    operator: str = ""
    values: list[str] = []
    expression: str = ""
    jq: Comparison | None = None
    cel: Expression | None = None


class Selector(Part):
    """Conditions that all hold."""

    match_labels: dict[str, str] = {}
    match_annotations: dict[str, str] = {}
    match_expressions: list[Requirement] = []


class ResourceRef(Part, kw_only=True):
    """API group and kind of a stage."""

    api_group: str = "v1"
    kind: str


class DelayFormat(Part):
    """Duration of a stage."""

    duration_milliseconds: int | None = None
    duration_from: ExpressionFrom | None = None
    jitter_duration_milliseconds: int | None = None
    jitter_duration_from: ExpressionFrom | None = None


class EventFormat(Part):
    """An event about the object."""

    type: str = "Normal"
    reason: str = ""
    message: str = ""


class FinalizerItem(Part):
    """One finalizer."""

    value: str


class FinalizersFormat(Part):
    """Finalizers to add and remove."""

    add: list[FinalizerItem] = []
    remove: list[FinalizerItem] = []
    empty: bool = False


class PatchFormat(Part, kw_only=True):
    """A patch of the object."""

    subresource: str = ""
    root: str = ""
    type: str | None = None
    template: str
    impersonation: Any = None


class ApplyFormat(Part, kw_only=True):
    """An object of any kind that is applied server-side."""

    template: str
    impersonation: Any = None


class Step(Part):
    """One action; exactly one field is set."""

    event: EventFormat | None = None
    finalizers: FinalizersFormat | None = None
    delete: bool = False
    patch: PatchFormat | None = None
    apply: ApplyFormat | None = None


class Next(Part):
    """Actions of the transition."""

    event: EventFormat | None = None
    finalizers: FinalizersFormat | None = None
    delete: bool = False
    status_template: str = ""
    status_subresource: str = "status"
    status_patch_as: Any = None
    patches: list[PatchFormat] = []


class StageSpec(Part):
    """Spec of a Stage."""

    resource_ref: ResourceRef
    selector: Selector | None = None
    weight: int = 0
    weight_from: ExpressionFrom | None = None
    delay: DelayFormat | None = None
    next: Next | None = None
    steps: list[Step] = []
    immediate_next_stage: bool = False


class Metadata(msgspec.Struct):
    """Metadata; fields other than the name are ignored."""

    name: str


class StageFormat(msgspec.Struct, kw_only=True, rename="camel"):
    """A Stage document."""

    api_version: str
    kind: str
    metadata: Metadata
    spec: StageSpec
