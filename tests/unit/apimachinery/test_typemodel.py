from __future__ import annotations

from steersman.apimachinery.typemodel import Field, ListOf, Scalar, ScalarKind, Struct


def test_a_struct_is_called_in_go_as_the_last_part_of_its_name():
    assert Struct("io.k8s.api.core.v1.Pod", {}).go_name == "Pod"


def test_a_list_without_more_is_atomic_and_has_no_keys():
    plain = ListOf(Scalar(ScalarKind.STRING))
    assert (plain.list_type, plain.keys, plain.key_defaults) == ("atomic", (), {})


def test_a_field_without_more_keeps_an_explicit_zero_and_may_be_missing():
    field = Field("replicas", Scalar(ScalarKind.INT32))
    assert (field.keep_zero, field.required, field.mandatory) == (True, False, False)
