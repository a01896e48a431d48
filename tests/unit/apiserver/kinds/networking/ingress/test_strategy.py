from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named

from steersman.apiserver.kinds.networking.ingress.strategy import IngressStrategy

STRATEGY = IngressStrategy()
BACKEND = {"service": {"name": "s", "port": {"number": 80}}}
INGRESS = named(spec={"defaultBackend": BACKEND})
ANNOTATED = edited(INGRESS, {"metadata.annotations": {"kubernetes.io/ingress.class": "nginx"}})


def test_default_changes_nothing():
    tree = edited(INGRESS, {})
    STRATEGY.default(tree, "v1")
    assert tree == INGRESS


def test_warnings_about_class_annotation_on_create_only():
    assert STRATEGY.warnings(CONTEXT, ANNOTATED, None) == [
        "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead"
    ]
    assert list(STRATEGY.warnings(CONTEXT, ANNOTATED, INGRESS)) == []


def test_prepare_for_create_empties_status():
    new = edited(INGRESS, {"status.loadBalancer.ingress": [{"ip": "10.0.0.1"}]})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["status"] == {"loadBalancer": {}}


def test_prepare_for_status_update_keeps_spec():
    new = edited(INGRESS, {"spec.ingressClassName": "b", "status.loadBalancer.ingress": [{"ip": "10.0.0.1"}]})
    STRATEGY.prepare_for_status_update(CONTEXT, new, INGRESS)
    assert (new["spec"], new["status"]["loadBalancer"]["ingress"]) == (INGRESS["spec"], [{"ip": "10.0.0.1"}])


@pytest.mark.parametrize(
    ("edits", "cells"),
    [
        ({}, ["a", "<none>", "*", "", "80", "60s"]),
        (
            {
                "spec.ingressClassName": "nginx",
                "spec.tls": [{}],
                "spec.rules": [{"host": "a.com"}, {}, {"host": "b.com"}],
                "status.loadBalancer.ingress": [{"ip": "10.0.0.1"}, {"hostname": "h.com"}],
            },
            ["a", "nginx", "a.com,b.com", "10.0.0.1,h.com", "80, 443", "60s"],
        ),
        (
            {"status.loadBalancer.ingress": [{"ip": "10.0.0.2"}, {"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
            ["a", "<none>", "*", "10.0.0.1,10.0.0.2", "80", "60s"],
        ),
        (
            {"spec.rules": [{}, *({"host": f"{n}.com"} for n in "abc")]},
            ["a", "<none>", "a.com,b.com,c.com", "", "80", "60s"],
        ),
        (
            {"spec.rules": [*({"host": f"{n}.com"} for n in "abc"), {}]},
            ["a", "<none>", "a.com,b.com,c.com + 1 more...", "", "80", "60s"],
        ),
        (
            {"spec.rules": [{"host": f"{n}.com"} for n in "abcde"]},
            ["a", "<none>", "a.com,b.com,c.com + 2 more...", "", "80", "60s"],
        ),
    ],
)
def test_cells_show_hosts_and_addresses(edits, cells):
    assert STRATEGY.cells(edited(INGRESS, edits), NOW) == cells
