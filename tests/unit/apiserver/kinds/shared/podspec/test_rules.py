"""What bends the rules."""

from __future__ import annotations

import msgspec

from steersman.apiserver.kinds.shared.podspec.rules import TEMPLATE_RULES, PodRules


def test_no_rule_is_bent_for_templates():
    bent = [name for name, value in msgspec.structs.asdict(TEMPLATE_RULES).items() if value]
    assert bent == ["allow_privileged"]


def test_rules_of_one_pod_equal_those_of_another_of_its_name():
    assert PodRules(is_pod=True, pod_name="a") == PodRules(is_pod=True, pod_name="a") != TEMPLATE_RULES
