"""The fields of a ``Stage``, as its files have them."""

from __future__ import annotations

from typing import Any

import msgspec


class Part(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Unknown fields are faults: they would change nothing, and nobody would know why."""


class Expression(Part):
    """A query in jq, or an expression in CEL."""

    expression: str


class ExpressionFrom(Part):
    """Where a duration or a weight is read from."""

    expression_from: str = ""
    jq: Expression | None = None
    cel: Expression | None = None


class Comparison(Part, kw_only=True):
    """A query in jq, and what its values are to be."""

    key: str
    operator: str
    values: list[str] = []


class Requirement(Part):
    """A comparison, here or under ``jq``, or a condition in CEL, here or under ``cel``."""

    key: str = ""
    operator: str = ""
    values: list[str] = []
    expression: str = ""
    jq: Comparison | None = None
    cel: Expression | None = None


class Selector(Part):
    """All of these."""

    match_labels: dict[str, str] = {}
    match_annotations: dict[str, str] = {}
    match_expressions: list[Requirement] = []


class ResourceRef(Part, kw_only=True):
    """The kind that a stage is about."""

    api_group: str = "v1"
    kind: str


class DelayFormat(Part):
    """How long a stage lasts."""

    duration_milliseconds: int | None = None
    duration_from: ExpressionFrom | None = None
    jitter_duration_milliseconds: int | None = None
    jitter_duration_from: ExpressionFrom | None = None


class EventFormat(Part):
    """What is told of it."""

    type: str = "Normal"
    reason: str = ""
    message: str = ""


class FinalizerItem(Part):
    """One finalizer."""

    value: str


class FinalizersFormat(Part):
    """Finalizers that come and go."""

    add: list[FinalizerItem] = []
    remove: list[FinalizerItem] = []
    empty: bool = False


class PatchFormat(Part, kw_only=True):
    """A change of the object."""

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
    """One of these."""

    event: EventFormat | None = None
    finalizers: FinalizersFormat | None = None
    delete: bool = False
    patch: PatchFormat | None = None
    apply: ApplyFormat | None = None


class Next(Part):
    """What the object turns into."""

    event: EventFormat | None = None
    finalizers: FinalizersFormat | None = None
    delete: bool = False
    status_template: str = ""
    status_subresource: str = "status"
    status_patch_as: Any = None
    patches: list[PatchFormat] = []


class StageSpec(Part):
    """A stage without its name."""

    resource_ref: ResourceRef
    selector: Selector | None = None
    weight: int = 0
    weight_from: ExpressionFrom | None = None
    delay: DelayFormat | None = None
    next: Next | None = None
    steps: list[Step] = []
    immediate_next_stage: bool = False


class Metadata(msgspec.Struct):
    """Anything may be said; the name counts."""

    name: str


class StageFormat(msgspec.Struct, kw_only=True, rename="camel"):
    """A whole document."""

    api_version: str
    kind: str
    metadata: Metadata
    spec: StageSpec
