"""What an empty object looks like."""

from __future__ import annotations

from steersman.apimachinery.managedfields.zero import zero_value


def test_go_writes_what_has_no_omitempty(deployment):
    zero = zero_value(deployment)
    assert zero["status"] == {}
    assert zero["spec"]["template"]["spec"] == {"containers": None}


def test_a_custom_kind_writes_nothing(widget):
    assert set(zero_value(widget)) <= {"metadata"}
