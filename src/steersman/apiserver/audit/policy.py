"""Audit policy: ``audit.k8s.io/v1 Policy``. Upstream: ``pkg/audit/policy``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.names import check_dns1123_subdomain
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.apiserver.request import AuditLevel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apiserver.request import RequestInfo, UserInfo

API_VERSION: Final = "audit.k8s.io/v1"
LEVELS: Final = {
    "None": AuditLevel.NONE,
    "Metadata": AuditLevel.METADATA,
    "Request": AuditLevel.REQUEST,
    "RequestResponse": AuditLevel.REQUEST_RESPONSE,
}
#: Stages of a request.
REQUEST_RECEIVED: Final = "RequestReceived"
RESPONSE_STARTED: Final = "ResponseStarted"
RESPONSE_COMPLETE: Final = "ResponseComplete"
PANIC: Final = "Panic"
STAGES: Final = (REQUEST_RECEIVED, RESPONSE_STARTED, RESPONSE_COMPLETE, PANIC)
#: A group that stands for every group.
_ANY: Final = "*"


class PolicyError(ValueError):
    """Invalid policy; the text is the reason."""


class _Strict(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    pass


class GroupResources(_Strict, frozen=True):
    """Resources of one API group; without names, all of them."""

    #: The empty string is the core group, ``*`` any group.
    group: str = ""
    #: ``pods``, ``pods/log``, ``pods/*``, ``*/scale``, ``*``.
    resources: tuple[str, ...] | None = None
    resource_names: tuple[str, ...] | None = None

    def match(self, info: RequestInfo) -> bool:
        """True if the request is for one of these resources."""
        if self.group not in (_ANY, info.group):
            return False
        if not self.resources:
            return True
        if self.resource_names and info.name not in self.resource_names:
            return False
        combined = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        patterns = {"*", combined, f"{info.resource}/*"}
        if info.subresource:
            patterns.add(f"*/{info.subresource}")
        return not patterns.isdisjoint(self.resources)


class PolicyRule(_Strict, frozen=True):
    """One rule; unset fields match everything."""

    level: str = ""
    users: tuple[str, ...] | None = None
    user_groups: tuple[str, ...] | None = None
    verbs: tuple[str, ...] | None = None
    resources: tuple[GroupResources, ...] | None = None
    #: Namespaces; the empty string matches cluster-scoped requests.
    namespaces: tuple[str, ...] | None = None
    non_resource_urls: tuple[str, ...] | None = msgspec.field(default=None, name="nonResourceURLs")
    omit_stages: tuple[str, ...] | None = None
    omit_managed_fields: bool | None = None

    def match(self, user: UserInfo, info: RequestInfo) -> bool:
        """True if the rule matches the request."""
        if self.users and user.name not in self.users:
            return False
        if self.user_groups and set(self.user_groups).isdisjoint(user.groups):
            return False
        if self.verbs and info.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return info.is_resource and self._match_resource(info)
        if self.non_resource_urls:
            return not info.is_resource and any(_match_path(url, info.path) for url in self.non_resource_urls)
        return True

    def _match_resource(self, info: RequestInfo) -> bool:
        if self.namespaces and info.namespace not in self.namespaces:
            return False
        return not self.resources or any(one.match(info) for one in self.resources)


class _Document(_Strict, frozen=True):
    api_version: str = ""
    kind: str = ""
    metadata: dict[str, Any] | None = None
    rules: tuple[PolicyRule, ...] | None = None
    omit_stages: tuple[str, ...] | None = None
    omit_managed_fields: bool = False


class Outcome(msgspec.Struct, frozen=True):
    """Result of a policy for one request."""

    level: AuditLevel
    omit_stages: frozenset[str]
    omit_managed_fields: bool


class Policy:
    """Ordered rules; the first match decides. Requests without a match are not recorded."""

    def __init__(self, document: _Document) -> None:
        always = document.omit_stages or ()
        everywhere = document.omit_managed_fields
        self._otherwise: Final = Outcome(AuditLevel.NONE, frozenset(always), everywhere)
        self._rules: Final = [
            (
                rule,
                Outcome(
                    LEVELS[rule.level],
                    frozenset((*always, *(rule.omit_stages or ()))),
                    everywhere if rule.omit_managed_fields is None else rule.omit_managed_fields,
                ),
            )
            for rule in document.rules or ()
        ]

    def evaluate(self, user: UserInfo, info: RequestInfo) -> Outcome:
        """Return the outcome for a request."""
        for rule, outcome in self._rules:
            if rule.match(user, info):
                return outcome
        return self._otherwise


def read_policy(raw: bytes) -> Policy:
    """Parse a policy file, YAML or JSON. Raises ``PolicyError``, also for unknown fields."""
    try:
        yaml = decode_yaml(raw)
        if yaml.duplicates:
            raise PolicyError(yaml.strict_error())
        document = msgspec.convert(yaml.tree, _Document)
    except (DecodeError, msgspec.ValidationError) as error:
        raise PolicyError(str(error)) from None
    if document.api_version != API_VERSION or document.kind != "Policy":
        type_text = f"kind {quote(document.kind)} of apiVersion {quote(document.api_version)}"
        raise PolicyError(f"{type_text} is no Policy of {API_VERSION}")
    errors = list(_faults(document))
    if errors:
        raise PolicyError("; ".join(errors))
    return Policy(document)


def _faults(document: _Document) -> Iterator[str]:
    """Yield validation errors. Upstream: ``ValidatePolicy``."""
    yield from _stage_faults("omitStages", document.omit_stages)
    if not document.rules:
        yield "rules: a policy without rules records nothing"
    for number, rule in enumerate(document.rules or ()):
        place = f"rules[{number}]"
        if rule.level not in LEVELS:
            yield f"{place}.level: unsupported value {quote(rule.level)}, use {', '.join(LEVELS)}"
        if rule.non_resource_urls and (rule.resources or rule.namespaces):
            yield f"{place}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs"
        for url in rule.non_resource_urls or ():
            if url != "*" and not url.startswith("/"):
                yield f"{place}.nonResourceURLs: {quote(url)} must start with a '/' character"
            elif "*" in url[:-1]:
                yield f"{place}.nonResourceURLs: {quote(url)} has a wildcard that is not the last character"
        for index, resources in enumerate(rule.resources or ()):
            yield from _resource_faults(f"{place}.resources[{index}]", resources)
        yield from _stage_faults(f"{place}.omitStages", rule.omit_stages)


def _resource_faults(place: str, resources: GroupResources) -> Iterator[str]:
    if "/" in resources.group:
        yield f"{place}.group: {quote(resources.group)} is no name of a group; it goes without its version"
    elif resources.group not in ("", _ANY):
        for fault in check_dns1123_subdomain(resources.group):
            yield f"{place}.group: {quote(resources.group)}: {fault}"
    if resources.resource_names and not resources.resources:
        yield f"{place}.resourceNames: using resourceNames requires at least one resource"


def _stage_faults(place: str, stages: tuple[str, ...] | None) -> Iterator[str]:
    for stage in stages or ():
        if stage not in STAGES:
            yield f"{place}: unsupported value {quote(stage)}, use {', '.join(STAGES)}"


def _match_path(url: str, path: str) -> bool:
    if url.endswith("*"):
        return path.startswith(url.rstrip("*"))
    return url == path
