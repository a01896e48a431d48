"""Options of Pod spec validation."""

from __future__ import annotations

import msgspec

from steersman.apiserver.kinds.shared.podspec.rules import TEMPLATE_RULES, PodRules


def test_template_rules_have_defaults_only():
    bent = [name for name, value in msgspec.structs.asdict(TEMPLATE_RULES).items() if value]
    assert bent == ["allow_privileged"]


def test_besides_name_ignores_pod_name():
    assert PodRules(is_pod=True, pod_name="a") == PodRules(is_pod=True, pod_name="a") != TEMPLATE_RULES
