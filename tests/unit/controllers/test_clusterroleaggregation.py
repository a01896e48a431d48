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
        tree_["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": each} for each in selects]}
    return msgspec.convert(tree_, ClusterRole)


def test_rules_come_by_selector_and_then_by_name_and_each_once():
    whole = role("whole", selects=({"b": "1"}, {"a": "1"}))
    parts = [
        role("y", rule("get"), a="1"),
        role("x", rule("list"), rule("get"), a="1"),
        role("z", rule("watch"), b="1"),
    ]
    verbs = [each.verbs for each in aggregated_rules(whole, [whole, *parts])]
    assert verbs == [["watch"], ["list"], ["get"]]


def test_a_role_does_not_aggregate_itself():
    whole = role("whole", rule("get"), selects=({"a": "1"},), a="1")
    assert aggregated_rules(whole, [whole]) == []
    assert not is_up_to_date(whole, [])


def test_only_roles_that_select_a_state_are_looked_at():
    roles = [role("one", selects=({"a": "1"},)), role("two", selects=({"b": "1"},))]
    assert affected([role("x", a="1")], roles) == ["one"]
    assert affected([role("x", a="1"), role("x", b="1")], roles) == ["one", "two"]
    assert affected([role("two")], roles) == ["two"]


async def test_rules_follow_the_roles_that_are_selected(cluster):
    await cluster.start(build)
    selectors = {"clusterRoleSelectors": [{"matchLabels": {"a": "1"}}]}
    kind = ("rbac.authorization.k8s.io/v1", "ClusterRole")
    await cluster.make(*kind, "whole", aggregationRule=selectors, rules=[])
    await cluster.make(*kind, "part", rules=[rule("get")], metadata={"labels": {"a": "1"}})
    await cluster.eventually(*kind, "whole", lambda found: found["rules"] == [rule("get")])
    await cluster.client.delete(tree(*kind), "part")
    await cluster.eventually(*kind, "whole", lambda found: not found["rules"])


async def test_what_users_write_into_a_role_goes_also_where_nothing_is_selected(cluster):
    await cluster.start(build)
    selectors = {"clusterRoleSelectors": [{"matchLabels": {"a": "1"}}]}
    kind = ("rbac.authorization.k8s.io/v1", "ClusterRole")
    await cluster.make(*kind, "whole", aggregationRule=selectors, rules=[rule("get")])
    await cluster.eventually(*kind, "whole", lambda found: not found["rules"])
