from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.apiserver.writing import CONFIG_MAPS, Server

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.admission.chain import AdmissionChain
from steersman.apiserver.endpoints.patching import ApplyPatch, JSONPatch, MergePatch, StrategicMergePatch
from steersman.apiserver.endpoints.request_scope import RequestScope
from steersman.apiserver.generic.options import IGNORE, STRICT, WriteOptions
from steersman.apiserver.request import WarningRecorder

OLD = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {"name": "a", "namespace": "default", "finalizers": ["example.com/f"]},
    "data": {"k": "v"},
}
_ENTRY = {"manager": "other", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
_ENTRY |= {"time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {"f:k": {}}}}
OWNED = {**OLD, "metadata": {**OLD["metadata"], "managedFields": [_ENTRY]}}


class Bench:
    """One mechanism on ConfigMaps."""

    def __init__(self, server: Server, mechanism: Any, **options: Any) -> None:
        served = server.registry.get("", "v1", "configmaps")
        self.scope = RequestScope(served, admission=AdmissionChain(), authorizer=None)
        self.recorder = WarningRecorder()
        self.ctx = server.context(field_manager="me", warnings=self.recorder)
        self.mechanism = mechanism
        self.options = WriteOptions(**options)

    @property
    def warnings(self):
        return self.recorder.texts

    def __call__(self, raw: bytes, old: Any = OLD) -> Any:
        return self.mechanism(self.scope, self.ctx, self.options, raw).apply_to(old, "a")

    def refused(self, raw: bytes, old: Any = OLD) -> Any:
        with pytest.raises(StatusError) as caught:
            self(raw, old)
        return caught.value.status


PATCHES = [
    (JSONPatch, b'[{"op":"replace","path":"/data/k","value":"w"}]'),
    (MergePatch, b'{"data":{"k":"w"}}'),
    (StrategicMergePatch, b'{"data":{"k":"w"}}'),
]


@pytest.mark.parametrize(("mechanism", "raw"), PATCHES)
async def test_apply_to_does_not_change_the_stored_object(mechanism, raw):
    async with Server() as server:
        patched = Bench(server, mechanism)(raw, OWNED)
        assert (patched["data"], OWNED["data"]) == ({"k": "w"}, {"k": "v"})


@pytest.mark.parametrize(("mechanism", "raw"), PATCHES)
async def test_patch_of_a_missing_object_is_not_found(mechanism, raw):
    async with Server() as server:
        assert Bench(server, mechanism).refused(raw, None)["message"] == 'configmaps "a" not found'


@pytest.mark.parametrize(
    ("mechanism", "raw"),
    [
        (JSONPatch, b'[{"op":"add","path":"/unknown","value":1}]'),
        (MergePatch, b'{"unknown":1}'),
        (StrategicMergePatch, b'{"unknown":1}'),
    ],
)
async def test_field_validation_of_patches(mechanism, raw):
    async with Server() as server:
        status = Bench(server, mechanism, field_validation=STRICT).refused(raw)
        [cause] = status["details"]["causes"]
        assert (status["code"], cause["field"]) == (422, "patch")
        assert cause["message"].endswith('strict decoding error: unknown field "unknown"')
        warned = Bench(server, mechanism)
        assert "unknown" not in warned(raw)
        assert warned.warnings == ['unknown field "unknown"']
        ignored = Bench(server, mechanism, field_validation=IGNORE)
        ignored(raw)
        assert ignored.warnings == []


@pytest.mark.parametrize(
    ("mechanism", "raw", "paths"),
    [
        (JSONPatch, b'[{"op":"add","path":"/z","value":1},{"op":"add","path":"/a","value":1}]', ["a", "z"]),
        (MergePatch, b'{"z":1,"metadata":{"x":1},"metadata-a":1}', ["metadata.x", "metadata-a", "z"]),
        (StrategicMergePatch, b'{"z":1,"metadata":{"x":1},"metadata-a":1}', ["metadata-a", "metadata.x", "z"]),
    ],
)
async def test_unknown_fields_of_a_patched_object_are_sorted(mechanism, raw, paths):
    """JSON is decoded in key order; strategic merges sort the paths."""
    async with Server() as server:
        bench = Bench(server, mechanism)
        bench(raw)
        assert bench.warnings == [f'unknown field "{path}"' for path in paths]


@pytest.mark.parametrize("mechanism", [MergePatch, StrategicMergePatch])
async def test_duplicate_keys_of_a_patch_are_reported(mechanism):
    async with Server() as server:
        bench = Bench(server, mechanism)
        assert bench(b'{"data":{"k":"1","k":"2"}}')["data"] == {"k": "2"}
        assert bench.warnings == ['duplicate field "data.k"']


async def test_patched_object_must_be_of_the_kind():
    async with Server() as server:
        shown = Bench(server, MergePatch).refused(b'{"data":{"k":1}}')["details"]["causes"][0]["message"]
        assert shown.startswith('Invalid value: "{\\"kind\\":\\"ConfigMap\\"')
        shown = Bench(server, StrategicMergePatch).refused(b'{"data":{"k":1}}')["details"]["causes"][0]["message"]
        assert shown.startswith('Invalid value: "map[data:map[k:1]]"')


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"data": 1}, "cannot restore map from int64"),
        ({"data": ["k"]}, "cannot restore map from slice"),
        ({"data": {"k": 1}}, "cannot convert int64 to string"),
        ({"data": {"k": True}}, "unrecognized type: string"),
        ({"immutable": "yes"}, "unrecognized type: bool"),
        ({"metadata": {"deletionGracePeriodSeconds": "1"}}, "unrecognized type: int64"),
        ({"metadata": {"deletionGracePeriodSeconds": 1.5}}, "cannot convert float64 to int64"),
        ({"metadata": {"managedFields": "x"}}, "cannot restore slice from string"),
        ({"metadata": {"managedFields": ["x"]}}, "cannot restore struct from: string"),
    ],
)
async def test_strategic_patch_reports_type_errors_as_upstream(patch, message):
    async with Server() as server:
        status = Bench(server, StrategicMergePatch).refused(json.dumps(patch).encode())
        assert status["details"]["causes"][0]["message"].endswith(f'": {message}')


@pytest.mark.parametrize(("sent", "stored"), [(2.0, 2), (2**64 + 5.0, -(2**63))])
async def test_strategic_patch_converts_numbers_as_upstream(sent, stored):
    async with Server() as server:
        patch = json.dumps({"metadata": {"generation": sent}}).encode()
        assert Bench(server, StrategicMergePatch)(patch)["metadata"]["generation"] == stored


async def test_apply_reports_values_that_cannot_be_converted():
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "binaryData": {"k": "?"}}
    reason = "error decoding from json: illegal base64 data at input byte 0"
    async with Server() as server:
        answer = await server.apply(f"{CONFIG_MAPS}/a", config)
        assert answer.code == 500
        assert answer.body["message"] == (
            "failed to convert new object (/a; /v1, Kind=ConfigMap) to proper version:"
            f" unable to convert unstructured object to /v1, Kind=ConfigMap: {reason}"
        )


async def test_strategic_patch_merges_lists_and_keeps_the_kind():
    async with Server() as server:
        bench = Bench(server, StrategicMergePatch)
        patched = bench(b'{"kind":"Pod","apiVersion":"v2","metadata":{"finalizers":["example.com/g"]}}')
        assert (patched["kind"], patched["apiVersion"]) == ("ConfigMap", "v1")
        assert sorted(patched["metadata"]["finalizers"]) == ["example.com/f", "example.com/g"]
        assert bench(b"null")["data"] == OLD["data"]


@pytest.mark.parametrize(
    ("mechanism", "raw"),
    [
        (JSONPatch, b"{}"),
        (JSONPatch, b"["),
        (MergePatch, b"["),
        (StrategicMergePatch, b"[]"),
        (StrategicMergePatch, b"{"),
        (StrategicMergePatch, b'"text"'),
        (ApplyPatch, b"{"),
        (ApplyPatch, b"[]"),
        (ApplyPatch, b""),
    ],
)
async def test_malformed_patches_are_rejected(mechanism, raw):
    async with Server() as server:
        assert Bench(server, mechanism, field_manager="me").refused(raw)["code"] == 400


CONFIG = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: {k: w}\n"


async def test_apply_patch_creates_a_missing_object():
    async with Server() as server:
        created = Bench(server, ApplyPatch, field_manager="me")(CONFIG, None)
        assert created["data"] == {"k": "w"}
        [entry] = created["metadata"]["managedFields"]
        assert (entry["manager"], entry["operation"]) == ("me", "Apply")


async def test_apply_patch_takes_fields_of_another_manager_by_force_only():
    async with Server() as server:
        refused = Bench(server, ApplyPatch, field_manager="me").refused(CONFIG, OWNED)
        assert (refused["code"], refused["details"]["causes"][0]["field"]) == (409, ".data.k")
        assert Bench(server, ApplyPatch, field_manager="me", force=True)(CONFIG, OWNED)["data"] == {"k": "w"}


async def test_apply_patch_reports_duplicate_keys():
    async with Server() as server:
        raw = CONFIG.replace(b"{k: w}", b"{k: 1, k: w}")
        bench = Bench(server, ApplyPatch, field_manager="me")
        assert bench(raw, None)["data"] == {"k": "w"}
        assert len(bench.warnings) == 1
        assert Bench(server, ApplyPatch, field_manager="me", field_validation=STRICT).refused(raw, None)["code"] == 400


async def test_apply_patch_requires_a_schema():
    async with Server() as server:
        bench = Bench(server, ApplyPatch, field_manager="me")
        bench.scope.struct = None
        assert bench.refused(CONFIG, None)["code"] == 500
