"""Generated tables equal the generator's output, and recorded resources of a running Kubernetes 1.36."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from codegen.emit import render, stale

from steersman.controlplane.options import APIServerOptions
from steersman.controlplane.runtime_config import served_resources
from steersman.schema.resources import Resource

#: Resources that are served by default.
SERVED = served_resources(APIServerOptions())

FACTS = Path(__file__).parents[3] / "shared" / "facts" / "resources.yaml"


def test_generated_tree_is_up_to_date():
    assert stale(render()) == []


@pytest.mark.skipif(not FACTS.is_file(), reason="no recorded facts beside this checkout")
def test_resources_equal_those_of_a_real_server():
    recorded = yaml.safe_load(FACTS.read_text())
    served: dict[str, dict[str, Any]] = {}
    for resource in SERVED.resources:
        served.setdefault(resource.api_version, {})[resource.name] = as_recorded(resource)
    assert served == recorded


def as_recorded(resource: Resource) -> dict[str, Any]:
    subresources = {
        child.name: {
            "kind": f"{child.group}/{child.version}/{child.kind}" if child.group else child.kind,
            "verbs": list(child.verbs),
        }
        for child in resource.subresources
    }
    row = {
        "kind": resource.kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singular": resource.singular,
        "verbs": list(resource.verbs),
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
        "subresources": subresources,
    }
    return {key: value for key, value in row.items() if value}
