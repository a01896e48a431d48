"""Index of webhooks by rules and selectors."""

import random
from types import SimpleNamespace

import pytest

from steersman.apimachinery.selectors.labels import from_label_selector
from steersman.apiserver.admission.interface import Operation
from steersman.apiserver.admission.webhook_configuration import webhooks_of
from steersman.apiserver.admission.webhook_index import SelectorIndex, WebhookIndex
from steersman.schema.resources import table

RULE = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
SELECTOR = {"matchLabels": {"a": "1"}}
DEPLOYMENTS = next(item for item in table().resources if (item.name, item.group) == ("deployments", "apps"))


class Namespaces:
    """Watch cache of namespaces, by name."""

    is_ready = True

    def __init__(self, **labels: dict[str, str]) -> None:
        self.labels = labels

    def key(self, namespace: str, name: str) -> str:
        return name

    def get(self, key: str) -> SimpleNamespace | None:
        return SimpleNamespace(labels=self.labels[key]) if key in self.labels else None


def labelled(**labels: str) -> dict:
    return {"metadata": {"labels": labels}}


def index_of(*webhooks: dict, namespaces: Namespaces | None = None) -> WebhookIndex:
    """Return the index of webhooks in configurations ``c0``, ``c1``, …."""
    trees = [
        {"metadata": {"name": f"c{number}"}, "webhooks": [{"name": "w", "rules": [RULE], **webhook}]}
        for number, webhook in enumerate(webhooks)
    ]
    return WebhookIndex([webhooks_of(tree) for tree in trees], lambda *_: None, namespaces or Namespaces(default={}))


def write(
    new: dict | None = None,
    old: dict | None = None,
    *,
    subresource: str = "",
    operation: Operation = Operation.CREATE,
    served: object = "deployments",
) -> SimpleNamespace:
    return SimpleNamespace(
        served=served,
        resource=DEPLOYMENTS,
        group_resource=DEPLOYMENTS.group_resource,
        subresource=subresource,
        operation=operation,
        namespace="default",
        name="a",
        object=new or labelled(),
        old_object=old,
    )


def names(index: WebhookIndex, attributes: SimpleNamespace, *, are_labels_final: bool = True) -> list[str]:
    candidates = index.candidates(attributes, are_labels_final=are_labels_final)
    return [candidate.webhook.configuration for candidate in candidates]


@pytest.mark.interpreted
def test_index_returns_webhooks_with_a_rule_in_order():
    index = index_of({}, {"rules": []}, {"rules": [{**RULE, "resources": ["*/*"]}]})
    assert names(index, write()) == ["c0", "c2"]
    assert names(index, write(subresource="scale")) == ["c2"]
    assert names(index, write(operation=Operation.DELETE)) == []
    assert [candidate.position for candidate in index.candidates(write(), are_labels_final=True)] == [0, 2]


@pytest.mark.interpreted
def test_index_excludes_webhooks_by_labels_of_the_object():
    index = index_of({"objectSelector": SELECTOR}, {"objectSelector": {"matchLabels": {"b": "1"}}})
    assert names(index, write(labelled(a="2"), labelled(c="1"))) == []
    assert names(index, write(labelled(a="2"), labelled(a="1"))) == ["c0"]
    assert names(index, write(labelled(a="1"), labelled(b="1"))) == ["c0", "c1"]


@pytest.mark.interpreted
def test_index_returns_webhooks_that_match_after_a_change_of_labels():
    index = index_of({"objectSelector": SELECTOR}, {"objectSelector": {"matchLabels": {"b": "1"}}})
    assert names(index, write(labelled(a="1")), are_labels_final=False) == ["c0", "c1"]
    assert names(index, write(labelled(a="2")), are_labels_final=False) == []


@pytest.mark.interpreted
def test_index_excludes_webhooks_by_labels_of_the_namespace_until_it_changes():
    namespaces = Namespaces(default={"a": "2"})
    index = index_of({"namespaceSelector": SELECTOR}, namespaces=namespaces)
    assert names(index, write()) == []
    namespaces.labels["default"] = {"a": "1"}
    assert names(index, write()) == []
    index.forget_namespace("default")
    assert names(index, write()) == ["c0"]
    namespaces.labels["default"] = {}
    index.forget_namespaces()
    assert names(index, write()) == []


@pytest.mark.interpreted
def test_index_excludes_no_webhook_by_an_unknown_namespace():
    namespaces = Namespaces()
    index = index_of({"namespaceSelector": SELECTOR}, namespaces=namespaces)
    assert names(index, write()) == ["c0"]
    namespaces.labels["default"], namespaces.is_ready = {}, False
    assert names(index, write()) == ["c0"]
    namespaces.is_ready = True
    assert names(index, write()) == []


def random_selector(dice: random.Random) -> dict:
    expressions = [
        {
            "key": dice.choice("abc"),
            "operator": (operator := dice.choice(["In", "NotIn", "Exists", "DoesNotExist"])),
            **({"values": dice.sample("xyz", dice.randint(1, 2))} if operator.endswith("In") else {}),
        }
        for _ in range(dice.randint(0, 3))
    ]
    return {
        "matchExpressions": expressions,
        "matchLabels": {key: dice.choice("xyz") for key in dice.sample("abc", dice.randint(0, 1))},
    }


def test_selector_index_finds_all_selectors_that_match():
    dice = random.Random(21)
    for _ in range(200):
        selectors = [from_label_selector(random_selector(dice)) for _ in range(dice.randint(1, 70))]
        index = SelectorIndex(selectors)
        labels = {key: dice.choice("xyz") for key in dice.sample("abc", dice.randint(0, 3))}
        possible = index.possible(labels)
        assert all(possible >> number & 1 for number, selector in enumerate(selectors) if selector.matches(labels))


def test_selector_index_leaves_out_selectors_of_other_labels():
    index = SelectorIndex([from_label_selector({"matchLabels": {"a": str(number)}}) for number in range(100)])
    assert index.possible({"a": "70", "b": "1"}) == 1 << 70
    assert index.possible({}) == 0
