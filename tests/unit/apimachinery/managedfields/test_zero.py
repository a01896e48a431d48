"""Zero values of built-in kinds."""

from __future__ import annotations

from steersman.apimachinery.managedfields.zero import zero_value


def test_zero_value_has_fields_without_omitempty(deployment):
    zero = zero_value(deployment)
    assert zero["status"] == {}
    assert zero["spec"]["template"]["spec"] == {"containers": None}


def test_zero_value_of_a_custom_kind_is_empty(widget):
    assert set(zero_value(widget)) <= {"metadata"}
