"""Validation of ``AuthenticationConfiguration``, which compiles its expressions.

Upstream: staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation.go
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.domain_paths import check_domain_prefixed_path
from steersman.apimachinery.field import Path
from steersman.apimachinery.go_urls import parse_url, url_fault
from steersman.apiserver.authn.claim_mapping import CompiledExpressions, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.authn.authentication_configuration import (
        AnonymousAuthConfig,
        AuthenticationConfiguration,
        ClaimMappings,
        ClaimOrExpression,
        ClaimValidationRule,
        ExtraMapping,
        Issuer,
        JWTAuthenticatorConfig,
        PrefixedClaimOrExpression,
        UserValidationRule,
    )
    from steersman.cel.program import Program

_AUTHENTICATORS_MAX: Final = 64
_MATCH_ANY: Final = "MatchAny"
_EGRESS_SELECTORS: Final = ("controlplane", "cluster")
_RESERVED_DOMAINS: Final = ("kubernetes.io", "k8s.io")
_UNVERIFIED_EMAIL: Final = (
    "claims.email_verified must be used in claimMappings.username.expression or"
    " claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in"
    " claimMappings.username.expression"
)


def validate_configuration(
    configuration: AuthenticationConfiguration, disallowed_issuers: Collection[str]
) -> tuple[list[CompiledExpressions], list[FieldError]]:
    """Return the programs of each authenticator, and the errors. ``disallowed_issuers``: of service account tokens."""
    root = Path("jwt")
    if len(configuration.jwt) > _AUTHENTICATORS_MAX:
        return [], [field.too_many(root, len(configuration.jwt), max_items=_AUTHENTICATORS_MAX)]
    errors: list[FieldError] = []
    compiled: list[CompiledExpressions] = []
    issuers: set[str] = set()
    discovery_urls: set[str] = set()
    for position, authenticator in enumerate(configuration.jwt):
        path, issuer = root.index(position), authenticator.issuer
        validation = _Validation(errors)
        validation.authenticator(authenticator, disallowed_issuers, path)
        compiled.append(validation.compiled)
        if issuer.url in issuers:
            errors.append(field.duplicate(path.child("issuer", "url"), issuer.url))
        issuers.add(issuer.url)
        if issuer.discovery_url:
            if issuer.discovery_url in discovery_urls:
                errors.append(field.duplicate(path.child("issuer", "discoveryURL"), issuer.discovery_url))
            discovery_urls.add(issuer.discovery_url)
    if configuration.anonymous is not None:
        errors += _anonymous_errors(configuration.anonymous)
    return compiled, errors


def _anonymous_errors(anonymous: AnonymousAuthConfig) -> list[FieldError]:
    if anonymous.enabled or not anonymous.conditions:
        return []
    value = [{"Path": condition.path} for condition in anonymous.conditions]
    detail = "enabled should be set to true when conditions are defined"
    return [field.invalid(Path("anonymous", "conditions"), value, detail)]


class _Validation:
    """Validation of one authenticator: its programs, and errors that are appended."""

    def __init__(self, errors: list[FieldError]) -> None:
        self.compiled: Final = CompiledExpressions()
        self._errors: Final = errors

    def authenticator(self, config: JWTAuthenticatorConfig, disallowed_issuers: Collection[str], path: Path) -> None:
        """Validate all fields."""
        self._errors.extend(_issuer_errors(config.issuer, disallowed_issuers, path.child("issuer")))
        self._claim_rules(config.claim_validation_rules, path.child("claimValidationRules"))
        self._mappings(config.claim_mappings, path.child("claimMappings"))
        self._user_rules(config.user_validation_rules, path.child("userValidationRules"))

    def _claim_rules(self, rules: tuple[ClaimValidationRule, ...], root: Path) -> None:
        claims: set[str] = set()
        expressions: set[str] = set()
        for position, rule in enumerate(rules):
            path = root.index(position)
            if rule.claim and rule.expression:
                self._errors.append(field.invalid(path, rule.claim, "claim and expression can't both be set"))
            elif rule.claim:
                if rule.message:
                    detail = "may not be specified when claim is set"
                    self._errors.append(field.invalid(path.child("message"), rule.message, detail))
                if rule.claim in claims:
                    self._errors.append(field.duplicate(path.child("claim"), rule.claim))
                claims.add(rule.claim)
            elif rule.expression:
                if rule.required_value:
                    detail = "may not be specified when expression is set"
                    self._errors.append(field.invalid(path.child("requiredValue"), rule.required_value, detail))
                program = self._condition(rule.expression, expressions, path.child("expression"), "claims")
                if program is not None:
                    self.compiled.claim_rules.append(Rule(program, rule.message))
            else:
                self._errors.append(field.required(path, "claim or expression is required"))

    def _user_rules(self, rules: tuple[UserValidationRule, ...], root: Path) -> None:
        expressions: set[str] = set()
        for position, rule in enumerate(rules):
            path = root.index(position).child("expression")
            if not rule.expression:
                self._errors.append(field.required(path))
                continue
            program = self._condition(rule.expression, expressions, path, "user")
            if program is not None:
                self.compiled.user_rules.append(Rule(program, rule.message))

    def _condition(self, expression: str, seen: set[str], path: Path, variable: str) -> Program | None:
        if expression in seen:
            self._errors.append(field.duplicate(path, expression))
            return None
        seen.add(expression)
        from steersman.cel.authentication import compile_condition  # noqa: PLC0415 — few configurations have expressions

        return self._compile(lambda text: compile_condition(text, variable), expression, path)

    def _mapping(self, expression: str, path: Path) -> Program | None:
        from steersman.cel.authentication import compile_mapping  # noqa: PLC0415 — as above

        return self._compile(compile_mapping, expression, path)

    def _compile(self, compile_: Callable[[str], Program], expression: str, path: Path) -> Program | None:
        """Compile an expression; None, with an error, if it is invalid."""
        from steersman.cel.admission import ExpressionError  # noqa: PLC0415 — as above

        try:
            return compile_(expression)
        except ExpressionError as error:
            detail = str(error)
            self._errors.append(
                field.internal(path, detail) if error.is_internal else field.invalid(path, expression, detail)
            )
            return None

    def _mappings(self, mappings: ClaimMappings, path: Path) -> None:
        compiled = self.compiled
        compiled.username = self._prefixed(mappings.username, path.child("username"), is_required=True)
        compiled.groups = self._prefixed(mappings.groups, path.child("groups"), is_required=False)
        compiled.uid = self._uid(mappings.uid, path.child("uid"))
        self._extra(mappings.extra, path.child("extra"))
        if compiled.username is None:
            return
        from steersman.cel.authentication import selects_claim  # noqa: PLC0415 — as above

        programs = [compiled.username, *(program for _, program in compiled.extra)]
        programs += [rule.program for rule in compiled.claim_rules]
        if selects_claim(compiled.username, "email") and not any(
            selects_claim(program, "email_verified") for program in programs
        ):
            username = path.child("username", "expression")
            self._errors.append(field.invalid(username, mappings.username.expression, _UNVERIFIED_EMAIL))

    def _prefixed(self, mapping: PrefixedClaimOrExpression, path: Path, *, is_required: bool) -> Program | None:
        """Return the program of a mapping without errors. Upstream: ``validatePrefixClaimOrExpression``."""
        if mapping.expression and mapping.claim:
            self._errors.append(field.invalid(path, "", "claim and expression can't both be set"))
        elif mapping.expression:
            if mapping.prefix is not None:
                detail = "may not be specified when expression is set"
                self._errors.append(field.invalid(path.child("prefix"), mapping.prefix, detail))
            program = self._mapping(mapping.expression, path.child("expression"))
            return program if mapping.prefix is None else None
        elif mapping.claim:
            if mapping.prefix is None:
                detail = "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
                self._errors.append(field.required(path.child("prefix"), detail))
        elif is_required:
            self._errors.append(field.required(path, "claim or expression is required"))
        return None

    def _uid(self, mapping: ClaimOrExpression, path: Path) -> Program | None:
        if mapping.claim and mapping.expression:
            self._errors.append(field.invalid(path, "", "claim and expression can't both be set"))
        elif mapping.expression:
            return self._mapping(mapping.expression, path.child("expression"))
        return None

    def _extra(self, mappings: tuple[ExtraMapping, ...], root: Path) -> None:
        keys: set[str] = set()
        for position, mapping in enumerate(mappings):
            path, key = root.index(position), mapping.key
            self._errors.extend(check_domain_prefixed_path(key, path.child("key")))
            if key != key.lower():
                self._errors.append(field.invalid(path.child("key"), key, "must be lowercase"))
            if _is_reserved(key):
                detail = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
                self._errors.append(field.invalid(path.child("key"), key, detail))
            if key in keys:
                self._errors.append(field.duplicate(path.child("key"), key))
                continue
            keys.add(key)
            if not mapping.value_expression:
                self._errors.append(field.required(path.child("valueExpression")))
                continue
            program = self._mapping(mapping.value_expression, path.child("valueExpression"))
            if program is not None:
                self.compiled.extra.append((key, program))


def _is_reserved(key: str) -> bool:
    domain, slash, _ = key.partition("/")
    return bool(slash) and any(domain == name or domain.endswith(f".{name}") for name in _RESERVED_DOMAINS)


def _issuer_errors(issuer: Issuer, disallowed_issuers: Collection[str], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if issuer.url:
        errors += _url_errors(issuer.url, disallowed_issuers, path.child("url"))
    else:
        errors.append(field.required(path.child("url")))
    if issuer.discovery_url:
        discovery = path.child("discoveryURL")
        if issuer.url and issuer.url.rstrip("/") == issuer.discovery_url.rstrip("/"):
            errors.append(field.invalid(discovery, issuer.discovery_url, "discoveryURL must be different from URL"))
        errors += _url_errors(issuer.discovery_url, (), discovery)
    errors += _audience_errors(issuer, path)
    if issuer.certificate_authority and not _has_certificates(issuer.certificate_authority):
        detail = "data does not contain any valid RSA or ECDSA certificates"
        errors.append(field.invalid(path.child("certificateAuthority"), "<omitted>", detail))
    if issuer.egress_selector_type:
        egress, type_ = path.child("egressSelectorType"), issuer.egress_selector_type
        if type_ in _EGRESS_SELECTORS:  # there is no configuration of egress selectors
            detail = "oidc: egress lookup required if egress selector type is set"
        else:
            detail = "egress selector must be either controlplane or cluster"
        errors.append(field.invalid(egress, type_, detail))
    return errors


def _url_errors(url: str, disallowed_issuers: Collection[str], path: Path) -> list[FieldError]:
    errors = []
    if url in disallowed_issuers:
        issuers = " ".join(sorted(set(disallowed_issuers)))
        errors.append(field.invalid(path, url, f"URL must not overlap with disallowed issuers: [{issuers}]"))
    fault = url_fault(url)
    if fault:
        return [*errors, field.invalid(path, url, fault)]
    parts = parse_url(url)
    details = (
        (parts.scheme != "https", "URL scheme must be https"),
        (bool(parts.user), "URL must not contain a username or password"),
        (bool(parts.query), "URL must not contain a query"),
        (bool(parts.fragment), "URL must not contain a fragment"),
    )
    return [*errors, *(field.invalid(path, url, detail) for is_fault, detail in details if is_fault)]


def _audience_errors(issuer: Issuer, parent: Path) -> list[FieldError]:
    path, policy = parent.child("audiences"), issuer.audience_match_policy
    if not issuer.audiences:
        return [field.required(path, f"at least one {path} is required")]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, audience in enumerate(issuer.audiences):
        if not audience:
            errors.append(field.required(path.index(position)))
        if audience in seen:
            errors.append(field.duplicate(path.index(position), audience))
        seen.add(audience)
    detail = ""
    if len(issuer.audiences) > 1 and policy != _MATCH_ANY:
        detail = "audienceMatchPolicy must be MatchAny for multiple audiences"
    elif policy and policy != _MATCH_ANY:
        detail = "audienceMatchPolicy must be empty or MatchAny for single audience"
    if detail:
        errors.append(field.invalid(parent.child("audienceMatchPolicy"), policy, detail))
    return errors


def _has_certificates(pem: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError):
        return False
    return True
