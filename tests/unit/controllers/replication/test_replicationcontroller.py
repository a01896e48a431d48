"""ReplicationController specifics: selectors and status."""

from __future__ import annotations

import msgspec
from lightkube.models.core_v1 import ReplicationController, ReplicationControllerSpec, ReplicationControllerStatus

from steersman.controllers.replication.plan import Counts, Status
from steersman.controllers.replication.replicationcontroller import ReplicationControllerController as Kind


def test_selector_requires_all_labels():
    selector = Kind.selector_of(
        None, ReplicationController(spec=ReplicationControllerSpec(selector={"a": "b", "c": "d"}))
    )
    assert selector.matches({"a": "b", "c": "d", "e": "f"})
    assert not selector.matches({"a": "b"})


def test_empty_selector_matches_nothing():
    assert not Kind.selector_of(None, ReplicationController(spec=ReplicationControllerSpec())).matches({"a": "b"})


def test_zeros_are_left_out():
    struct = Kind.status_struct(None, Status(Counts(0, 0, 0, 0, None), 1))
    assert msgspec.to_builtins(struct) == {"replicas": 0, "observedGeneration": 1}


def test_replicationcontroller_status_is_read_as_written():
    status = Status(Counts(4, 3, 2, 1, None), 7)
    obj = ReplicationController(status=Kind.status_struct(None, status))
    assert Kind.status_of(None, obj) == status
    assert Kind.status_of(None, ReplicationController()) == Status(Counts(0, 0, 0, 0, None), 0)
    assert isinstance(obj.status, ReplicationControllerStatus)
