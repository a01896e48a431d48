"""Users of verified claims."""

import pytest
import yaml

from steersman.apiserver.authn.authentication_configuration import decode_configuration
from steersman.apiserver.authn.authentication_validation import validate_configuration
from steersman.apiserver.authn.claim_mapping import ClaimMapper
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.request import UserInfo

CLAIMS = {"sub": "alice", "email": "a@example.com", "roles": ["a", "b"], "exp": 20, "nbf": 5, "big": 2**70}


def mapper(*, claim_rules=(), user_rules=(), **mappings):
    tree = {
        "kind": "AuthenticationConfiguration",
        "apiVersion": "apiserver.config.k8s.io/v1",
        "jwt": [
            {
                "issuer": {"url": "https://idp", "audiences": ["a"]},
                "claimMappings": {"username": {"claim": "sub", "prefix": ""}, **mappings},
                "claimValidationRules": list(claim_rules),
                "userValidationRules": list(user_rules),
            }
        ],
    }
    configuration = decode_configuration(yaml.safe_dump(tree).encode())
    programs, errors = validate_configuration(configuration, ())
    assert errors == []
    return ClaimMapper(configuration.jwt[0], programs[0])


def refusal(rules, **claims):
    with pytest.raises(InvalidCredentials) as refused:
        rules.user({**CLAIMS, **claims})
    return str(refused.value)


@pytest.mark.parametrize(
    ("username", "name"),
    [
        ({"claim": "sub", "prefix": "idp:"}, "idp:alice"),
        ({"claim": "email", "prefix": ""}, "a@example.com"),
        ({"expression": "'x:' + claims.sub"}, "x:alice"),
        ({"expression": "claims.sub"}, "alice"),
    ],
)
def test_username_of_claim_or_expression(username, name):
    assert mapper(username=username).user(CLAIMS) == UserInfo(name)


@pytest.mark.parametrize(
    ("username", "claims", "message"),
    [
        ({"claim": "name", "prefix": ""}, {}, 'oidc: parse username claims "name": claim not present'),
        ({"claim": "sub", "prefix": ""}, {"sub": 7}, 'oidc: parse username claims "sub": it is not a string'),
        ({"claim": "sub", "prefix": "x"}, {"sub": ""}, "oidc: the username is empty"),
        ({"claim": "email", "prefix": ""}, {"email_verified": False}, "oidc: email not verified"),
        (
            {"claim": "email", "prefix": ""},
            {"email_verified": "true"},
            "oidc: parse 'email_verified' claim: it is not a boolean",
        ),
        (
            {"expression": "claims.roles"},
            {},
            "oidc: error evaluating username claim expression: username claim expression must return a string",
        ),
        (
            {"expression": "claims.name"},
            {},
            "oidc: error evaluating username claim expression: expression 'claims.name' resulted in error: no such key: name",
        ),
        ({"expression": "claims.sub"}, {"sub": ""}, "oidc: the username is empty"),
    ],
)
def test_user_raises_without_username(username, claims, message):
    assert refusal(mapper(username=username), **claims) == message


def test_verified_email_is_a_username():
    rules = mapper(username={"claim": "email", "prefix": ""})
    assert rules.user({**CLAIMS, "email_verified": True}).name == "a@example.com"


@pytest.mark.parametrize(
    ("groups", "claims", "expected"),
    [
        ({"claim": "roles", "prefix": "g:"}, {}, ("g:a", "g:b")),
        ({"claim": "roles", "prefix": ""}, {"roles": "ops"}, ("ops",)),
        ({"claim": "none", "prefix": ""}, {}, ()),
        ({"claim": "roles", "prefix": ""}, {"roles": None}, ()),
        ({"expression": "claims.roles"}, {}, ("a", "b")),
        ({"expression": "claims.roles"}, {"roles": ["", "a"]}, ("a",)),
        ({"expression": "claims.sub"}, {}, ("alice",)),
        ({"expression": "''"}, {}, ()),
        ({"expression": "null"}, {}, ()),
        ({"expression": "claims.roles.filter(r, r != 'a').map(r, 'x:' + r)"}, {}, ("x:b",)),
        ({"expression": "claims.?none.orValue([])"}, {}, ()),
    ],
)
def test_groups_of_claim_or_expression(groups, claims, expected):
    assert mapper(groups=groups).user({**CLAIMS, **claims}).groups == expected


@pytest.mark.parametrize(
    ("groups", "claims", "message"),
    [
        (
            {"claim": "roles", "prefix": ""},
            {"roles": [1]},
            'oidc: parse groups claim "roles": it is neither a string nor a list of strings',
        ),
        (
            {"expression": "claims.roles"},
            {"roles": [1]},
            "oidc: error evaluating group claim expression: expression must return a string or a list of strings",
        ),
        (
            {"expression": "claims.exp"},
            {},
            "oidc: error evaluating group claim expression: expression must return a string or a list of strings",
        ),
        (
            {"expression": "claims.none"},
            {},
            "oidc: error evaluating group claim expression: expression 'claims.none' resulted in error: no such key: none",
        ),
    ],
)
def test_user_raises_for_other_groups(groups, claims, message):
    assert refusal(mapper(groups=groups), **claims) == message


def test_uid_of_claim_or_expression():
    assert mapper(uid={"claim": "sub"}).user(CLAIMS).uid == "alice"
    assert mapper(uid={"expression": "claims.sub + '1'"}).user(CLAIMS).uid == "alice1"
    assert refusal(mapper(uid={"claim": "oid"})) == 'oidc: parse uid claim "oid": claim not present'
    assert refusal(mapper(uid={"expression": "claims.exp"})) == (
        "oidc: error evaluating uid claim expression: uid claim expression must return a string"
    )


def test_extra_has_credential_id_and_values_of_expressions():
    extra = [
        {"key": "example.com/roles", "valueExpression": "claims.roles"},
        {"key": "example.com/none", "valueExpression": "''"},
    ]
    assert mapper(extra=extra).user({**CLAIMS, "jti": "j"}).extra == {
        "authentication.kubernetes.io/credential-id": ("JTI=j",),
        "example.com/roles": ("a", "b"),
    }
    assert refusal(mapper(extra=[{"key": "a.b/c", "valueExpression": "claims.exp"}])) == (
        "oidc: error evaluating extra claim expression: claims.exp: expression must return a string or a list of strings"
    )
    assert refusal(mapper(extra=[{"key": "a.b/c", "valueExpression": "claims.none"}])) == (
        "expression 'claims.none' resulted in error: no such key: none"
    )


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({}, "oidc: required claim hd not present in ID token"),
        ({"hd": "other"}, "oidc: required claim hd value does not match. Got = other, want = example.com"),
        ({"hd": 1}, "oidc: parse claim hd: it is not a string"),
    ],
)
def test_required_claims(claims, message):
    rules = mapper(claim_rules=[{"claim": "hd", "requiredValue": "example.com"}])
    assert refusal(rules, **claims) == message
    assert rules.user({**CLAIMS, "hd": "example.com"}).name == "alice"


def test_claim_validation_rules():
    rules = mapper(
        claim_rules=[
            {"expression": "claims.exp - claims.nbf <= 10", "message": "too long"},
            {"expression": "claims.big > 1.0"},
        ]
    )
    prefix = "oidc: error evaluating claim validation expression: "
    assert refusal(rules) == f"{prefix}validation expression 'claims.exp - claims.nbf <= 10' failed: too long"
    assert rules.user({**CLAIMS, "exp": 15}).name == "alice"
    assert refusal(rules, nbf=None).startswith(
        f"{prefix}expression 'claims.exp - claims.nbf <= 10' resulted in error: "
    )


def test_user_validation_rules_see_the_mapped_user():
    rules = mapper(
        username={"claim": "sub", "prefix": "idp:"},
        groups={"claim": "roles", "prefix": ""},
        extra=[{"key": "example.com/a", "valueExpression": "claims.roles"}],
        user_rules=[
            {"expression": "user.username.startsWith('idp:')"},
            {"expression": "user.groups.all(g, !g.startsWith('system:'))", "message": "reserved"},
            {"expression": "user.uid == '' && user.extra['example.com/a'].size() > 0"},
        ],
    )
    assert rules.user(CLAIMS).name == "idp:alice"
    assert refusal(rules, roles=["system:masters"]) == (
        "oidc: error evaluating user info validation rule: validation expression"
        " 'user.groups.all(g, !g.startsWith('system:'))' failed: reserved"
    )


def test_expensive_expressions_are_refused():
    expression = "claims.roles.map(a, claims.roles.map(b, claims.roles.map(c, a + b + c).size())).size() > 0"
    rules = mapper(claim_rules=[{"expression": expression}])
    assert "cost limit exceeded" in refusal(rules, roles=[str(number) for number in range(300)])
