import msgspec
from lightkube.models.rbac_v1 import ClusterRole

from steersman.client import tree
from steersman.controllers.clusterroleaggregation.controller import build
from steersman.controllers.clusterroleaggregation.plan import affected, aggregated_rules, is_up_to_date


def rule(*verbs):
    return {"apiGroups": [""], "resources": ["pods"], "verbs": list(verbs)}


def role(name, *rules, selects=(), **labels):
    tree_ = {"metadata": {"name": name, "labels": labels}, "rules": list(rules)}
    if selects:
        tree_["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": selector} for selector in selects]}
    return msgspec.convert(tree_, ClusterRole)


def test_aggregated_rules_are_ordered_and_unique():
    whole = role("whole", selects=({"b": "1"}, {"a": "1"}))
    parts = [
        role("y", rule("get"), a="1"),
        role("x", rule("list"), rule("get"), a="1"),
        role("z", rule("watch"), b="1"),
    ]
    verbs = [aggregated_rule.verbs for aggregated_rule in aggregated_rules(whole, [whole, *parts])]
    assert verbs == [["watch"], ["list"], ["get"]]


def test_aggregated_rules_exclude_the_role_itself():
    whole = role("whole", rule("get"), selects=({"a": "1"},), a="1")
    assert aggregated_rules(whole, [whole]) == []
    assert not is_up_to_date(whole, [])


def test_affected_returns_roles_that_select_the_change():
    roles = [role("one", selects=({"a": "1"},)), role("two", selects=({"b": "1"},))]
    assert affected([role("x", a="1")], roles) == ["one"]
    assert affected([role("x", a="1"), role("x", b="1")], roles) == ["one", "two"]
    assert affected([role("two")], roles) == ["two"]


async def test_rules_follow_the_selected_roles(cluster):
    await cluster.start(build)
    selectors = {"clusterRoleSelectors": [{"matchLabels": {"a": "1"}}]}
    kind = ("rbac.authorization.k8s.io/v1", "ClusterRole")
    await cluster.make(*kind, "whole", aggregationRule=selectors, rules=[])
    await cluster.make(*kind, "part", rules=[rule("get")], metadata={"labels": {"a": "1"}})
    await cluster.eventually(*kind, "whole", lambda obj: obj["rules"] == [rule("get")])
    await cluster.client.delete(tree(*kind), "part")
    await cluster.eventually(*kind, "whole", lambda obj: not obj["rules"])


async def test_user_rules_in_an_aggregated_role_are_replaced(cluster):
    await cluster.start(build)
    selectors = {"clusterRoleSelectors": [{"matchLabels": {"a": "1"}}]}
    kind = ("rbac.authorization.k8s.io/v1", "ClusterRole")
    await cluster.make(*kind, "whole", aggregationRule=selectors, rules=[rule("get")])
    await cluster.eventually(*kind, "whole", lambda obj: not obj["rules"])
