"""Faults of an embedded cluster: pattern, effect and number of hits. Pure; ``application`` applies them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.testing.errors import field_and_reason
from steersman.testing.trace import PatternError, check_patterns, is_agent_match, is_resource_match, resource_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from steersman.apiserver.request import RequestInfo

#: Responses other than status codes: no response, a broken connection, a broken connection after the request took effect, or
#: the response to a request that a proxy has sent twice.
CONNECTION_FAULTS: Final = ("timeout", "reset", "lose-answer", "duplicate")
#: Status codes that a fault can respond with, and their reasons.
REASONS: Final = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired",
    422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout",
}  # fmt: skip
#: User agents of the components that ``partition`` accepts by name.
COMPONENTS: Final = {
    "controller-manager": "kube-controller-manager",
    "scheduler": "kube-scheduler",
    "nodes": "kubelet",
    "kubelet": "kubelet",
}
_FIELDS: Final = (
    "verb", "resource", "name", "namespace", "user_agent", "respond", "delay_seconds", "after", "times", "probability",
    "stale_seconds", "optional", "label",
)  # fmt: skip


class FaultError(ValueError):
    """A fault has an unknown field or an invalid value; the message names the field."""


class LeftoverFaults(AssertionError):  # noqa: N818 — named by the condition
    """Faults had fewer hits than expected."""


class Fault(msgspec.Struct, kw_only=True, eq=False):
    """One fault. Empty patterns match all requests; patterns are those of ``fnmatch``."""

    verb: str = ""
    #: ``pods``, ``deployments.apps``, ``pods/status``.
    resource: str = ""
    name: str = ""
    namespace: str = ""
    #: Beginning or pattern of the User-Agent header.
    user_agent: str = ""
    #: Status code, or one of ``CONNECTION_FAULTS``; None: the request is served.
    respond: int | str | None = None
    #: Delay before the request is served.
    delay_seconds: float = 0.0
    #: Number of matching requests before the first hit.
    after: int = 0
    #: Number of hits; None: until removed.
    times: int | None = None
    probability: float = 1.0
    #: Delay of a lagging watch cache: reads from it return the state of that long ago, and watches receive events late by it.
    stale_seconds: float = 0.0
    #: True if no hit is required.
    optional: bool = False
    #: Name in reports.
    label: str = ""
    #: Number of matching requests, and of those that the fault was applied to.
    matches: int = 0
    hits: int = 0
    is_removed: bool = False

    def remove(self) -> None:
        """End the fault. Idempotent."""
        self.is_removed = True

    @property
    def is_active(self) -> bool:
        """True if the fault can be applied again."""
        return not self.is_removed and (self.times is None or self.hits < self.times)

    @property
    def is_leftover(self) -> bool:
        """True if the fault has fewer hits than expected: ``times``, or one."""
        return not self.optional and self.hits < (1 if self.times is None else self.times)

    def __str__(self) -> str:
        if self.label:
            return self.label
        requests = f"{self.verb or 'any verb'} {self.resource or 'any resource'}"
        names = "/".join(filter(None, (self.namespace, self.name)))
        agent = f" by {self.user_agent}" if self.user_agent else ""
        effect = f"respond {self.respond}" if self.respond is not None else f"delay {self.delay_seconds:g} s"
        if self.stale_seconds:
            effect = f"state of {self.stale_seconds:g} s ago"
        return f"{effect} to {requests} {names}".rstrip() + agent

    def matches_request(self, info: RequestInfo, user_agent: str) -> bool:
        """Report whether a request has the fault's verb, resource, name and user agent."""
        return (
            (not self.verb or fnmatchcase(info.verb, self.verb))
            and (not self.resource or is_resource_match(self.resource, resource_text(info), info.subresource))
            and (not self.name or fnmatchcase(info.name, self.name))
            and (not self.namespace or fnmatchcase(info.namespace, self.namespace))
            and is_agent_match(self.user_agent, user_agent)
        )


def make_fault(**fields: Any) -> Fault:
    """Return a fault. Raises ``FaultError`` for unknown fields and invalid values."""
    for field in fields:
        if field not in _FIELDS:
            raise FaultError(f'unknown field "{field}" of a fault, expected one of: {", ".join(_FIELDS)}')
    try:
        fault = msgspec.convert(fields, Fault)
        check_patterns(verb=fault.verb, resource=fault.resource)
    except msgspec.ValidationError as error:
        raise FaultError(": ".join(field_and_reason(error))) from error
    except PatternError as error:
        raise FaultError(str(error)) from error
    respond = fault.respond
    if isinstance(respond, str) and respond.isdigit():
        respond = fault.respond = int(respond)
    if respond is not None and respond not in REASONS and respond not in CONNECTION_FAULTS:
        expected = ", ".join([*map(str, REASONS), *CONNECTION_FAULTS])
        raise FaultError(f"respond: cannot respond {respond!r}, expected one of: {expected}")
    if not 0 < fault.probability <= 1:
        raise FaultError(f"probability: {fault.probability:g} is not above 0 and at most 1")
    if fault.times is not None and fault.times < 1:
        raise FaultError(f"times: {fault.times} is less than 1")
    for field in ("after", "delay_seconds", "stale_seconds"):
        if getattr(fault, field) < 0:
            raise FaultError(f"{field}: {getattr(fault, field):g} is negative")
    if fault.stale_seconds and (respond is not None or fault.delay_seconds or fault.after or fault.probability < 1):
        raise FaultError("stale_seconds: stale reads have no response, delay, spared requests or probability")
    if respond is None and not fault.delay_seconds and not fault.stale_seconds:
        raise FaultError("respond: a fault needs a response, a delay or stale reads")
    return fault


class FaultSet:
    """Faults in order of creation; the first active fault that matches the request, and its probability, is applied."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._faults: list[Fault] = []

    def __iter__(self) -> Iterator[Fault]:
        return iter(tuple(self._faults))

    def add(self, fault: Fault) -> Fault:
        """Add a fault."""
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Remove all faults."""
        for fault in self._faults:
            fault.remove()
        self._faults.clear()

    def select(self, info: RequestInfo, user_agent: str) -> Fault | None:
        """Return the fault to apply to a request and count the hit; None if the request is served."""
        for fault in self._faults:
            if fault.stale_seconds or not fault.is_active or not fault.matches_request(info, user_agent):
                continue
            fault.matches += 1
            if fault.matches <= fault.after:
                continue
            if fault.probability < 1 and self._dice.random() >= fault.probability:
                continue
            fault.hits += 1
            return fault
        return None

    def select_stale(self, info: RequestInfo, user_agent: str) -> Fault | None:
        """Return the fault that makes a read stale, without counting a hit; None if the watch cache is up to date."""
        for fault in self._faults:
            if fault.stale_seconds and fault.is_active and fault.matches_request(info, user_agent):
                return fault
        return None

    def check_leftover(self) -> None:
        """Raise ``LeftoverFaults`` if a fault has fewer hits than expected."""
        leftovers = [fault for fault in self._faults if fault.is_leftover]
        if leftovers:
            lines = [f"{fault}: {fault.hits} hits, expected {fault.times or 'at least 1'}" for fault in leftovers]
            raise LeftoverFaults("faults were not hit:\n" + "\n".join(lines))
