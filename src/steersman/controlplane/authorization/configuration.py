"""``AuthorizationConfiguration`` of ``--authorization-config``. Loaded when the flag is given.

Upstream: staging/src/k8s.io/apiserver/pkg/apis/apiserver/{types.go,v1/defaults.go,validation/validation.go},
``LoadAndValidateData`` of pkg/kubeapiserver/authorizer/config.go
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery import field
from steersman.apimachinery.config_file import ConfigFileError, decode_config
from steersman.apimachinery.durations import format_duration, parse_duration
from steersman.apimachinery.field import aggregate
from steersman.apimachinery.names import check_dns1123_subdomain
from steersman.controlplane.authorization.authorizers import (
    REVIEW_VERSIONS,
    TYPES,
    WEBHOOK,
    AuthorizerConfiguration,
    WebhookConfiguration,
    authorizer_name,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from steersman.apimachinery.field import FieldError

_KIND: Final = "AuthorizationConfiguration"
_API_VERSIONS: Final = tuple(f"apiserver.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
_IN_CLUSTER, _KUBECONFIG_FILE = "InClusterConfig", "KubeConfigFile"
_FAILURE_POLICIES: Final = ("NoOpinion", "Deny")
_CONDITIONS_MAX: Final = 64
_TIMEOUT_SECONDS_MAX: Final = 30.0
_TOO_SHORT: Final = "must be > 0s"


class _ConnectionInfo(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    kube_config_file: str | None = None


class _MatchCondition(msgspec.Struct, frozen=True):
    expression: str = ""


class _Webhook(msgspec.Struct, frozen=True, rename="camel"):
    authorized_ttl: str = msgspec.field(default="5m", name="authorizedTTL")
    cache_authorized_requests: bool = True
    unauthorized_ttl: str = msgspec.field(default="30s", name="unauthorizedTTL")
    cache_unauthorized_requests: bool = True
    timeout: str = "0s"
    subject_access_review_version: str = ""
    match_condition_subject_access_review_version: str = ""
    failure_policy: str = ""
    connection_info: _ConnectionInfo = _ConnectionInfo()
    match_conditions: tuple[_MatchCondition, ...] = ()


class _Authorizer(msgspec.Struct, frozen=True):
    type: str = ""
    name: str = ""
    webhook: _Webhook | None = None


class _Configuration(msgspec.Struct, frozen=True):
    authorizers: tuple[_Authorizer, ...] = ()


def read_authorization_configuration(
    data: bytes, *, required_types: Collection[str] = ()
) -> list[AuthorizerConfiguration]:
    """Return the authorizers of a file. ``required_types`` must be among them. Raises ``ConfigFileError``."""
    configuration = _Configuration()
    if data:  # an empty file is a configuration without authorizers
        configuration = decode_config(data, _Configuration, kind=_KIND, api_versions=_API_VERSIONS)
    if errors := list(_validate(configuration)):
        raise ConfigFileError(aggregate(errors))
    others = [authorizer for authorizer in configuration.authorizers if authorizer.type != WEBHOOK]
    problems = [
        f"expected name {expected} for authorizer {authorizer.type} instead of {authorizer.name}"
        for authorizer in others
        if (expected := authorizer_name(authorizer.type)) != authorizer.name
    ]
    if missing := sorted(set(required_types) - {authorizer.type for authorizer in others}):
        problems.append(f"missing required types: [{' '.join(missing)}]")
    if problems:
        raise ConfigFileError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return [
        AuthorizerConfiguration(
            authorizer.type, authorizer.name, None if authorizer.webhook is None else _webhook_of(authorizer.webhook)
        )
        for authorizer in configuration.authorizers
    ]


def _webhook_of(webhook: _Webhook) -> WebhookConfiguration:
    return WebhookConfiguration(
        Path(webhook.connection_info.kube_config_file or ""),
        webhook.subject_access_review_version,
        _ttl_seconds(webhook.authorized_ttl, "5m") if webhook.cache_authorized_requests else 0.0,
        _ttl_seconds(webhook.unauthorized_ttl, "30s") if webhook.cache_unauthorized_requests else 0.0,
        parse_duration(webhook.timeout),
        denies_on_error=webhook.failure_policy == "Deny",
        expressions=tuple(condition.expression for condition in webhook.match_conditions),
    )


def _ttl_seconds(text: str, default: str) -> float:
    """Return a time in the cache; zero is the default. Upstream: ``SetDefaults_WebhookConfiguration``."""
    return parse_duration(text) or parse_duration(default)


# -- validation ----------------------------------------------------------------------------------------------------------


def _validate(configuration: _Configuration) -> Iterator[FieldError]:
    root = field.Path("authorizers")
    if not configuration.authorizers:
        yield field.required(root, "at least one authorization mode must be defined")
    types: set[str] = set()
    names: set[str] = set()
    for position, authorizer in enumerate(configuration.authorizers):
        path, type_, name = root.index(position), authorizer.type, authorizer.name
        if not type_:
            yield field.required(path.child("type"))
            continue
        if type_ not in TYPES:
            yield field.not_supported(path.child("type"), type_, sorted(TYPES))
            continue
        if type_ in types and type_ != WEBHOOK:
            yield field.duplicate(path.child("type"), type_)
            continue
        types.add(type_)
        if not name:
            yield field.required(path.child("name"))
        elif name in names:
            yield field.duplicate(path.child("name"), name)
        elif faults := check_dns1123_subdomain(name):
            yield field.invalid(path.child("name"), name, f"authorizer name is invalid: {', '.join(faults)}")
        names.add(name)
        if type_ != WEBHOOK:
            if authorizer.webhook is not None:
                yield field.invalid(path.child("webhook"), "non-null", "may only be specified when type=Webhook")
        elif authorizer.webhook is None:
            yield field.required(path.child("webhook"), "required when type=Webhook")
        else:
            yield from _validate_webhook(authorizer.webhook, path)


def _validate_webhook(webhook: _Webhook, path: field.Path) -> Iterator[FieldError]:
    """Validate a webhook. As upstream, paths lack the element ``webhook``."""
    yield from _validate_duration(
        webhook.timeout, path.child("timeout"), "must be > 0s and <= 30s", seconds_max=_TIMEOUT_SECONDS_MAX
    )
    yield from _validate_duration(webhook.authorized_ttl, path.child("authorizedTTL"), _TOO_SHORT, has_default=True)
    yield from _validate_duration(webhook.unauthorized_ttl, path.child("unauthorizedTTL"), _TOO_SHORT, has_default=True)
    version, version_path = webhook.subject_access_review_version, path.child("subjectAccessReviewVersion")
    yield from _validate_choice(version, version_path, REVIEW_VERSIONS)
    version = webhook.match_condition_subject_access_review_version
    version_path = path.child("matchConditionSubjectAccessReviewVersion")
    if version:
        yield from _validate_choice(version, version_path, ("v1",))
    elif webhook.match_conditions:
        yield field.required(version_path, "required if match conditions are specified")
    yield from _validate_choice(webhook.failure_policy, path.child("failurePolicy"), _FAILURE_POLICIES)
    yield from _validate_connection(webhook.connection_info, path.child("connectionInfo"))
    yield from _validate_conditions(webhook.match_conditions, path.child("matchConditions"))


def _validate_choice(value: str, path: field.Path, supported: Collection[str]) -> Iterator[FieldError]:
    if not value:
        yield field.required(path)
    elif value not in supported:
        yield field.not_supported(path, value, supported)


def _validate_duration(
    text: str, path: field.Path, detail: str, *, has_default: bool = False, seconds_max: float = float("inf")
) -> Iterator[FieldError]:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        yield field.invalid(path, text, str(error))
        return
    if not seconds:
        if not has_default:
            yield field.required(path)
    elif not 0 < seconds <= seconds_max:
        yield field.invalid(path, format_duration(seconds), detail)


def _validate_connection(connection: _ConnectionInfo, path: field.Path) -> Iterator[FieldError]:
    file, file_path = connection.kube_config_file, path.child("kubeConfigFile")
    yield from _validate_choice(connection.type, path.child("type"), (_IN_CLUSTER, _KUBECONFIG_FILE))
    if connection.type == _IN_CLUSTER:
        if file is not None:
            yield field.invalid(file_path, file, "can only be set when type=KubeConfigFile")
        yield field.invalid(path.child("type"), connection.type, "is not allowed for kube-apiserver")
    elif connection.type == _KUBECONFIG_FILE:
        if not file:
            yield field.required(file_path)
        elif fault := _file_fault(Path(file)):
            yield field.invalid(file_path, file, fault)


def _file_fault(file: Path) -> str:
    """Return why a path names no file; empty if it does."""
    if not file.is_absolute():
        return "must be an absolute path"
    try:
        mode = file.stat().st_mode
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", "") or str(error)).lower()
        return f"error loading file: stat {file}: {reason}"
    return "" if stat.S_ISREG(mode) else "must be a regular file"


def _validate_conditions(conditions: Collection[_MatchCondition], path: field.Path) -> Iterator[FieldError]:
    if len(conditions) > _CONDITIONS_MAX:
        yield field.too_many(path, len(conditions), max_items=_CONDITIONS_MAX)
        return
    seen: set[str] = set()
    for position, condition in enumerate(conditions):
        expression, expression_path = condition.expression, path.index(position).child("expression")
        if not expression.strip():
            yield field.required(expression_path)
        elif expression in seen:
            yield field.duplicate(expression_path, expression)
        else:
            seen.add(expression)
            yield from _compile(expression, expression_path)


def _compile(expression: str, path: field.Path) -> Iterator[FieldError]:
    from steersman.cel.admission import ExpressionError  # noqa: PLC0415 — loads the expression language
    from steersman.cel.authorization import compile_condition  # noqa: PLC0415

    try:
        compile_condition(expression)
    except ExpressionError as error:
        yield field.internal(path, str(error)) if error.is_internal else field.invalid(path, expression, str(error))
