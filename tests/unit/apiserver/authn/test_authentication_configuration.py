"""Decoding of ``AuthenticationConfiguration``."""

import pytest

from steersman.apimachinery.config_file import ConfigFileError
from steersman.apiserver.authn.authentication_configuration import (
    AnonymousAuthCondition,
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
    decode_configuration,
)

FILE = b"""
kind: AuthenticationConfiguration
apiVersion: apiserver.config.k8s.io/%b
jwt:
- issuer:
    url: https://idp
    discoveryURL: https://inside
    certificateAuthority: PEM
    audiences: [kube, tools]
    audienceMatchPolicy: MatchAny
    egressSelectorType: cluster
  claimValidationRules:
  - {claim: hd, requiredValue: example.com}
  - {expression: "true", message: m}
  claimMappings:
    username: {claim: sub, prefix: ""}
    groups: {expression: claims.roles}
    uid: {claim: oid}
    extra:
    - {key: example.com/x, valueExpression: claims.x}
  userValidationRules:
  - {expression: "true", message: text}
anonymous:
  enabled: true
  conditions:
  - path: /livez
"""


@pytest.mark.parametrize("version", [b"v1", b"v1beta1", b"v1alpha1"])
def test_every_version_has_the_same_fields(version):
    assert decode_configuration(FILE % version) == AuthenticationConfiguration(
        jwt=(
            JWTAuthenticatorConfig(
                Issuer("https://idp", "https://inside", "PEM", ("kube", "tools"), "MatchAny", "cluster"),
                (ClaimValidationRule("hd", "example.com"), ClaimValidationRule(expression="true", message="m")),
                ClaimMappings(
                    PrefixedClaimOrExpression("sub", ""),
                    PrefixedClaimOrExpression(expression="claims.roles"),
                    ClaimOrExpression("oid"),
                    (ExtraMapping("example.com/x", "claims.x"),),
                ),
                (UserValidationRule("true", "text"),),
            ),
        ),
        anonymous=AnonymousAuthConfig(enabled=True, conditions=(AnonymousAuthCondition("/livez"),)),
    )


def test_other_versions_and_fields_are_refused():
    with pytest.raises(ConfigFileError, match='no kind "AuthenticationConfiguration" is registered for version'):
        decode_configuration(FILE % b"v2")
    with pytest.raises(ConfigFileError, match=r'strict decoding error: unknown field "jwt\[0\].issuer.audience"'):
        decode_configuration((FILE % b"v1").replace(b"audiences", b"audience"))
