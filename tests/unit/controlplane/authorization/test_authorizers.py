"""Names of authorizers."""

from steersman.controlplane.authorization.authorizers import TYPES, authorizer_name


def test_authorizers_that_are_no_webhooks_are_named_by_their_type():
    assert [authorizer_name(type_) for type_ in TYPES] == [
        "abac",
        "alwaysallow",
        "alwaysdeny",
        "node",
        "rbac",
        "webhook",
    ]
