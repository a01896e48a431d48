"""Validation of ``AuthenticationConfiguration``, with upstream's messages."""

import datetime as dt

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from steersman.apiserver.authn.authentication_configuration import decode_configuration
from steersman.apiserver.authn.authentication_validation import validate_configuration

BOTH = "claim and expression can't both be set"
DUPLICATE = 'Duplicate value: "'


def authenticator(**parts):
    return {
        "issuer": {"url": "https://idp", "audiences": ["kube"], **parts.pop("issuer", {})},
        "claimMappings": {"username": {"claim": "sub", "prefix": ""}, **parts.pop("mappings", {})},
        **parts,
    }


def decoded(*authenticators, **more):
    tree = {
        "kind": "AuthenticationConfiguration",
        "apiVersion": "apiserver.config.k8s.io/v1",
        "jwt": list(authenticators),
        **more,
    }
    return decode_configuration(yaml.safe_dump(tree).encode())


def errors(*authenticators, issuers=(), **more):
    return list(map(str, validate_configuration(decoded(*authenticators, **more), issuers)[1]))


def test_a_configuration_without_authenticators_is_valid():
    assert errors() == []


@pytest.mark.parametrize(
    ("issuer", "expected"),
    [
        ({"url": ""}, ["jwt[0].issuer.url: Required value"]),
        ({"url": "http://idp"}, ['jwt[0].issuer.url: Invalid value: "http://idp": URL scheme must be https']),
        (
            {"url": "https://a:b@idp?q#f"},
            [
                f'jwt[0].issuer.url: Invalid value: "https://a:b@idp?q#f": URL must not contain a {part}'
                for part in ("username or password", "query", "fragment")
            ],
        ),
        (
            {"url": "https://%zz"},
            ['jwt[0].issuer.url: Invalid value: "https://%zz": parse "https://%zz": invalid URL escape "%zz"'],
        ),
        (
            {"url": "https://sa"},
            [
                'jwt[0].issuer.url: Invalid value: "https://sa": URL must not overlap with disallowed issuers: [b https://sa]'
            ],
        ),
        (
            {"discoveryURL": "https://idp/"},
            ['jwt[0].issuer.discoveryURL: Invalid value: "https://idp/": discoveryURL must be different from URL'],
        ),
        (
            {"discoveryURL": "http://x"},
            ['jwt[0].issuer.discoveryURL: Invalid value: "http://x": URL scheme must be https'],
        ),
        (
            {"audiences": []},
            ["jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required"],
        ),
        (
            {"audiences": ["", "a", "a"], "audienceMatchPolicy": "MatchAny"},
            ["jwt[0].issuer.audiences[0]: Required value", 'jwt[0].issuer.audiences[2]: Duplicate value: "a"'],
        ),
        (
            {"audiences": ["a", "b"]},
            [
                (
                    'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple'
                    " audiences"
                )
            ],
        ),
        (
            {"audienceMatchPolicy": "All"},
            [
                (
                    'jwt[0].issuer.audienceMatchPolicy: Invalid value: "All": audienceMatchPolicy must be empty or MatchAny for'
                    " single audience"
                )
            ],
        ),
        (
            {"certificateAuthority": "x"},
            [
                (
                    'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid RSA or'
                    " ECDSA certificates"
                )
            ],
        ),
        (
            {"egressSelectorType": "etcd"},
            [
                (
                    'jwt[0].issuer.egressSelectorType: Invalid value: "etcd": egress selector must be either controlplane or'
                    " cluster"
                )
            ],
        ),
        (
            {"egressSelectorType": "cluster"},
            [
                (
                    'jwt[0].issuer.egressSelectorType: Invalid value: "cluster": oidc: egress lookup required if egress'
                    " selector type is set"
                )
            ],
        ),
    ],
)
def test_validation_of_issuers(issuer, expected):
    assert errors(authenticator(issuer=issuer), issuers=("https://sa", "b")) == expected


def test_certificate_authority_may_be_a_certificate():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ca")])
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + dt.timedelta(days=1))
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
    assert errors(authenticator(issuer={"certificateAuthority": pem})) == []


def test_issuers_and_discovery_urls_are_unique():
    one = authenticator(issuer={"discoveryURL": "https://inside"})
    assert errors(one, one) == [
        f'jwt[1].issuer.url: {DUPLICATE}https://idp"',
        f'jwt[1].issuer.discoveryURL: {DUPLICATE}https://inside"',
    ]


def test_there_are_at_most_64_authenticators():
    assert errors(*[authenticator()] * 65) == ["jwt: Too many: 65: must have at most 64 items"]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([{"claim": "a", "expression": "true"}], [f'claimValidationRules[0]: Invalid value: "a": {BOTH}']),
        ([{}], ["claimValidationRules[0]: Required value: claim or expression is required"]),
        (
            [{"claim": "a", "message": "m"}, {"claim": "a"}],
            [
                'claimValidationRules[0].message: Invalid value: "m": may not be specified when claim is set',
                f'claimValidationRules[1].claim: {DUPLICATE}a"',
            ],
        ),
        (
            [{"expression": "true", "requiredValue": "v"}, {"expression": "true"}],
            [
                'claimValidationRules[0].requiredValue: Invalid value: "v": may not be specified when expression is set',
                f'claimValidationRules[1].expression: {DUPLICATE}true"',
            ],
        ),
        (
            [{"expression": "claims.a"}],
            ['claimValidationRules[0].expression: Invalid value: "claims.a": must evaluate to bool'],
        ),
        (
            [{"expression": "user.a"}],
            [
                (
                    'claimValidationRules[0].expression: Invalid value: "user.a": compilation failed: ERROR: <input>:1:1:'
                    " undeclared reference to 'user' (in container '')\n | user.a\n | ^"
                )
            ],
        ),
    ],
)
def test_validation_of_claim_rules(rules, expected):
    assert errors(authenticator(claimValidationRules=rules)) == [f"jwt[0].{text}" for text in expected]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([{"expression": "user.username.startsWith('x')"}, {"expression": "user.extra['a'].size() > 0"}], []),
        ([{}], ["[0].expression: Required value"]),
        ([{"expression": "true"}, {"expression": "true"}], [f'[1].expression: {DUPLICATE}true"']),
        ([{"expression": "user.uid"}], ['[0].expression: Invalid value: "user.uid": must evaluate to bool']),
    ],
)
def test_validation_of_user_rules(rules, expected):
    assert errors(authenticator(userValidationRules=rules)) == [
        f"jwt[0].userValidationRules{text}" for text in expected
    ]


@pytest.mark.parametrize(
    ("mappings", "expected"),
    [
        ({"username": {}}, ["username: Required value: claim or expression is required"]),
        ({"username": {"claim": "a", "expression": "'b'"}}, [f'username: Invalid value: "": {BOTH}']),
        (
            {"username": {"claim": "a"}, "groups": {"claim": "b"}},
            [
                f"{name}.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to"
                " disable prefixing"
                for name in ("username", "groups")
            ],
        ),
        (
            {"username": {"expression": "claims.", "prefix": ""}},
            [
                'username.prefix: Invalid value: "": may not be specified when expression is set',
                'username.expression: Invalid value: "claims.": compilation failed: ',
            ],
        ),
        ({"groups": {}}, []),
        ({"uid": {"claim": "a", "expression": "'b'"}}, [f'uid: Invalid value: "": {BOTH}']),
        ({"uid": {"expression": "["}}, ['uid.expression: Invalid value: "[": compilation failed: ']),
        (
            {"extra": [{"key": "", "valueExpression": "'a'"}]},
            ["extra[0].key: Required value"],
        ),
        (
            {"extra": [{"key": "Example.com/A", "valueExpression": "'a'"}]},
            ['extra[0].key: Invalid value: "Example.com"', 'extra[0].key: Invalid value: "Example.com/A": must be lowercase'],
        ),
        (
            {"extra": [{"key": "a.k8s.io/x", "valueExpression": "'a'"}, {"key": "kubernetes.io/x", "valueExpression": "'a'"}]},
            [
                f'extra[{i}].key: Invalid value: "{key}": k8s.io, kubernetes.io and their subdomains are reserved for'
                " Kubernetes use"
                for i, key in enumerate(("a.k8s.io/x", "kubernetes.io/x"))
            ],
        ),
        (
            {"extra": [{"key": "a.b/c"}, {"key": "a.b/c", "valueExpression": "'a'"}]},
            ["extra[0].valueExpression: Required value", f'extra[1].key: {DUPLICATE}a.b/c"'],
        ),
    ],
)  # fmt: skip
def test_validation_of_mappings(mappings, expected):
    actual = errors(authenticator(mappings=mappings))
    assert len(actual) == len(expected)
    for text, start in zip(actual, expected, strict=True):
        assert text.startswith(f"jwt[0].claimMappings.{start}")


EMAIL = "claims.email_verified must be used in claimMappings.username.expression"


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"mappings": {"uid": {"expression": "claims.email_verified"}}},
        {"claimValidationRules": [{"expression": "claims['email_verified'] == true"}]},
        {"claimValidationRules": [{"expression": "claims.other.email_verified"}]},
    ],
)
def test_email_as_username_needs_a_check_that_it_is_verified(parts):
    mappings = {"username": {"expression": "claims.email"}, **parts.pop("mappings", {})}
    assert EMAIL in "".join(errors(authenticator(mappings=mappings, **parts)))


@pytest.mark.parametrize(
    "parts",
    [
        {"username": {"expression": "claims.email_verified ? claims.email : claims.sub"}},
        {"extra": [{"key": "a.b/c", "valueExpression": "[has(claims.email_verified) ? 'y' : 'n']"}]},
        {"rules": [{"expression": "claims.?email_verified.orValue(true) == true"}]},
        {"username": {"expression": "claims['email']"}},
        {"username": {"expression": "claims.mail.email"}},
    ],
)
def test_email_as_username_may_be_checked_anywhere(parts):
    rules = parts.pop("rules", [])
    mappings = {"username": {"expression": "claims.email"}, **parts}
    assert errors(authenticator(mappings=mappings, claimValidationRules=rules)) == []


def test_conditions_of_anonymous_requests_need_them_enabled():
    assert errors(anonymous={"enabled": False}) == []
    assert errors(anonymous={"conditions": [{"path": "/x"}]}) == [
        'anonymous.conditions: Invalid value: [{"Path":"/x"}]: enabled should be set to true when conditions are defined'
    ]
