"""Validation of Pod updates."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts, pod

from steersman.apiserver.kinds.core.pod.updates import validate_annotation_changes, validate_pod_update

MAY_CHANGE = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
INIT = {"initContainers": [{"name": "x", "image": "i"}]}
GATED = {"schedulingGates": [{"name": "g"}, {"name": "h"}]}


def change(new: dict, old: dict | None = None) -> list[str]:
    return error_texts(validate_pod_update(pod(**new), pod(**(old or {}))))


def image(name: str) -> list[dict]:
    return [{"name": "c", "image": name, "imagePullPolicy": "Always"}]


def init(name: str) -> list[dict]:
    return [{"name": "x", "image": name, "imagePullPolicy": "Always"}]


def on(*values: str) -> dict:
    expressions = [{"key": value, "operator": "Exists"} for value in values]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}}}


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ({}, {}),
        ({"containers": image("j")}, {"containers": image("i")}),
        ({"initContainers": init("j")}, {"initContainers": init("i")}),
        ({"activeDeadlineSeconds": 5}, {}),
        ({"activeDeadlineSeconds": 5}, {"activeDeadlineSeconds": 6}),
        ({"tolerations": [{"key": "a"}, {"key": "b"}]}, {"tolerations": [{"key": "a"}]}),
        (
            {"tolerations": [{"key": "a", "effect": "NoExecute", "tolerationSeconds": 9}]},
            {"tolerations": [{"key": "a", "effect": "NoExecute", "tolerationSeconds": 5}]},
        ),
        ({"terminationGracePeriodSeconds": 1}, {"terminationGracePeriodSeconds": -1}),
        ({"schedulingGates": [{"name": "h"}]}, GATED),
        ({**GATED, "nodeSelector": {"a": "b"}}, GATED),
        ({**GATED, "nodeSelector": {"a": "b", "c": "d"}}, {**GATED, "nodeSelector": {"a": "b"}}),
        ({**GATED, **on("a")}, GATED),
        ({**GATED, **on("a", "b")}, {**GATED, **on("a")}),
    ],
    ids=[
        "nothing", "an image", "an init image", "a deadline", "a nearer deadline", "a toleration", "its seconds",
        "a negative grace", "fewer gates", "a selector while gated", "more of one", "an affinity while gated",
        "more of one too",
    ],
)  # fmt: skip
def test_validate_pod_update_accepts_mutable_fields(new: dict, old: dict):
    assert change(new, old) == []


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ({"hostNetwork": True}, {}),
        ({"nodeSelector": {"a": "b"}}, {}),
        ({"terminationGracePeriodSeconds": 5}, {}),
        ({"serviceAccountName": "b"}, {"serviceAccountName": "a"}),
        ({"containers": [{"name": "c", "image": "i", "args": ["x"]}]}, {}),
        ({"containers": [{"name": "d", "image": "i"}]}, {}),
        ({"nodeName": "b"}, {"nodeName": "a"}),
        ({"volumes": [{"name": "v", "emptyDir": {}}]}, {}),
        ({"affinity": {}}, {}),
        ({}, {"dnsConfig": {}}),
    ],
)
def test_validate_pod_update_rejects_other_changes(new: dict, old: dict):
    (fault,) = change(new, old)
    assert fault.startswith(MAY_CHANGE)


def test_validate_pod_update_shows_diff():
    (fault,) = change({"nodeSelector": {"a": "b"}})
    assert '+ "NodeSelector": {' in fault


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_validate_pod_update_rejects_added_and_removed_containers(kind: str):
    more = [*INIT["initContainers"], {"name": "y", "image": "i"}]
    faults = change({kind: more}, {kind: more[:1]})
    assert faults == [f"spec.{kind}: Forbidden: pod updates may not add or remove containers"]


@pytest.mark.parametrize(
    ("new", "old", "fault"),
    [
        (
            {},
            {"activeDeadlineSeconds": 5},
            "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
        ),
        (
            {"activeDeadlineSeconds": 6},
            {"activeDeadlineSeconds": 5},
            "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value",
        ),
        (
            {"tolerations": [{"key": "b"}]},
            {"tolerations": [{"key": "a"}]},
            "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
        ),
        (
            {"schedulingGates": [{"name": "z"}]},
            GATED,
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'z'",
        ),
        (
            {**GATED, "nodeSelector": {"a": "c"}},
            {**GATED, "nodeSelector": {"a": "b"}},
            (
                'spec.nodeSelector: Invalid value: {"a":"c"}: '
                "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            ),
        ),
        (
            {**GATED, **on("b")},
            {**GATED, **on("a")},
            (
                f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]: Invalid value: "
                '{"MatchExpressions":[{"Key":"b","Operator":"Exists","Values":null}],"MatchFields":null}: '
                "only additions are allowed (no mutations or deletions)"
            ),
        ),
        (
            {**GATED},
            {**GATED, **on("a")},
            (
                f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms: Invalid value: null: "
                "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
            ),
        ),
    ],
)
def test_validate_pod_update_restricts_direction_of_changes(new: dict, old: dict, fault: str):
    assert change(new, old) == [fault]


def test_validate_pod_update_requires_image():
    assert "spec.containers[0].image: Required value" in change({"containers": image("")}, {"containers": image("i")})


# -- annotations ------------------------------------------------------------------------------------------------------------

ARMOR = "container.apparmor.security.beta.kubernetes.io/c"
MIRROR = "kubernetes.io/config.mirror"


@pytest.mark.parametrize(
    ("new", "old", "faults"),
    [
        ({"a": "1"}, {"a": "2", "b": "3"}, []),
        ({ARMOR: "unconfined"}, {ARMOR: "unconfined"}, []),
        (
            {},
            {ARMOR: "unconfined"},
            [f"metadata.annotations[{ARMOR}]: Forbidden: may not remove or update AppArmor annotations"],
        ),
        (
            {ARMOR: "unconfined"},
            {},
            [f"metadata.annotations[{ARMOR}]: Forbidden: may not add AppArmor annotations"],
        ),
        (
            {MIRROR: "b"},
            {MIRROR: "a"},
            [f"metadata.annotations[{MIRROR}]: Forbidden: may not remove or update mirror pod annotation"],
        ),
    ],
)
def test_validate_annotation_changes_rejects_profile_and_mirror_annotations(new: dict, old: dict, faults: list[str]):
    spec = {"nodeName": "n"}
    assert (
        error_texts(validate_annotation_changes(pod({"annotations": new}, **spec), pod({"annotations": old}, **spec)))
        == faults
    )
