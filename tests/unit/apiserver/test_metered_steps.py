"""Steps that workers run on large objects account for their work often enough that the event loop gets its turns."""

import sys

import msgspec
import pytest

from steersman.apimachinery.codec import duplicate_fields
from steersman.apimachinery.field import Path
from steersman.apimachinery.managedfields.compare import compare_objects
from steersman.apimachinery.managedfields.equality import equal_exactly
from steersman.apimachinery.trees import copy_tree
from steersman.apimachinery.workmeter import metered
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.formats import unrecognized_formats
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.openapi_schema import validate_schema
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.structural import (
    check_convertible,
    validate_structural,
)
from steersman.apiserver.kinds.shared.config_validation import validate_config_map, validate_secret
from steersman.apiserver.kinds.shared.podspec import validate_containers
from steersman.apiserver.kinds.shared.podspec.rules import PodRules
from steersman.schema.loader import struct
from steersman.schema.protobuf_encoding import encoder_of

SIZE = 20_000
#: Calls of Python functions between two charges: some milliseconds.
STRETCH_MAX = 10_000

DATA = {f"k{number}": f"v{number}" for number in range(SIZE)}
CONFIG_MAP = {"metadata": {"name": "large"}, "data": DATA}
CHANGED = {"metadata": {"name": "large"}, "data": {f"k{number}": f"w{number}" for number in range(SIZE)}}
NESTED = {f"k{number}": {"a": number} for number in range(SIZE)}
PROPERTIES = {f"p{number}": {"type": "string", "description": "Field."} for number in range(SIZE)}
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": PROPERTIES}}}
DEFINITION = {"spec": {"versions": [{"schema": {"openAPIV3Schema": SCHEMA}}]}}
CONTAINERS = [{"name": f"c{number}", "image": "i"} for number in range(SIZE)]
CONFIG_MAP_TYPE = "io.k8s.api.core.v1.ConfigMap"


class Stretches:
    """Meter that counts calls of functions between charges."""

    def __init__(self):
        self.calls = 0
        self.longest = 0
        self.units = 0

    def spend(self, units):
        self.longest = max(self.longest, self.calls)
        self.calls = 0
        self.units += units

    def count(self, _frame, event, _argument):
        if event == "call":
            self.calls += 1


def longest_stretch(step):
    """Return the most calls between two charges of a step."""
    meter = Stretches()
    with metered(meter):
        sys.setprofile(meter.count)
        try:
            step()
        finally:
            sys.setprofile(None)
    meter.spend(0)
    return meter


STEPS = {
    "configmap": lambda: validate_config_map(CONFIG_MAP),
    "secret": lambda: validate_secret({"metadata": {}, "data": DATA}),
    "duplicates": lambda: duplicate_fields(b'{"k":1,' + msgspec.json.encode(NESTED)[1:], NESTED),
    "equality": lambda: equal_exactly(NESTED, copy_tree(NESTED)),
    "comparison": lambda: compare_objects(CONFIG_MAP, CHANGED, struct(CONFIG_MAP_TYPE)),
    "ownership": lambda: compare_objects({}, CHANGED, struct(CONFIG_MAP_TYPE)),
    "openapi": lambda: list(validate_schema(SCHEMA, Path("schema"))),
    "structural": lambda: validate_structural(SCHEMA, Path("schema")),
    "convertible": lambda: check_convertible(SCHEMA),
    "formats": lambda: list(unrecognized_formats(DEFINITION)),
    "protobuf": lambda: encoder_of(CONFIG_MAP_TYPE).encode(CONFIG_MAP),
    "containers": lambda: list(
        validate_containers.validate_containers(
            CONTAINERS, Path("spec", "containers"), validate_containers.ContainerContext({}, {}, PodRules())
        )
    ),
}


@pytest.mark.interpreted
@pytest.mark.parametrize("name", STEPS)
def test_step_on_a_large_object_accounts_for_its_work_at_intervals(name):
    meter = longest_stretch(STEPS[name])
    assert meter.units > SIZE - 256
    assert meter.longest < STRETCH_MAX
