"""``AuthenticationConfiguration`` of ``apiserver.config.k8s.io``, whose versions have the same fields.

Upstream: staging/src/k8s.io/apiserver/pkg/apis/apiserver/{types.go,v1/types.go,v1beta1/types.go,v1alpha1/types.go}
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.apimachinery.config_file import decode_config

API_VERSIONS: Final = tuple(f"apiserver.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
KIND: Final = "AuthenticationConfiguration"


class Issuer(msgspec.Struct, frozen=True, rename="camel"):
    """Issuer of tokens, and the audiences that it issues them for."""

    #: ``https://`` URL; the claim ``iss``.
    url: str = ""
    #: URL of the discovery document; empty: below ``url``.
    discovery_url: str = msgspec.field(default="", name="discoveryURL")
    #: PEM; empty: the system's authorities.
    certificate_authority: str = ""
    audiences: tuple[str, ...] = ()
    audience_match_policy: str = ""
    egress_selector_type: str = ""


class ClaimValidationRule(msgspec.Struct, frozen=True, rename="camel"):
    """Required value of a claim, or condition of all claims."""

    claim: str = ""
    required_value: str = ""
    expression: str = ""
    message: str = ""


class PrefixedClaimOrExpression(msgspec.Struct, frozen=True):
    """Claim with a prefix for its values, or expression."""

    claim: str = ""
    #: Required with a claim.
    prefix: str | None = None
    expression: str = ""


class ClaimOrExpression(msgspec.Struct, frozen=True):
    """Claim or expression."""

    claim: str = ""
    expression: str = ""


class ExtraMapping(msgspec.Struct, frozen=True, rename="camel"):
    """Key of ``extra``, and the expression of its values."""

    key: str = ""
    value_expression: str = ""


class ClaimMappings(msgspec.Struct, frozen=True):
    """Mappings of claims to attributes of a user."""

    username: PrefixedClaimOrExpression = PrefixedClaimOrExpression()
    groups: PrefixedClaimOrExpression = PrefixedClaimOrExpression()
    uid: ClaimOrExpression = ClaimOrExpression()
    extra: tuple[ExtraMapping, ...] = ()


class UserValidationRule(msgspec.Struct, frozen=True):
    """Condition of the mapped user."""

    expression: str = ""
    message: str = ""


class JWTAuthenticatorConfig(msgspec.Struct, frozen=True, rename="camel"):
    """One issuer and the mapping of its tokens to users. Upstream: ``JWTAuthenticator``."""

    issuer: Issuer = Issuer()
    claim_validation_rules: tuple[ClaimValidationRule, ...] = ()
    claim_mappings: ClaimMappings = ClaimMappings()
    user_validation_rules: tuple[UserValidationRule, ...] = ()


class AnonymousAuthCondition(msgspec.Struct, frozen=True):
    """Path that anonymous requests may have."""

    path: str = ""


class AnonymousAuthConfig(msgspec.Struct, frozen=True):
    """Anonymous requests: accepted for all paths, or for those of the conditions."""

    enabled: bool = False
    conditions: tuple[AnonymousAuthCondition, ...] = ()


class AuthenticationConfiguration(msgspec.Struct, frozen=True):
    """The whole file."""

    jwt: tuple[JWTAuthenticatorConfig, ...] = ()
    #: None: by ``--anonymous-auth``.
    anonymous: AnonymousAuthConfig | None = None


def decode_configuration(data: bytes) -> AuthenticationConfiguration:
    """Return the unvalidated configuration of a file. Raises ``ConfigFileError``."""
    return decode_config(data, AuthenticationConfiguration, kind=KIND, api_versions=API_VERSIONS)
