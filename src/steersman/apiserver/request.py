"""Attributes of a request: user, request info, context, warnings and audit annotations. Set by the filters.

Plain classes instead of Structs, as a request reads them some sixty times: compiled code (decision 0006) reads
attributes of its own classes directly, those of a Struct by name.
"""

from __future__ import annotations

import logging
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from steersman.apimachinery.managedfields.schema import Versions
    from steersman.apimachinery.selectors.labels import Requirement
    from steersman.apiserver.spec_facts import SpecFacts, SpecFactsCache

_log: Final = logging.getLogger(__name__)


class AuditLevel(IntEnum):
    """Audit level, each including the ones before. Upstream: ``audit.Level``."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


class Annotations:
    """Audit annotations of a request. Upstream: ``AuditContext``."""

    __slots__ = ("impersonation_constraint", "level", "values")

    def __init__(self) -> None:
        #: Verb of constrained impersonation; empty without.
        self.impersonation_constraint = ""
        #: Level of the policy; until it is evaluated, all annotations are kept.
        self.level = AuditLevel.REQUEST_RESPONSE
        #: Key → text; keys look like ``authorization.k8s.io/reason``.
        self.values: dict[str, str] = {}

    def add(self, key: str, value: str, *, level: AuditLevel = AuditLevel.METADATA) -> None:
        """Add an annotation, if at least ``level`` is recorded. Existing annotations are kept."""
        if self.level < level:
            return
        recorded = self.values.setdefault(key, value)
        if recorded != value:
            _log.warning("the audit annotation %s is %r already, not %r", key, recorded, value)


#: Total size of a response's warnings in characters, above which each is cut to ``_WARNING_MAX``.
_WARNINGS_MAX: Final = 4096
_WARNING_MAX: Final = 256


class LatencyTracker:
    """Time of one request that is not the server's own. Upstream: ``request.LatencyTrackers``."""

    __slots__ = ("excluded_seconds",)

    def __init__(self) -> None:
        #: Seconds in admission webhooks and in the queues of priority and fairness.
        self.excluded_seconds = 0.0


class WarningRecorder:
    """Warnings of one response, in order and without duplicates, within upstream's limits.

    Warnings are recorded in full up to 4096 characters. Beyond that each is cut to 256 characters, and further ones are
    recorded until the cut texts have 4096 characters; the rest is dropped.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/filters/warning.go
    """

    __slots__ = ("_is_truncating", "_texts", "_warning_bytes")

    def __init__(self) -> None:
        self._texts: Final[dict[str, None]] = {}
        self._warning_bytes = 0
        self._is_truncating = False

    @property
    def is_full(self) -> bool:
        """True if further warnings are dropped."""
        return self._is_truncating and self._warning_bytes >= _WARNINGS_MAX

    @property
    def texts(self) -> list[str]:
        """Return the warnings as the response has them."""
        return [text[:_WARNING_MAX] for text in self._texts] if self._is_truncating else list(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: str) -> None:
        """Record a warning. Empty texts and duplicates are ignored."""
        if not text or self.is_full or text in self._texts:
            return
        self._texts[text] = None
        if self._is_truncating:
            self._warning_bytes += min(len(text), _WARNING_MAX)
        elif self._warning_bytes + len(text) <= _WARNINGS_MAX:
            self._warning_bytes += len(text)
        else:
            self._is_truncating = True
            self._warning_bytes = sum(min(len(warning), _WARNING_MAX) for warning in self._texts)

    def add_all(self, texts: Iterable[str]) -> None:
        """Record warnings while there is space; further ``texts`` are not computed."""
        for text in texts:
            self.add(text)
            if self.is_full:
                return


def bounded_warnings(texts: Iterable[str]) -> list[str]:
    """Return the warnings that fit into a response."""
    recorder = WarningRecorder()
    recorder.add_all(texts)
    return recorder.texts


class UserInfo:
    """Authenticated user. Shared and immutable. Upstream: ``user.Info``."""

    __slots__ = ("extra", "groups", "name", "uid")

    def __init__(
        self,
        name: str,
        groups: tuple[str, ...] = (),
        uid: str = "",
        extra: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.name: Final[str] = name
        self.groups: Final[tuple[str, ...]] = groups
        self.uid: Final[str] = uid
        self.extra: Final[dict[str, tuple[str, ...]]] = {} if extra is None else extra

    def tree(self) -> dict[str, Any]:
        """Return the fields of ``UserInfo`` of ``authentication.k8s.io`` that are not empty."""
        tree: dict[str, Any] = {}
        if self.name:
            tree["username"] = self.name
        if self.uid:
            tree["uid"] = self.uid
        if self.groups:
            tree["groups"] = list(self.groups)
        if self.extra:
            tree["extra"] = {key: list(values) for key, values in self.extra.items()}
        return tree

    def _values(self) -> tuple[object, ...]:
        """Return the values that determine equality, in the order of the constructor."""
        return (self.name, self.groups, self.uid, self.extra)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UserInfo) and self._values() == other._values()

    #: Not hashable, as ``extra`` is a dict.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"UserInfo{self._values()!r}"


#: User of writes by the server itself, outside of its endpoints.
SERVER_USER: Final = UserInfo("system:apiserver", groups=("system:masters", "system:authenticated"))


class RequestInfo:
    """Attributes of a request derived from method, path and query. Shared by requests and immutable (see ``changed``).

    Upstream: ``request.RequestInfo``.
    """

    __slots__ = (
        "fields",
        "group",
        "is_resource",
        "labels",
        "name",
        "namespace",
        "parts",
        "path",
        "resource",
        "subresource",
        "verb",
        "version",
    )

    def __init__(  # noqa: PLR0917 — in the order of a path, and a call by position costs less
        self,
        verb: str,
        path: str,
        is_resource: bool = False,  # noqa: FBT001, FBT002 — as above
        group: str = "",
        version: str = "",
        namespace: str = "",
        resource: str = "",
        name: str = "",
        subresource: str = "",
        parts: tuple[str, ...] = (),
        fields: tuple[tuple[str, str, bool], ...] = (),
        labels: tuple[Requirement, ...] = (),
    ) -> None:
        #: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete``, ``deletecollection``; for
        #: non-resource paths the HTTP method in lower case.
        self.verb: Final = verb
        self.path: Final = path
        self.is_resource: Final = is_resource
        self.group: Final = group
        self.version: Final = version
        self.namespace: Final = namespace
        self.resource: Final = resource
        self.name: Final[str] = name
        self.subresource: Final = subresource
        #: Path after the subresource (``proxy/a/b`` → ``("a", "b")``).
        self.parts: Final = parts
        #: Requirements of a collection's field selector: (field, value, whether it must be equal).
        self.fields: Final = fields
        #: Requirements of a collection's label selector, if an authorizer reads them.
        self.labels: Final = labels

    def changed(
        self,
        *,
        verb: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        fields: tuple[tuple[str, str, bool], ...] | None = None,
        labels: tuple[Requirement, ...] | None = None,
    ) -> RequestInfo:
        """Return a copy with the given values replaced."""
        return RequestInfo(
            self.verb if verb is None else verb,
            self.path,
            self.is_resource,
            self.group,
            self.version,
            self.namespace,
            self.resource,
            self.name if name is None else name,
            self.subresource if subresource is None else subresource,
            self.parts,
            self.fields if fields is None else fields,
            self.labels if labels is None else labels,
        )

    def _values(self) -> tuple[object, ...]:
        """Return the values that determine equality, in the order of the constructor."""
        return (
            self.verb,
            self.path,
            self.is_resource,
            self.group,
            self.version,
            self.namespace,
            self.resource,
            self.name,
            self.subresource,
            self.parts,
            self.fields,
            self.labels,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RequestInfo) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"RequestInfo{self._values()!r}"


class RequestContext:
    """Request context for the registry, strategies and admission. Not shared between requests."""

    __slots__ = (
        "_spec_cache",
        "annotations",
        "audit_id",
        "dry_run",
        "field_manager",
        "group_resource",
        "is_first_of_spec",
        "is_large",
        "latency",
        "namespace",
        "now",
        "path_name",
        "spec_facts",
        "subresource",
        "user",
        "verb",
        "version",
        "versions",
        "warnings",
    )

    def __init__(
        self,
        user: UserInfo,
        now: datetime,
        *,
        namespace: str = "",
        path_name: str = "",
        version: str = "",
        verb: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        audit_id: str = "",
        warnings: WarningRecorder | None = None,
        group_resource: str = "",
        spec_cache: SpecFactsCache | None = None,
        annotations: Annotations | None = None,
        latency: LatencyTracker | None = None,
    ) -> None:
        self.user = user
        #: Server time of the request; all timestamps of one write are equal.
        self.now = now
        self.namespace = namespace
        #: Object name in the path; empty for collections.
        self.path_name = path_name
        #: API version of the request (``v1``) in the resource's group.
        self.version = version
        #: Versions of the resource for managed fields, if their conversions wait for a call; None: those of the scope.
        self.versions: Versions | None = None
        #: Verb of authorization: ``create``, ``update``, ``patch``, …
        self.verb = verb
        self.subresource = subresource
        self.dry_run = dry_run
        #: Field manager of writes, from ``fieldManager`` or the User-Agent.
        self.field_manager = field_manager
        self.audit_id = audit_id
        #: Texts of ``Warning`` headers.
        self.warnings: Final = WarningRecorder() if warnings is None else warnings
        self.latency: Final = LatencyTracker() if latency is None else latency
        #: Resource of the path as messages name it: ``pods``, ``deployments.apps``.
        self.group_resource = group_resource
        self._spec_cache = spec_cache
        #: No earlier body of a new object had this one's spec, so nothing is looked up or cached for the spec.
        self.is_first_of_spec = False
        #: Facts about the spec of a new Pod, set by its preparation; no later step changes the spec.
        self.spec_facts: SpecFacts | None = None
        #: Target of ``annotate``; None if the request is not audited.
        self.annotations = annotations
        #: True for large bodies, whose CPU-bound steps run in workers.
        self.is_large = False

    def changed(
        self, *, namespace: str | None = None, group_resource: str | None = None, dry_run: bool | None = None
    ) -> RequestContext:
        """Return the context of a further write of this request.

        Warnings, annotations and latency are shared. None: unchanged.
        """
        return RequestContext(
            self.user,
            self.now,
            namespace=self.namespace if namespace is None else namespace,
            path_name=self.path_name,
            version=self.version,
            verb=self.verb,
            subresource=self.subresource,
            dry_run=self.dry_run if dry_run is None else dry_run,
            field_manager=self.field_manager,
            audit_id=self.audit_id,
            warnings=self.warnings,
            group_resource=self.group_resource if group_resource is None else group_resource,
            spec_cache=self._spec_cache,
            annotations=self.annotations,
            latency=self.latency,
        )

    def facts_for(self, spec: dict[str, Any]) -> SpecFacts:
        """Return the facts about specs equal to ``spec``: new facts without a cache, and for the first object of a spec."""
        cache = self._spec_cache
        return new_facts(spec) if cache is None or self.is_first_of_spec else cache.facts_for(spec)

    def facts_of_new(self, spec: dict[str, Any]) -> SpecFacts:
        """Return ``spec_facts`` if set, else as ``facts_for``."""
        return self.facts_for(spec) if self.spec_facts is None else self.spec_facts

    def is_recorded(self, level: AuditLevel) -> bool:
        """Report whether audit annotations of ``level`` are recorded."""
        return self.annotations is not None and self.annotations.level >= level

    def annotate(self, key: str, value: str, *, level: AuditLevel = AuditLevel.METADATA) -> None:
        """Add an audit annotation, if at least ``level`` is recorded."""
        if self.annotations is not None:
            self.annotations.add(key, value, level=level)

    def warn(self, text: str) -> None:
        """Add a warning to the response."""
        self.warnings.add(text)

    def warn_all(self, texts: Iterable[str]) -> None:
        """Add warnings to the response, as far as they fit."""
        self.warnings.add_all(texts)
