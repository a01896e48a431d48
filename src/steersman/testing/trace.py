"""Bounded trace of the requests to an embedded cluster."""

from __future__ import annotations

from collections import deque
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apiserver.request import RequestInfo

#: Maximum number of recorded requests; the oldest are dropped.
REQUESTS_MAX: Final = 16_384
#: Fields of patterns.
PATTERN_FIELDS: Final = ("user", "user_agent", "verb", "resource", "namespace", "name", "code")
#: Verbs of resource requests, and additional verbs of non-resource requests.
_VERBS: Final = (
    "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
    "head", "options", "post", "put",
)  # fmt: skip
_WILDCARDS: Final = frozenset("*?[")


class PatternError(ValueError):
    """A pattern has an unknown field, or a value that no request has."""


class RequestRecord(msgspec.Struct, kw_only=True):
    """One request."""

    #: Time of the cluster's clock, in RFC 3339.
    time: str
    user_agent: str
    #: Empty if the request did not reach authentication.
    user: str = ""
    groups: tuple[str, ...] = ()
    verb: str
    #: ``pods``, ``deployments.apps``; empty for other paths.
    resource: str
    subresource: str
    namespace: str
    name: str
    path: str
    #: Status code; 0: no response was sent.
    code: int = 0
    duration_seconds: float = 0.0
    #: Revisions that the request committed.
    revisions: list[int] = msgspec.field(default_factory=list)
    #: Controller, key and cause of the reconcile that sent it; empty for requests of other processes.
    reconcile: str = ""
    #: Applied fault.
    fault: str = ""
    #: Changed fields of committed writes; set when the trace is read.
    diff: list[str] = msgspec.field(default_factory=list)

    def __str__(self) -> str:
        target = "/".join(filter(None, (self.resource, self.subresource))) or self.path
        object_name = "/".join(filter(None, (self.namespace, self.name)))
        text = (
            f"{self.time} {self.code or 'no response'} {self.verb} {target} {object_name} by {self.user_agent}".rstrip()
        )
        return f"{text} ({self.fault})" if self.fault else text


def resource_text(info: RequestInfo) -> str:
    """Return resource and group of a request: ``deployments.apps``."""
    if not info.is_resource:
        return ""
    return f"{info.resource}.{info.group}" if info.group else info.resource


def is_resource_match(pattern: str, resource: str, subresource: str) -> bool:
    """Report whether a request is for ``pods``, ``deployments`` (of any group), ``deployments.apps`` or ``pods/status``.

    Without a subresource the pattern matches all subresources.
    """
    resource_pattern, _, subresource_pattern = pattern.partition("/")
    if subresource_pattern and not fnmatchcase(subresource, subresource_pattern):
        return False
    return fnmatchcase(resource, resource_pattern) or fnmatchcase(resource.partition(".")[0], resource_pattern)


def check_patterns(*, verb: str = "", resource: str = "") -> None:
    """Raise ``PatternError`` for a verb or resource that no request has; wildcards are not checked."""
    if verb and verb not in _VERBS and not _WILDCARDS.intersection(verb):
        raise PatternError(f'verb: "{verb}" is no verb of a request, expected one of: {", ".join(_VERBS)}')
    if resource != resource.lower():
        raise PatternError(f'resource: "{resource}" is no resource, expected a plural in lower case, as "configmaps"')


class RequestTrace:
    """The latest requests, oldest first."""

    def __init__(self) -> None:
        self._records: deque[RequestRecord] = deque(maxlen=REQUESTS_MAX)
        #: Number of all requests so far.
        self.total = 0

    def add(self, record: RequestRecord) -> None:
        """Record a request at its start; the caller completes the record."""
        self._records.append(record)
        self.total += 1

    def __iter__(self) -> Iterator[RequestRecord]:
        return iter(tuple(self._records))

    def find(
        self,
        *,
        user: str = "",
        user_agent: str = "",
        verb: str = "",
        resource: str = "",
        namespace: str = "",
        name: str = "",
        code: int | None = None,
    ) -> list[RequestRecord]:
        """Return the requests that match all given patterns (``fnmatch``), oldest first.

        A user agent also matches by its prefix. Raises ``PatternError`` for values that no request can have.
        """
        check_patterns(verb=verb, resource=resource)
        if not isinstance(code, int | None):
            raise PatternError(f"code: expected a number, got {code!r}")
        return [
            record
            for record in self._records
            if (not user or fnmatchcase(record.user, user))
            and is_agent_match(user_agent, record.user_agent)
            and (not verb or fnmatchcase(record.verb, verb))
            and (not resource or is_resource_match(resource, record.resource, record.subresource))
            and (not namespace or fnmatchcase(record.namespace, namespace))
            and (not name or fnmatchcase(record.name, name))
            and (code is None or record.code == code)
        ]


def is_agent_match(pattern: str, user_agent: str) -> bool:
    """Report whether a user agent has a pattern as prefix or matches it. An empty pattern matches all."""
    return not pattern or user_agent.startswith(pattern) or fnmatchcase(user_agent, pattern)
