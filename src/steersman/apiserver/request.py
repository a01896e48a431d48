"""What is known of one request: who asks, what for, and what the answer must mention. Filled in by the filters.

These are plain classes and no Structs, as every request reads them some sixty times: compiled code (decision 0006) reads
an attribute of a class of its own directly, and of a Struct by its name.
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
    from steersman.apiserver.spec_facts import SpecFacts, SpecFactsCache

_log: Final = logging.getLogger(__name__)


class AuditLevel(IntEnum):
    """How much of a request is recorded (``audit.Level`` upstream); each tells all that the ones before it tell."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


class Annotations:
    """What is noted of one request for the audit log, by whoever knows. Upstream's ``AuditContext`` annotations."""

    __slots__ = ("impersonation_constraint", "level", "values")

    def __init__(self) -> None:
        #: The right by which the caller acts as another, when it is one of the constrained kinds.
        self.impersonation_constraint = ""
        #: What the policy says; before it has been asked everything is noted.
        self.level = AuditLevel.REQUEST_RESPONSE
        #: Key → text; keys look like ``authorization.k8s.io/reason``.
        self.values: dict[str, str] = {}

    def add(self, key: str, value: str, *, level: AuditLevel = AuditLevel.METADATA) -> None:
        """Note something, if at least ``level`` is recorded. What has been noted stays: a second word is not heard."""
        if self.level < level:
            return
        kept = self.values.setdefault(key, value)
        if kept != value:
            _log.warning("the audit annotation %s is %r already, not %r", key, kept, value)


#: Characters of all warnings of an answer, beyond which each of them is cut to ``_WARNING_MAX``.
_WARNINGS_MAX: Final = 4096
_WARNING_MAX: Final = 256


class WarningRecorder:
    """Warnings of one answer, in order and without duplicates, within upstream's bounds.

    Warnings are recorded in full up to 4096 characters. Beyond that each is cut to 256 characters, and further ones are
    recorded until the cut texts have 4096 characters; the rest is dropped.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/filters/warning.go
    """

    __slots__ = ("_is_truncating", "_texts", "_written")

    def __init__(self) -> None:
        self._texts: Final[dict[str, None]] = {}
        self._written = 0
        self._is_truncating = False

    @property
    def is_full(self) -> bool:
        """True if further warnings are dropped."""
        return self._is_truncating and self._written >= _WARNINGS_MAX

    @property
    def texts(self) -> list[str]:
        """The warnings as the answer shows them."""
        return [text[:_WARNING_MAX] for text in self._texts] if self._is_truncating else list(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: str) -> None:
        """Record a warning. Empty texts and duplicates are ignored."""
        if not text or self.is_full or text in self._texts:
            return
        self._texts[text] = None
        if self._is_truncating:
            self._written += min(len(text), _WARNING_MAX)
        elif self._written + len(text) <= _WARNINGS_MAX:
            self._written += len(text)
        else:
            self._is_truncating = True
            self._written = sum(min(len(each), _WARNING_MAX) for each in self._texts)

    def add_all(self, texts: Iterable[str]) -> None:
        """Record warnings as long as there is room; the rest of ``texts`` is not computed."""
        for text in texts:
            self.add(text)
            if self.is_full:
                return


def bounded_warnings(texts: Iterable[str]) -> list[str]:
    """Return the warnings that an answer has room for."""
    recorder = WarningRecorder()
    recorder.add_all(texts)
    return recorder.texts


class UserInfo:
    """Who asks, as authentication found out (``user.Info`` upstream). A value: it is shared, and never changed."""

    __slots__ = ("extra", "groups", "name", "uid")

    def __init__(
        self,
        name: str,
        groups: tuple[str, ...] = (),
        uid: str = "",
        extra: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.name: Final = name
        self.groups: Final = groups
        self.uid: Final = uid
        self.extra: Final[dict[str, tuple[str, ...]]] = {} if extra is None else extra

    def _values(self) -> tuple[object, ...]:
        """What makes two of them equal, in the order of the constructor."""
        return (self.name, self.groups, self.uid, self.extra)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UserInfo) and self._values() == other._values()

    #: ``extra`` is a dict.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"UserInfo{self._values()!r}"


#: Who writes when the server does something of its own accord, past its endpoints.
SERVER_USER: Final = UserInfo("system:apiserver", groups=("system:masters", "system:authenticated"))


class RequestInfo:
    """What a URL and a method ask for, as authorization and the endpoints see it.

    A value: requests for the same path share one, so it is never changed (``changed`` makes another).
    """

    __slots__ = (
        "fields",
        "group",
        "is_resource",
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
    ) -> None:
        #: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete``, ``deletecollection``; for paths
        #: that name no resource the HTTP method in lower case.
        self.verb: Final = verb
        self.path: Final = path
        self.is_resource: Final = is_resource
        self.group: Final = group
        self.version: Final = version
        self.namespace: Final = namespace
        self.resource: Final = resource
        self.name: Final = name
        self.subresource: Final = subresource
        #: What follows the subresource (``proxy/a/b`` → ``("a", "b")``).
        self.parts: Final = parts
        #: Of a collection's request: what its field selector demands, as (field, value, whether it must be equal).
        self.fields: Final = fields

    def changed(
        self,
        *,
        verb: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        fields: tuple[tuple[str, str, bool], ...] | None = None,
    ) -> RequestInfo:
        """The same with another verb, name, subresource or field selector; None: as it is."""
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
        )

    def _values(self) -> tuple[object, ...]:
        """What makes two of them equal, in the order of the constructor."""
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
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RequestInfo) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"RequestInfo{self._values()!r}"


class RequestContext:
    """One request's facts as the registry, strategies and admission need them. Not shared between requests."""

    __slots__ = (
        "_spec_cache",
        "annotations",
        "audit_id",
        "dry_run",
        "field_manager",
        "group_resource",
        "is_large",
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
    ) -> None:
        self.user = user
        #: The server's time at which the request is served; every stamp in one write is this one.
        self.now = now
        self.namespace = namespace
        #: The object's name as the path has it; empty when the path is a collection's.
        self.path_name = path_name
        #: Version that the client speaks (``v1``), of the group of the resource.
        self.version = version
        #: Versions of the resource for managed fields, if their conversions wait for a call; None: those of the scope.
        self.versions: Versions | None = None
        #: What authorization was asked for: ``create``, ``update``, ``patch``, …
        self.verb = verb
        self.subresource = subresource
        self.dry_run = dry_run
        #: Owner of what is written; from ``fieldManager`` or the User-Agent.
        self.field_manager = field_manager
        self.audit_id = audit_id
        #: Texts of ``Warning`` headers.
        self.warnings: Final = WarningRecorder() if warnings is None else warnings
        #: As messages name what the path asks for: ``pods``, ``deployments.apps``.
        self.group_resource = group_resource
        self._spec_cache = spec_cache
        #: Facts about the spec of a new pod, set when the pod is prepared; no later step changes the spec.
        self.spec_facts: SpecFacts | None = None
        #: Where ``annotate`` notes; None when nobody records the request.
        self.annotations = annotations
        #: The body is so large that CPU-bound steps belong in workers.
        self.is_large = False

    def changed(
        self, *, namespace: str | None = None, group_resource: str | None = None, dry_run: bool | None = None
    ) -> RequestContext:
        """The facts of a further write that the request is about; None: as here. Warnings and notes are told together."""
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
        )

    def facts_for(self, spec: dict[str, Any]) -> SpecFacts:
        """Return what is known about specs equal to ``spec``; new facts where the server has no cache for the request."""
        return new_facts(spec) if self._spec_cache is None else self._spec_cache.facts_for(spec)

    def facts_of_new(self, spec: dict[str, Any]) -> SpecFacts:
        """Return ``spec_facts`` if they are known, else as ``facts_for``."""
        return self.facts_for(spec) if self.spec_facts is None else self.spec_facts

    def annotate(self, key: str, value: str, *, level: AuditLevel = AuditLevel.METADATA) -> None:
        """Note something for the audit log, if it records at least ``level`` of this request."""
        if self.annotations is not None:
            self.annotations.add(key, value, level=level)

    def warn(self, text: str) -> None:
        """Warn the client."""
        self.warnings.add(text)

    def warn_all(self, texts: Iterable[str]) -> None:
        """Warn the client of each text, as far as the answer has room."""
        self.warnings.add_all(texts)
