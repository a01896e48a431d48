from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named, texts

from steersman.apiserver.kinds.rbac.role import RoleStrategy

STRATEGY = RoleStrategy()
ROLE = named(rules=[{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}])
NO_VERBS = "rules[0].verbs: Required value: verbs must contain at least one value"


@pytest.mark.parametrize(("edits", "faults"), [({}, []), ({"rules.0.verbs": []}, [NO_VERBS])])
def test_validate_and_validate_update_check_rules(edits, faults):
    new = edited(ROLE, edits)
    assert texts(STRATEGY.validate(CONTEXT, new)) == faults
    assert texts(STRATEGY.validate_update(CONTEXT, new, ROLE)) == faults


def test_validate_rejects_urls():
    urls = named(rules=[{"verbs": ["get"], "nonResourceURLs": ["/"]}])
    assert len(STRATEGY.validate(CONTEXT, urls)) == 1


def test_put_to_missing_name_creates():
    assert STRATEGY.allow_create_on_update is True


@pytest.mark.parametrize(("name", "is_fine"), [("system:a", True), ("a%", False)])
def test_name_errors_accept_any_path_segment(name, is_fine):
    assert (not STRATEGY.name_errors(name)) == is_fine


def test_cells_show_creation_time():
    assert STRATEGY.cells(ROLE, NOW) == ["a", "2026-01-01T00:00:00Z"]
