"""Dropping of fields of disabled features."""

from __future__ import annotations

from steersman.apiserver.kinds.shared.podspec.disabled import drop_disabled, drop_disabled_status


def test_drop_disabled_empties_projected_sources():
    sources = [
        {"clusterTrustBundle": {"name": "b", "path": "p"}},
        {"podCertificate": {"signerName": "s"}},
        {"secret": {"name": "s"}},
    ]
    spec = {"volumes": [{"name": "v", "projected": {"sources": sources}}, {"name": "w", "emptyDir": {}}]}
    drop_disabled(spec)
    assert spec["volumes"][0]["projected"]["sources"] == [{}, {}, {"secret": {"name": "s"}}]


def test_drop_disabled_drops_lifecycle_with_stop_signal_only():
    hook = {"exec": {"command": ["x"]}}
    spec = {
        "containers": [{"name": "a", "lifecycle": {"stopSignal": "SIGINT"}}],
        "initContainers": [{"name": "b", "lifecycle": {"stopSignal": "SIGINT", "preStop": hook}}],
        "ephemeralContainers": [{"name": "c", "lifecycle": {}}],
    }
    drop_disabled(spec)
    assert spec == {
        "containers": [{"name": "a"}],
        "initContainers": [{"name": "b", "lifecycle": {"preStop": hook}}],
        "ephemeralContainers": [{"name": "c", "lifecycle": {}}],
    }


def test_drop_disabled_drops_workload_reference():
    spec = {"schedulingGroup": {"podGroupName": "g"}, "containers": []}
    drop_disabled(spec)
    assert spec == {"containers": []}


def test_drop_disabled_status_drops_image_volume_status():
    mount = {"name": "v", "mountPath": "/v"}
    error_texts = {"name": "c", "volumeMounts": [{**mount, "volumeStatus": {"image": {"imageRef": "i@sha256:0"}}}]}
    status = {"containerStatuses": [error_texts], "nodeAllocatableResourceClaimStatuses": [{}], "phase": "Running"}
    drop_disabled_status(status)
    assert status == {"containerStatuses": [{"name": "c", "volumeMounts": [mount]}], "phase": "Running"}
