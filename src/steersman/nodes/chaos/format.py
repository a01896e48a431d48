"""File format of chaos rules and its validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.durations import parse_duration
from steersman.nodes.node_object import TemplateError
from steersman.nodes.simulation.behavior import EVICTION_RESOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Kinds of failures, and the fields that each takes beside ``name``, ``failure``, ``select`` and ``probability``.
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
    #: Mean time between failures; None: there is one, ``after`` the start.
    every: float | None = None
    #: Duration of the failure; None: forever.
    duration: float | None = None
    times: int | None = None
    exit_code: int | None = None
    message: str = ""
    resource: str = ""


def read_rules(document: Any) -> tuple[int, list[Rule]]:
    """Return the seed and the rules of a document. Raises TemplateError with the field and the fault."""
    try:
        made = msgspec.convert(document, ChaosFormat)
    except msgspec.ValidationError as error:
        raise TemplateError(str(error)) from None
    rules = [_rule(each, position) for position, each in enumerate(made.rules)]
    names = [each.name for each in rules]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise TemplateError(f"rules[{position}].name: {name!r} is the name of another rule")
    return made.seed, rules


def _rule(made: RuleFormat, position: int) -> Rule:
    where = f"rules[{position}]"
    for field, fault in _faults(made):
        raise TemplateError(f"{where}.{field}: {fault}")
    seconds = {name: _seconds(text, f"{where}.{name}") for name, text in _durations(made).items() if text}
    every, duration = seconds.get("every"), seconds.get("for")
    if every == 0:
        raise TemplateError(f"{where}.every: must be greater than 0")
    if made.failure == "stop-node" and every is not None and (duration is None or duration >= every):
        raise TemplateError(f"{where}.for: must be set and less than every")
    return Rule(
        failure=made.failure,
        name=made.name or f"rule-{position}",
        select=made.select,
        probability=made.probability,
        after=seconds.get("after", 0.0),
        every=every,
        duration=duration,
        times=made.times,
        exit_code=made.exit_code,
        message=made.message,
        resource=made.resource,
    )


def _durations(made: RuleFormat) -> dict[str, str]:
    return {"after": made.after, "every": made.every, "for": made.for_}


def _faults(made: RuleFormat) -> Iterator[tuple[str, str]]:
    """Yield fields with invalid values, and the reasons."""
    takes = FAILURES.get(made.failure)
    if takes is None:
        yield "failure", f"{made.failure!r} is not one of {', '.join(FAILURES)}"
        return
    given = {
        **_durations(made), "times": made.times, "exitCode": made.exit_code, "message": made.message,
        "resource": made.resource,
    }  # fmt: skip
    for field, value in given.items():
        if value not in ("", None) and field not in takes:
            yield field, f"is not used by {made.failure}, which takes {', '.join(takes)}"
    if not 0 <= made.probability <= 1:
        yield "probability", f"{made.probability} is not between 0 and 1"
    if made.after and made.every:
        yield "every", "cannot be combined with after"
    if made.failure == "slow-start" and not made.for_:
        yield "for", "is required by slow-start"
    if made.times is not None and made.times < 1:
        yield "times", f"{made.times} is less than 1"
    if made.exit_code is not None and not 1 <= made.exit_code <= _EXIT_CODE_MAX:
        yield "exitCode", f"{made.exit_code} is not between 1 and {_EXIT_CODE_MAX}"
    if made.resource and made.resource not in EVICTION_RESOURCES:
        yield "resource", f"{made.resource!r} is not one of {', '.join(EVICTION_RESOURCES)}"
    pods_only = ("namespaces", "names", "containers", "images", "labels")
    if made.failure == "stop-node" and (named := [each for each in pods_only if getattr(made.select, each)]):
        yield f"select.{named[0]}", "selects pods; stop-node takes nodes and nodeLabels"


def _seconds(text: str, where: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise TemplateError(f"{where}: {error}") from None
    if seconds < 0:
        raise TemplateError(f"{where}: {text} is less than 0")
    return seconds
