"""Validation of a Pod's volumes."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.rules import TEMPLATE_RULES, PodRules
from steersman.apiserver.kinds.shared.podspec.validate_volumes import validate_claim_template, validate_volumes

P = Path("v")
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
FIELD = {"apiVersion": "v1", "fieldPath": "metadata.name"}


def faults(*volumes: dict, rules: PodRules = TEMPLATE_RULES) -> list[str]:
    return error_texts(validate_volumes({"volumes": list(volumes)}, P, rules)[0])


def of_source(rules: PodRules = TEMPLATE_RULES, **source: object) -> list[str]:
    return faults({"name": "v", **source}, rules=rules)


def projected(*sources: dict) -> list[str]:
    return of_source(projected={"sources": list(sources)})


@pytest.mark.parametrize(
    "source",
    [
        {"emptyDir": {}},
        {"emptyDir": {"sizeLimit": "1Gi"}},
        {"configMap": {"name": "m"}},
        {"downwardAPI": {"items": [{"path": "p", "fieldRef": FIELD}]}},
        {"ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}},
        {"image": {"reference": "a", "pullPolicy": "Always"}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 600}}]}},
    ],
)
def test_validate_volumes_accepts_valid_volumes(source: dict):
    assert of_source(**source) == []


def test_validate_volumes_returns_valid_volumes_by_name():
    good, bad = {"name": "good", "emptyDir": {}}, {"name": "bad"}
    assert validate_volumes({"volumes": [good, bad]}, P, TEMPLATE_RULES)[1] == {"good": good}


def test_validate_volumes_requires_unique_names():
    empty = {"emptyDir": {}}
    assert faults(empty, {"name": "a", **empty}, {"name": "a", **empty}) == [
        "v[0].name: Required value",
        'v[2].name: Duplicate value: "a"',
    ]


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ({}, "v[0]: Required value: must specify a volume type"),
        (
            {"emptyDir": {}, "hostPath": {"path": "/"}},
            "v[0].hostPath: Forbidden: may not specify more than 1 volume type",
        ),
        (
            {"emptyDir": {"sizeLimit": "-1"}},
            "v[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity",
        ),
        ({"gcePersistentDisk": {}}, "v[0].persistentDisk.pdName: Required value"),
        (
            {"downwardAPI": {"items": [{"path": "p"}]}},
            "v[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
        ),
        ({"ephemeral": {}}, "v[0].ephemeral.volumeClaimTemplate: Required value"),
        (
            {"image": {"reference": "a", "pullPolicy": "X"}},
            'v[0].image.pullPolicy: Unsupported value: "X": supported values: "Always", "IfNotPresent", "Never"',
        ),
    ],
)
def test_validate_volumes_reports_single_error(source: dict, fault: str):
    assert of_source(**source) == [fault]


def test_validate_volumes_requires_image_reference_in_pods_only():
    assert of_source(image={"pullPolicy": "Always"}) == []
    assert of_source(PodRules(is_pod=True), image={"pullPolicy": "Always"}) == ["v[0].image.reference: Required value"]


# -- projections ------------------------------------------------------------------------------------------------------


def test_validate_volumes_rejects_conflicting_paths_in_projection():
    item = {"key": "k", "path": "p"}
    assert projected({"secret": {"name": "s", "items": [item]}}, {"configMap": {"name": "m", "items": [item]}}) == [
        'v[0].projected: Invalid value: "m": conflicting duplicate paths'
    ]


def test_validate_volumes_reports_conflicting_paths_in_projection_between_items():
    items = [{"key": "k", "path": "p"}, {"key": "k", "path": "p"}, {"path": "q"}]
    faults = projected({"secret": {"name": "s", "items": items}})
    assert [fault.partition(": ")[0] for fault in faults] == [
        "v[0].projected",
        "v[0].projected.sources[0].secret.items[2].key",
    ]


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ({"secret": {}}, "v[0].projected.sources[0].secret.name: Required value"),
        (
            {"serviceAccountToken": {"path": "t", "expirationSeconds": 599}},
            (
                "v[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: "
                "may not specify a duration less than 10 minutes"
            ),
        ),
        (
            {"serviceAccountToken": {"path": "t", "expirationSeconds": (1 << 32) + 1}},
            (
                "v[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: "
                "may not specify a duration larger than 2^32 seconds"
            ),
        ),
        ({"serviceAccountToken": {"expirationSeconds": 600}}, "v[0].projected.path: Required value"),
        (
            {"secret": {"name": "s"}, "configMap": {"name": "m"}},
            "v[0].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source",
        ),
    ],
)
def test_validate_volumes_rejects_invalid_projected_sources(source: dict, fault: str):
    assert projected(source) == [fault]


# -- claims -----------------------------------------------------------------------------------------------------------


def test_validate_claim_template_accepts_labels_and_annotations_only():
    template = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "name": "x"}, "spec": CLAIM}
    assert error_texts(validate_claim_template(template, P)) == ["v.metadata.name: Forbidden: cannot be set"]


def test_validate_volumes_rejects_claim_of_ephemeral_volume():
    created = {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}
    used = {"name": "u", "persistentVolumeClaim": {"claimName": "p-e"}}
    assert faults(created, used, rules=PodRules(pod_name="p")) == [
        (
            'v[1].persistentVolumeClaim.claimName: Invalid value: "p-e": '
            "must not reference a PVC that gets created for an ephemeral volume"
        )
    ]


def test_validate_volumes_limits_iscsi_names_whatever_the_number_of_sources():
    iscsi = {"targetPortal": "é" * 40, "iqn": "iqn.2015-02.example.com:x", "initiatorName": "iqn.2015-02.example.com:y"}
    texts = of_source(emptyDir={}, iscsi=iscsi)
    assert texts[0] == "v[0].iscsi: Forbidden: may not specify more than 1 volume type"
    assert texts[1].startswith('v[0].name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal>')


def test_validate_volumes_quotes_names_of_ephemeral_claims():
    created = {"name": 'a"', "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}
    assert faults(created, rules=PodRules(pod_name="p"))[0].startswith(
        'v[0].name: Invalid value: "a\\"": PVC name "p-a\\""'
    )


def test_validate_volumes_limits_length_of_ephemeral_claim_names():
    created = {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}
    (fault,) = faults(created, rules=PodRules(pod_name="p" * 253))
    assert fault.endswith(": must be no more than 253 characters")
