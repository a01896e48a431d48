from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named

from steersman.apiserver.kinds.discovery.endpointslice.strategy import EndpointSliceStrategy

STRATEGY = EndpointSliceStrategy()
SLICE = defaulted(
    STRATEGY, named(addressType="IPv4", endpoints=[{"addresses": ["10.0.0.1"]}], ports=[{"name": "http", "port": 80}])
)


def test_default_sets_port_name_and_protocol():
    assert defaulted(STRATEGY, {"ports": [{"port": 1}]})["ports"] == [{"port": 1, "name": "", "protocol": "TCP"}]


@pytest.mark.parametrize(
    "edits", [{"endpoints.0.addresses": ["10.0.0.2"]}, {"ports": []}, {"metadata.labels": {"a": "b"}}]
)
def test_generation_view_follows_content_and_labels(edits):
    assert STRATEGY.generation_view(edited(SLICE, edits)) != STRATEGY.generation_view(SLICE)


@pytest.mark.parametrize("edits", [{"metadata.annotations": {"a": "b"}}, {"metadata.labels": {}}])
def test_generation_view_ignores_other_metadata(edits):
    assert STRATEGY.generation_view(edited(SLICE, edits)) == STRATEGY.generation_view(SLICE)


TOPOLOGY = {"endpoints.0.deprecatedTopology": {"kubernetes.io/hostname": "n"}}


def test_prepare_for_create_drops_topology():
    new = edited(SLICE, TOPOLOGY)
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new == SLICE


def test_prepare_for_update_drops_added_topology_and_bumps_generation():
    old = edited(SLICE, {"metadata.generation": 1})
    new = edited(old, TOPOLOGY)
    STRATEGY.prepare_for_update(CONTEXT, new, old)
    assert new == edited(old, {"metadata.generation": 2})


def test_prepare_for_update_keeps_topology_of_old_slice():
    old = edited(SLICE, TOPOLOGY)
    new = edited(old, {"metadata.labels": {"a": "b"}})
    STRATEGY.prepare_for_update(CONTEXT, new, old)
    assert new["endpoints"] == old["endpoints"]


@pytest.mark.parametrize(
    ("edits", "cells"),
    [
        ({}, ["a", "IPv4", "80", "10.0.0.1", "60s"]),
        ({"ports": [], "endpoints": []}, ["a", "IPv4", "<unset>", "<unset>", "60s"]),
        ({"ports": [{"name": "http"}, {"name": ""}]}, ["a", "IPv4", "http,", "10.0.0.1", "60s"]),
        ({"ports": [{"name": ""}]}, ["a", "IPv4", "<unset>", "10.0.0.1", "60s"]),
        (
            {"endpoints": [{"addresses": [f"10.0.0.{n}"]} for n in range(5)]},
            ["a", "IPv4", "80", "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more...", "60s"],
        ),
    ],
)
def test_cells_show_ports_and_addresses(edits, cells):
    assert STRATEGY.cells(edited(SLICE, edits), NOW) == cells
