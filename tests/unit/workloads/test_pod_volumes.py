import msgspec
from lightkube.models.core_v1 import Pod

from steersman.workloads.pod_volumes import claim_keys_of, claim_of, claims_of

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
