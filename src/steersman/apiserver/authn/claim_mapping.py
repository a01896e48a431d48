"""Mapping of the claims of a verified token to a user, by claims and prefixes or by expressions, and its validation rules.

Upstream: ``getUsername``, ``getGroups``, ``getUID``, ``getExtra``, ``checkValidationRulesEvaluation`` of
staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go;
staging/src/k8s.io/apiserver/pkg/authentication/cel/mapper.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apiserver.authn.authentication_configuration import JWTAuthenticatorConfig
    from steersman.cel.program import Program

_CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"
_EMAIL: Final = "email"
_EMAIL_VERIFIED: Final = "email_verified"
_NO_STRINGS: Final = "expression must return a string or a list of strings"
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 63) - 1


class Rule:
    """Compiled validation rule."""

    __slots__ = ("message", "program")

    def __init__(self, program: Program, message: str) -> None:
        self.program: Final = program
        self.message: Final = message


class CompiledExpressions:
    """Programs of one authenticator's expressions. Upstream: ``CELMapper``."""

    __slots__ = ("claim_rules", "extra", "groups", "uid", "user_rules", "username")

    def __init__(self) -> None:
        self.username: Program | None = None
        self.groups: Program | None = None
        self.uid: Program | None = None
        #: By key.
        self.extra: list[tuple[str, Program]] = []
        self.claim_rules: list[Rule] = []
        self.user_rules: list[Rule] = []


class ClaimMapper:
    """Rules of one authenticator."""

    def __init__(self, config: JWTAuthenticatorConfig, expressions: CompiledExpressions) -> None:
        self._mappings: Final = config.claim_mappings
        self._expressions: Final = expressions
        self._required_claims: Final = [
            (rule.claim, rule.required_value) for rule in config.claim_validation_rules if rule.claim
        ]

    def user(self, claims: Mapping[str, Any]) -> UserInfo:
        """Return the user of verified claims. Raises ``InvalidCredentials``."""
        variables = {"claims": _cel_value(claims)}
        user = UserInfo(
            self._username(claims, variables),
            self._groups(claims, variables),
            self._uid(claims, variables),
            self._extra(claims, variables),
        )
        for claim, value in self._required_claims:
            if claim not in claims:
                raise invalid(f"required claim {claim} not present in ID token")
            actual = _string(claims, claim, f"parse claim {claim}")
            if actual != value:
                raise invalid(f"required claim {claim} value does not match. Got = {actual}, want = {value}")
        _check(self._expressions.claim_rules, variables, "claim validation expression")
        if self._expressions.user_rules:
            user_value = {
                "username": user.name,
                "uid": user.uid,
                "groups": list(user.groups),
                "extra": {key: list(values) for key, values in user.extra.items()},
            }
            _check(self._expressions.user_rules, {"user": user_value}, "user info validation rule")
        return user

    def _username(self, claims: Mapping[str, Any], variables: Mapping[str, Any]) -> str:
        program = self._expressions.username
        if program is not None:
            name = _evaluated_string(program, variables, "username")
        else:
            claim = self._mappings.username.claim
            name = _string(claims, claim, f"parse username claims {quote(claim)}")
            if claim == _EMAIL and _EMAIL_VERIFIED in claims and claims[_EMAIL_VERIFIED] is not True:
                if isinstance(claims[_EMAIL_VERIFIED], bool):
                    raise invalid("email not verified")
                raise invalid("parse 'email_verified' claim: it is not a boolean")
        if not name:
            raise invalid("the username is empty")
        return name if program is not None else (self._mappings.username.prefix or "") + name

    def _groups(self, claims: Mapping[str, Any], variables: Mapping[str, Any]) -> tuple[str, ...]:
        claim = self._mappings.groups.claim
        program = self._expressions.groups
        if program is not None:
            value = _evaluated(program, variables, "oidc: error evaluating group claim expression")
            return _strings(value, "oidc: error evaluating group claim expression")
        if not claim or claims.get(claim) is None:
            return ()
        value = claims[claim]
        groups = [value] if isinstance(value, str) else value
        if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
            raise invalid(f"parse groups claim {quote(claim)}: it is neither a string nor a list of strings")
        prefix = self._mappings.groups.prefix or ""
        return tuple([prefix + group for group in groups])

    def _uid(self, claims: Mapping[str, Any], variables: Mapping[str, Any]) -> str:
        claim = self._mappings.uid.claim
        if claim:
            return _string(claims, claim, f"parse uid claim {quote(claim)}")
        program = self._expressions.uid
        return "" if program is None else _evaluated_string(program, variables, "uid")

    def _extra(self, claims: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        extra: dict[str, tuple[str, ...]] = {}
        if isinstance(claims.get("jti"), str) and claims["jti"]:
            extra[_CREDENTIAL] = (f"JTI={claims['jti']}",)
        for key, program in self._expressions.extra:
            value = _evaluated(program, variables, "")
            strings = _strings(value, f"oidc: error evaluating extra claim expression: {program.expression}")
            if strings:
                extra[key] = strings
        return extra


def invalid(reason: str) -> InvalidCredentials:
    """Return the error of a token of a configured issuer."""
    return InvalidCredentials(f"oidc: {reason}")


def _string(claims: Mapping[str, Any], claim: str, prefix: str) -> str:
    """Return a claim that must be a string. Raises ``InvalidCredentials``."""
    if claim not in claims:
        raise invalid(f"{prefix}: claim not present")
    value = claims[claim]
    if not isinstance(value, str):
        raise invalid(f"{prefix}: it is not a string")
    return value


def _evaluated(program: Program, variables: Mapping[str, Any], prefix: str) -> Any:
    """Return the value of an expression. Raises ``InvalidCredentials``."""
    result = program.evaluate(variables)
    if result.error is not None:
        text = f"expression '{program.expression}' resulted in error: {result.error}"
        raise InvalidCredentials(f"{prefix}: {text}" if prefix else text)
    return result.value


def _evaluated_string(program: Program, variables: Mapping[str, Any], attribute: str) -> str:
    prefix = f"oidc: error evaluating {attribute} claim expression"
    value = _evaluated(program, variables, prefix)
    if not isinstance(value, str):
        raise InvalidCredentials(f"{prefix}: {attribute} claim expression must return a string")
    return value


def _strings(value: Any, prefix: str) -> tuple[str, ...]:
    """Return a string or a list of strings without empty ones; null is none. Upstream: ``convertCELValueToStringList``."""
    if value is None:
        return ()
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise InvalidCredentials(f"{prefix}: {_NO_STRINGS}")
    return tuple([item for item in values if item])


def _check(rules: Sequence[Rule], variables: Mapping[str, Any], name: str) -> None:
    """Evaluate validation rules: first all of them, then their results. Raises ``InvalidCredentials``."""
    prefix = f"oidc: error evaluating {name}"
    results = [(rule, _evaluated(rule.program, variables, prefix)) for rule in rules]
    for rule, value in results:
        if value is not True:
            text = f"validation expression '{rule.program.expression}' failed: {rule.message}"
            raise InvalidCredentials(f"{prefix}: {text}")


def _cel_value(value: Any) -> Any:
    """Return a decoded JSON value as expressions see it: integers out of range are doubles, as Go decodes them."""
    if isinstance(value, dict):
        return {key: _cel_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cel_value(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and not _INT_MIN <= value <= _INT_MAX:
        return float(value)
    return value
