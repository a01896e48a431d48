from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import edited, named, texts

from steersman.apiserver.kinds.storage.volumeattachment.validation import (
    validate_attachment,
    validate_attachment_status,
    validate_attachment_update,
)

VALID = named(spec={"attacher": "a.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}})
INLINE = {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "a.com", "volumeHandle": "h"}}
SOURCE = "spec.source"
ONE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
CONTEXT_OF_INLINE = "in the context of inline volumes"


@pytest.mark.parametrize("source", [{"persistentVolumeName": "pv"}, {"inlineVolumeSpec": INLINE}])
def test_validate_attachment_accepts_valid_attachments(source):
    assert texts(validate_attachment(edited(VALID, {SOURCE: source}))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.attacher": ""}, "spec.attacher: Required value"),
        ({SOURCE: {}}, f"{SOURCE}: Required value: {ONE}"),
        ({SOURCE: {"persistentVolumeName": "pv", "inlineVolumeSpec": INLINE}}, f"{SOURCE}: Forbidden: {ONE}"),
        (
            {SOURCE: {"inlineVolumeSpec": {**INLINE, "capacity": {"storage": "1Gi"}}}},
            f"{SOURCE}.inlineVolumeSpec.capacity: Forbidden: may not be specified {CONTEXT_OF_INLINE}",
        ),
        (
            {SOURCE: {"inlineVolumeSpec": {**INLINE, "nodeAffinity": {}}}},
            f"{SOURCE}.inlineVolumeSpec.nodeAffinity: Forbidden: may not be specified {CONTEXT_OF_INLINE}",
        ),
        (
            {SOURCE: {"inlineVolumeSpec": {**INLINE, "storageClassName": "fast"}}},
            f"{SOURCE}.inlineVolumeSpec.storageClassName: Forbidden: may not be specified {CONTEXT_OF_INLINE}",
        ),
        (
            {SOURCE: {"inlineVolumeSpec": {**INLINE, "persistentVolumeReclaimPolicy": "Delete"}}},
            f"{SOURCE}.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only be Retain {CONTEXT_OF_INLINE}",
        ),
        (
            {SOURCE: {"inlineVolumeSpec": {**INLINE, "volumeMode": "Block"}}},
            (
                f"{SOURCE}.inlineVolumeSpec.volumeMode: Forbidden: "
                f"may not specify volumeMode other than Filesystem {CONTEXT_OF_INLINE}"
            ),
        ),
        (
            {SOURCE: {"inlineVolumeSpec": {**INLINE, "accessModes": ["Any"]}}},
            (
                f'{SOURCE}.inlineVolumeSpec.accessModes: Unsupported value: "Any": supported values: '
                '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
            ),
        ),
        (
            {SOURCE: {"inlineVolumeSpec": {"csi": INLINE["csi"]}}},
            f"{SOURCE}.inlineVolumeSpec.accessModes: Required value",
        ),
        (
            {SOURCE: {"inlineVolumeSpec": {**INLINE, "csi": {"driver": "a.com"}}}},
            f"{SOURCE}.inlineVolumeSpec.csi.volumeHandle: Required value",
        ),
    ],
)
def test_validate_attachment_rejects_invalid_fields(edits, fault):
    assert texts(validate_attachment(edited(VALID, edits))) == [fault]


def test_validate_attachment_requires_csi_source_inline():
    assert texts(
        validate_attachment(edited(VALID, {SOURCE: {"inlineVolumeSpec": {"accessModes": ["ReadWriteOnce"]}}}))
    ) == [
        f"{SOURCE}.inlineVolumeSpec.csi: Required value: has to be specified {CONTEXT_OF_INLINE}",
        f"{SOURCE}.inlineVolumeSpec: Required value: must specify a volume type",
    ]


def test_validate_attachment_checks_names_last():
    obj = edited(VALID, {"spec.attacher": "a_b", "spec.nodeName": "", SOURCE: {"persistentVolumeName": ""}})
    assert [text.split(": ")[:2] for text in texts(validate_attachment(obj))] == [
        [f"{SOURCE}.persistentVolumeName", "Required value"],
        ["spec.nodeName", "Invalid value"],
        ["spec.attacher", "Invalid value"],
        [f"{SOURCE}.persistentVolumeName", "Invalid value"],
    ]


def test_validate_attachment_update_checks_all_but_names():
    obj = edited(VALID, {"spec.attacher": "a_b", SOURCE: {"persistentVolumeName": "p_v"}})
    assert texts(validate_attachment_update(obj, obj)) == []
    obj = edited(VALID, {"spec.attacher": "", "spec.nodeName": "", SOURCE: {"persistentVolumeName": ""}})
    assert [text.split(": ")[:2] for text in texts(validate_attachment_update(obj, VALID))] == [
        ["spec.attacher", "Required value"],
        [f"{SOURCE}.persistentVolumeName", "Required value"],
        ["spec.nodeName", "Invalid value"],
        ["spec", "Invalid value"],
    ]


def test_validate_attachment_update_rejects_change_of_spec():
    [fault] = texts(validate_attachment_update(edited(VALID, {"spec.nodeName": "m"}), VALID))
    assert fault.startswith("spec: Invalid value: {")
    assert fault.endswith(": field is immutable")


@pytest.mark.parametrize(
    ("status", "faults"),
    [
        ({"attached": True, "attachError": {"message": "m", "errorCode": 5}}, []),
        (
            {"attachError": {"message": "m" * 1025}},
            ["status.attachError.message: Too long: may not be more than 262144 bytes"],
        ),
        (
            {"detachError": {"errorCode": -1}, "attachError": {"errorCode": 0}},
            ["status.detachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive"],
        ),
        (
            {"attachmentMetadata": {"k": "v" * 256 * 1024}},
            ["status.attachmentMetadata: Too long: may not be more than 262144 bytes"],
        ),
    ],
)
def test_validate_attachment_status_limits_metadata_and_errors(status, faults):
    assert texts(validate_attachment_status({**VALID, "status": status})) == faults
