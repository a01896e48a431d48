"""Validation of webhook conversion."""

import base64

import pytest
from tests.unit.apiserver.kinds.samples import texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.conversion import (
    Strictness,
    strictness_for,
    validate_conversion,
)

NEW = Strictness()
CLIENT = {"url": "https://example.com/convert"}


def faults(spec: dict, strictness: Strictness = NEW) -> list[str]:
    return texts(validate_conversion(spec, Path("c"), strictness))


def by_webhook(**webhook: object) -> dict:
    return {"strategy": "Webhook", "webhook": webhook}


def test_validate_conversion_accepts_valid_conversions():
    assert faults({}) == []
    assert faults({"conversion": {"strategy": "None"}}) == []
    assert faults({"conversion": by_webhook(clientConfig=CLIENT, conversionReviewVersions=["v2", "v1"])}) == []


@pytest.mark.parametrize(
    ("conversion", "wrong"),
    [
        ({"strategy": "Magic"}, ['c.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"']),
        ({"strategy": ""}, ["c.strategy: Required value"]),
        (
            by_webhook(),
            [
                "c.webhookClientConfig: Required value: required when strategy is set to Webhook",
                "c.conversionReviewVersions: Required value",
            ],
        ),
        (
            by_webhook(clientConfig={}, conversionReviewVersions=["v1"]),
            ["c.webhookClientConfig: Required value: exactly one of url or service is required"],
        ),
        (
            by_webhook(clientConfig=CLIENT, conversionReviewVersions=["v2", "v2"]),
            [
                'c.conversionReviewVersions[1]: Invalid value: "v2": duplicate version',
                'c.conversionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1',
            ],
        ),
        (
            {"strategy": "None", "webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v1"]}},
            [
                "c.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
                "c.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
            ],
        ),
    ],
)
def test_validate_conversion_rejects_invalid_conversions(conversion, wrong):
    assert faults({"conversion": conversion}) == wrong


def test_validate_conversion_rejects_webhook_with_preserved_unknown_fields():
    conversion = by_webhook(clientConfig=CLIENT, conversionReviewVersions=["v1"])
    assert faults({"conversion": conversion, "preserveUnknownFields": True}) == [
        'c.strategy: Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true'
    ]


def bundle(text: str) -> dict:
    return by_webhook(clientConfig=CLIENT | {"caBundle": base64.b64encode(text.encode()).decode()})


GOOD = bundle("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n")


UNREADABLE = (
    'c.webhookClientConfig.caBundle: Invalid value: "eA==": unable to load root certificates: data does not contain '
    "any valid RSA or ECDSA certificates"
)
BAD = bundle("x")


@pytest.mark.parametrize(
    ("old", "is_established", "wrong"),
    [(GOOD, True, [UNREADABLE]), (None, True, [UNREADABLE]), (BAD, True, []), (GOOD, False, [])],
)
def test_validate_conversion_rejects_change_to_invalid_bundle_when_established(old, is_established, wrong):
    strictness = strictness_for(old, is_established=is_established)
    versions = ["c.conversionReviewVersions: Required value"]
    assert faults({"conversion": BAD}, strictness) == wrong + versions
    assert faults({"conversion": GOOD}, strictness) == versions


@pytest.mark.parametrize(
    ("versions", "is_rejected"), [([], True), (["v1"], True), (["v2", "v1"], True), (["v2"], False)]
)
def test_validate_conversion_accepts_unknown_review_versions_only_if_stored(versions, is_rejected):
    strictness = strictness_for(by_webhook(conversionReviewVersions=versions), is_established=True)
    new = by_webhook(clientConfig=CLIENT, conversionReviewVersions=["v3"])
    assert bool(faults({"conversion": new}, strictness)) == is_rejected
