from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import defaulted, edited, named, texts

from steersman.apiserver.kinds.flowcontrol.flowschema.validation import validate_flow_schema
from steersman.apiserver.kinds.flowcontrol.prioritylevelconfiguration.strategy import PriorityLevelConfigurationStrategy
from steersman.apiserver.kinds.flowcontrol.prioritylevelconfiguration.validation import validate_priority_level
from steersman.apiserver.kinds.flowcontrol.shared.mandatory import FLOW_SCHEMAS, PRIORITY_LEVELS

NAMES = ["exempt", "catch-all"]


@pytest.mark.parametrize("name", NAMES)
def test_mandatory_schemas_are_valid_and_refer_to_mandatory_levels(name):
    assert texts(validate_flow_schema(named(name, spec=FLOW_SCHEMAS[name]))) == []
    assert FLOW_SCHEMAS[name]["priorityLevelConfiguration"]["name"] in PRIORITY_LEVELS


@pytest.mark.parametrize("name", NAMES)
def test_mandatory_levels_are_valid_and_defaulted(name):
    level = named(name, spec=PRIORITY_LEVELS[name])
    assert texts(validate_priority_level(level)) == []
    assert defaulted(PriorityLevelConfigurationStrategy(), edited(level, {})) == level


def test_mandatory_schemas_have_lowest_and_highest_precedence():
    assert [FLOW_SCHEMAS[name]["matchingPrecedence"] for name in NAMES] == [1, 10_000]
