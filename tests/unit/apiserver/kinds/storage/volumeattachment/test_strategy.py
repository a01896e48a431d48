from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named

from steersman.apiserver.kinds.storage.volumeattachment.strategy import VolumeAttachmentStrategy

STRATEGY = VolumeAttachmentStrategy()
ATTACHMENT = named(spec={"attacher": "a.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}})


def test_prepare_for_create_sets_attached_false():
    new = edited(ATTACHMENT, {"status.attached": True})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["status"] == {"attached": False}


def test_prepare_for_update_keeps_status():
    old = edited(ATTACHMENT, {"status.attached": True})
    new = edited(ATTACHMENT, {"status.attached": False})
    STRATEGY.prepare_for_update(CONTEXT, new, old)
    assert new["status"] == {"attached": True}


def test_prepare_for_status_update_keeps_spec_and_metadata():
    new = edited(ATTACHMENT, {"metadata.labels": {"a": "b"}, "spec.nodeName": "m", "status.attached": True})
    STRATEGY.prepare_for_status_update(CONTEXT, new, ATTACHMENT)
    assert new == {**ATTACHMENT, "status": {"attached": True}}


@pytest.mark.parametrize("attached", [True, False])
def test_cells_show_volume_and_node(attached):
    row = STRATEGY.cells({**ATTACHMENT, "status": {"attached": attached}}, NOW)
    assert row == ["a", "a.com", "pv", "n", attached, "60s"]
