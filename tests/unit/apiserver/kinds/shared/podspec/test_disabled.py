"""Fields whose features are off."""

from __future__ import annotations

from steersman.apiserver.kinds.shared.podspec.disabled import drop_disabled, drop_disabled_status


def test_sources_of_projections_are_left_empty():
    sources = [
        {"clusterTrustBundle": {"name": "b", "path": "p"}},
        {"podCertificate": {"signerName": "s"}},
        {"secret": {"name": "s"}},
    ]
    spec = {"volumes": [{"name": "v", "projected": {"sources": sources}}, {"name": "w", "emptyDir": {}}]}
    drop_disabled(spec)
    assert spec["volumes"][0]["projected"]["sources"] == [{}, {}, {"secret": {"name": "s"}}]


def test_a_lifecycle_of_nothing_else_goes_with_its_signal():
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


def test_no_group_is_scheduled_together():
    spec = {"schedulingGroup": {"podGroupName": "g"}, "containers": []}
    drop_disabled(spec)
    assert spec == {"containers": []}


def test_statuses_tell_nothing_of_images_that_are_volumes():
    mount = {"name": "v", "mountPath": "/v"}
    told = {"name": "c", "volumeMounts": [{**mount, "volumeStatus": {"image": {"imageRef": "i@sha256:0"}}}]}
    status = {"containerStatuses": [told], "nodeAllocatableResourceClaimStatuses": [{}], "phase": "Running"}
    drop_disabled_status(status)
    assert status == {"containerStatuses": [{"name": "c", "volumeMounts": [mount]}], "phase": "Running"}
