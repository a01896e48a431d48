"""File format of chaos rules and its validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.durations import parse_duration
from steersman.nodes.node_object import TemplateError
from steersman.nodes.simulation.behavior import EVICTION_RESOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Kinds of failures, and their fields in addition to ``name``, ``failure``, ``select`` and ``probability``.
FAILURES: Final = {
    "image-pull": ("for", "message"),
    "crash": ("after", "every", "times", "exitCode"),
    "oom": ("after", "every", "times"),
    "hang": ("after", "every", "times"),
    "not-ready": ("after", "every", "for"),
    "slow-start": ("for",),
    "evict": ("after", "every", "resource"),
    "stop-node": ("after", "every", "for"),
}
_EXIT_CODE_MAX: Final = 255


class _Part(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Base of the structs of the file; unknown fields are errors."""


class Select(_Part, frozen=True):
    """Pods and nodes that a rule applies to: all conditions hold. Names are shell patterns."""

    namespaces: list[str] = []
    names: list[str] = []
    containers: list[str] = []
    images: list[str] = []
    labels: dict[str, str] = {}
    nodes: list[str] = []
    node_labels: dict[str, str] = {}


class RuleFormat(_Part, frozen=True):
    """One rule as written in the file."""

    failure: str
    name: str = ""
    select: Select = Select()
    #: Share of the selected pods or nodes that fail.
    probability: float = 1.0
    after: str = ""
    every: str = ""
    for_: str = msgspec.field(default="", name="for")
    times: int | None = None
    exit_code: int | None = None
    message: str = ""
    resource: str = ""


class ChaosFormat(_Part, frozen=True):
    """The chaos rules file."""

    rules: list[RuleFormat]
    seed: int = 0


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A valid rule; times in seconds."""

    failure: str
    name: str
    select: Select = Select()
    probability: float = 1.0
    after: float = 0.0
    #: Mean time between failures; None for a single failure, ``after`` the start.
    every: float | None = None
    #: Duration of the failure; None: forever.
    duration: float | None = None
    times: int | None = None
    exit_code: int | None = None
    message: str = ""
    resource: str = ""


def read_rules(document: Any) -> tuple[int, list[Rule]]:
    """Return the seed and the rules of a document. Raises TemplateError with the field and the reason."""
    try:
        chaos = msgspec.convert(document, ChaosFormat)
    except msgspec.ValidationError as error:
        raise TemplateError(str(error)) from None
    rules = [_rule(rule, position) for position, rule in enumerate(chaos.rules)]
    names = [rule.name for rule in rules]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise TemplateError(f"rules[{position}].name: {name!r} is the name of another rule")
    return chaos.seed, rules


def _rule(rule: RuleFormat, position: int) -> Rule:
    path = f"rules[{position}]"
    for field, fault in _faults(rule):
        raise TemplateError(f"{path}.{field}: {fault}")
    seconds = {name: _seconds(text, f"{path}.{name}") for name, text in _durations(rule).items() if text}
    every, duration = seconds.get("every"), seconds.get("for")
    if every == 0:
        raise TemplateError(f"{path}.every: must be greater than 0")
    if rule.failure == "stop-node" and every is not None and (duration is None or duration >= every):
        raise TemplateError(f"{path}.for: must be set and less than every")
    return Rule(
        failure=rule.failure,
        name=rule.name or f"rule-{position}",
        select=rule.select,
        probability=rule.probability,
        after=seconds.get("after", 0.0),
        every=every,
        duration=duration,
        times=rule.times,
        exit_code=rule.exit_code,
        message=rule.message,
        resource=rule.resource,
    )


def _durations(rule: RuleFormat) -> dict[str, str]:
    return {"after": rule.after, "every": rule.every, "for": rule.for_}


def _faults(rule: RuleFormat) -> Iterator[tuple[str, str]]:
    """Yield fields with invalid values, and the reasons."""
    takes = FAILURES.get(rule.failure)
    if takes is None:
        yield "failure", f"{rule.failure!r} is not one of {', '.join(FAILURES)}"
        return
    values = {
        **_durations(rule), "times": rule.times, "exitCode": rule.exit_code, "message": rule.message,
        "resource": rule.resource,
    }  # fmt: skip
    for field, value in values.items():
        if value not in ("", None) and field not in takes:
            yield field, f"is not used by {rule.failure}, which takes {', '.join(takes)}"
    if not 0 <= rule.probability <= 1:
        yield "probability", f"{rule.probability} is not between 0 and 1"
    if rule.after and rule.every:
        yield "every", "cannot be combined with after"
    if rule.failure == "slow-start" and not rule.for_:
        yield "for", "is required by slow-start"
    if rule.times is not None and rule.times < 1:
        yield "times", f"{rule.times} is less than 1"
    if rule.exit_code is not None and not 1 <= rule.exit_code <= _EXIT_CODE_MAX:
        yield "exitCode", f"{rule.exit_code} is not between 1 and {_EXIT_CODE_MAX}"
    if rule.resource and rule.resource not in EVICTION_RESOURCES:
        yield "resource", f"{rule.resource!r} is not one of {', '.join(EVICTION_RESOURCES)}"
    pods_only = ("namespaces", "names", "containers", "images", "labels")
    if rule.failure == "stop-node" and (
        named := [selector_name for selector_name in pods_only if getattr(rule.select, selector_name)]
    ):
        yield f"select.{named[0]}", "selects pods; stop-node takes nodes and nodeLabels"


def _seconds(text: str, path: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise TemplateError(f"{path}: {error}") from None
    if seconds < 0:
        raise TemplateError(f"{path}: {text} is less than 0")
    return seconds
