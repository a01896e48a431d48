"""Warnings about configuration without effect."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, named

from steersman.apiserver.kinds.apiextensions.customresourcedefinition.strategy import CustomResourceDefinitionStrategy
from steersman.apiserver.kinds.apiregistration.apiservice import APIServiceStrategy
from steersman.apiserver.kinds.shared.unsupported import (
    aggregation_warnings,
    conversion_webhook_warnings,
)

DEFINITION = named(spec={"group": "example.com", "versions": [], "conversion": {"strategy": "Webhook"}})
API_SERVICE = named(spec={"group": "example.com", "version": "v1", "service": {"name": "s", "namespace": "n"}})


@pytest.mark.parametrize(
    ("strategy", "obj", "text"),
    [
        (CustomResourceDefinitionStrategy(), DEFINITION, "does not call conversion webhooks yet"),
        (APIServiceStrategy(), API_SERVICE, "does not proxy to aggregated API servers yet"),
    ],
)
@pytest.mark.parametrize("is_update", [False, True])
def test_strategy_warns_about_configuration_without_effect_on_create_and_update(strategy, obj, text, is_update):
    [warning] = strategy.warnings(CONTEXT, obj, obj if is_update else None)
    assert text in warning


def test_conversion_webhook_warnings_is_empty_when_the_server_converts():
    assert not conversion_webhook_warnings(named(spec={"conversion": {"strategy": "None"}}))
    assert not conversion_webhook_warnings(named(spec={}))


def test_aggregation_warnings_is_empty_for_local_api_services():
    assert not aggregation_warnings(named(spec={"group": "example.com", "version": "v1"}))


def test_aggregation_warnings_names_the_group_version():
    assert '"example.com/v1"' in aggregation_warnings(API_SERVICE)[0]
