"""Webhooks of configurations."""

from types import SimpleNamespace

import pytest

from steersman.apiserver.admission.interface import Operation
from steersman.apiserver.admission.webhook_configuration import WebhookIndex, webhooks_of
from steersman.apiserver.webhooks.client import WebhookConfigError
from steersman.schema.resources import table

RULE = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}


def configuration(name: str, *webhooks: dict) -> dict:
    return {"metadata": {"name": name}, "webhooks": [{"name": "w", **webhook} for webhook in webhooks]}


def write(resource: str, *, subresource: str = "", operation: Operation = Operation.CREATE) -> SimpleNamespace:
    [result] = [item for item in table().resources if (item.name, item.group) == (resource, "apps")]
    return SimpleNamespace(
        resource=result,
        group_resource=result.group_resource,
        subresource=subresource,
        operation=operation,
        namespace="default",
        name="a",
    )


@pytest.mark.interpreted
def test_index_returns_webhooks_with_a_rule_in_order():
    rules = {**RULE, "resources": ["*/*"]}
    trees = [configuration("a", {"rules": [RULE]}, {"rules": []}), configuration("b", {"rules": [rules]})]
    index = WebhookIndex([webhooks_of(tree) for tree in trees], lambda *_: None)
    assert [webhook.uid for webhook, _ in index.candidates(write("deployments"))] == ["a/w/0", "b/w/0"]
    assert [webhook.uid for webhook, _ in index.candidates(write("deployments", subresource="scale"))] == ["b/w/0"]
    assert not index.candidates(write("deployments", operation=Operation.DELETE))
    assert index.candidates(write("deployments")) is index.candidates(write("deployments"))


def labelled(**labels: str) -> dict:
    return {"metadata": {"labels": labels}}


@pytest.mark.interpreted
def test_index_excludes_writes_that_no_selector_matches():
    selector = {"matchLabels": {"a": "1"}}
    webhooks = [{"rules": [RULE], "objectSelector": selector}, {"rules": [RULE], "namespaceSelector": selector}]
    index = WebhookIndex([webhooks_of(configuration("a", *webhooks))], lambda *_: None)
    written = write("deployments")
    candidates = index.candidates(written)

    def are_excluded(new: dict | None, old: dict | None, namespace: dict | None) -> bool:
        written.object, written.old_object = new, old
        results = {index.are_excluded(candidates, written, namespace) for _ in range(2)}  # computed, then remembered
        [result] = results
        return result

    other, matching = labelled(a="2"), labelled(a="1")
    assert are_excluded(other, None, other)
    assert are_excluded({"metadata": {}}, other, {"metadata": {}})
    assert not are_excluded(matching, None, other)
    assert not are_excluded(other, matching, other)
    assert not are_excluded(other, None, matching)  # the namespace has changed
    assert are_excluded(other, None, other)
    assert not are_excluded(other, None, None)  # objects without a namespace match namespace selectors


def test_webhook_reads_its_fields():
    [webhook] = webhooks_of(configuration("a", {"admissionReviewVersions": ["v2", "v1beta1"], "timeoutSeconds": 3}))
    assert (webhook.review_version, webhook.timeout_seconds, webhook.has_dry_run) == ("v1beta1", 3, False)
    with pytest.raises(WebhookConfigError):
        _ = webhook.target
