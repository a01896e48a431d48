import msgspec
import pytest
from lightkube.models.core_v1 import Pod

from steersman.workloads.pod_volumes import claim_keys_of, claim_of, claims_of, releases_volumes

VOLUMES = [
    {"name": "a", "persistentVolumeClaim": {"claimName": "c"}},
    {"name": "e", "ephemeral": {}},
    {"name": "x", "emptyDir": {}},
]
POD = msgspec.convert(
    {"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [], "volumes": VOLUMES}}, Pod
)  # fmt: skip


def test_claims_of_includes_generated_claims():
    assert [claim_of(POD, volume) for volume in POD.spec.volumes] == ["c", "p-e", ""]
    assert claims_of(POD) == ["c", "p-e"]
    assert claim_keys_of(POD) == ["n/c", "n/p-e"]


def test_claims_of_is_empty_without_volumes():
    assert claims_of(Pod()) == []


GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
RUNNING, WAITING = {"running": {}}, {"waiting": {}}


@pytest.mark.parametrize(
    ("metadata", "status", "expected"),
    [
        ({}, {"phase": "Running"}, False),
        ({}, {"phase": "Failed"}, True),
        ({}, {"containerStatuses": [WAITING]}, False),
        (GOING, None, True),
        (
            GOING,
            {"containerStatuses": [WAITING], "ephemeralContainerStatuses": [{"terminated": {"exitCode": 0}}]},
            True,
        ),
        (GOING, {"containerStatuses": [WAITING, RUNNING]}, False),
        (GOING, {"initContainerStatuses": [None]}, False),
    ],
)
def test_releases_volumes_when_no_container_can_use_them(metadata, status, expected):
    common = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0}
    statuses = {
        name: [{**common, "state": state} for state in value] if isinstance(value, list) else value
        for name, value in (status or {}).items()
    }
    tree = {"metadata": {"name": "p", **metadata}, "status": statuses if status is not None else None}
    assert releases_volumes(msgspec.convert(tree, Pod)) is expected
