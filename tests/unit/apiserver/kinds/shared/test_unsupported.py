"""Warnings about configuration without effect."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, named

from steersman.apiserver.kinds.apiextensions.customresourcedefinition.strategy import CustomResourceDefinitionStrategy
from steersman.apiserver.kinds.shared.unsupported import (
    conversion_webhook_warnings,
)

DEFINITION = named(spec={"group": "example.com", "versions": [], "conversion": {"strategy": "Webhook"}})


@pytest.mark.parametrize(
    ("strategy", "obj", "text"),
    [
        (CustomResourceDefinitionStrategy(), DEFINITION, "does not call conversion webhooks yet"),
    ],
)
@pytest.mark.parametrize("is_update", [False, True])
def test_strategy_warns_about_configuration_without_effect_on_create_and_update(strategy, obj, text, is_update):
    [warning] = strategy.warnings(CONTEXT, obj, obj if is_update else None)
    assert text in warning


def test_conversion_webhook_warnings_is_empty_without_webhook():
    assert not conversion_webhook_warnings(named(spec={"conversion": {"strategy": "None"}}))
    assert not conversion_webhook_warnings(named(spec={}))
