from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named, texts

from steersman.apiserver.kinds.admissionregistration.shared.webhooks import default_rules, default_selectors
from steersman.apiserver.kinds.admissionregistration.validatingwebhookconfiguration import (
    ValidatingWebhookConfigurationStrategy,
)

STRATEGY = ValidatingWebhookConfigurationStrategy()
HOOK = {
    "name": "a.example.com",
    "clientConfig": {"service": {"namespace": "n", "name": "s"}},
    "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
CONFIGURATION = defaulted(STRATEGY, edited(named(webhooks=[HOOK]), {}))


def test_default_webhook_sets_omitted_fields():
    [hook] = CONFIGURATION["webhooks"]
    assert {k: v for k, v in hook.items() if k not in HOOK} == {
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "timeoutSeconds": 10,
    }


def test_default_sets_service_port_and_rule_scope():
    [hook] = CONFIGURATION["webhooks"]
    assert hook["clientConfig"]["service"]["port"] == 443
    assert hook["rules"][0]["scope"] == "*"


def test_default_keeps_given_scope_and_selectors():
    rules, matcher = [{"scope": "Cluster"}], {"namespaceSelector": {"matchLabels": {"a": "b"}}}
    default_rules(rules)
    default_selectors(matcher)
    assert rules == [{"scope": "Cluster"}]
    assert matcher == {"namespaceSelector": {"matchLabels": {"a": "b"}}, "objectSelector": {}}


def test_validate_accepts_valid_configuration():
    assert texts(STRATEGY.validate(CONTEXT, CONFIGURATION)) == []


@pytest.mark.parametrize(
    ("edits", "counts"), [({"webhooks.0.timeoutSeconds": 5}, True), ({"metadata.labels": {"a": "b"}}, False)]
)
def test_generation_view_follows_webhooks_only(edits, counts):
    view = STRATEGY.generation_view
    assert (view(edited(CONFIGURATION, edits)) != view(CONFIGURATION)) is counts


def test_generation_view_treats_absent_and_empty_webhooks_alike():
    assert STRATEGY.generation_view(named()) == STRATEGY.generation_view(named(webhooks=[]))


@pytest.mark.parametrize("hooks", [[], [HOOK], [HOOK, HOOK]])
def test_cells_count_webhooks(hooks):
    assert STRATEGY.cells(named(webhooks=hooks), NOW) == ["a", len(hooks), "60s"]
