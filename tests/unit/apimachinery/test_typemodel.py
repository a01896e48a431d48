from __future__ import annotations

from steersman.apimachinery.typemodel import Field, ListOf, Scalar, ScalarKind, Struct


def test_struct_go_name_defaults_to_the_last_segment():
    assert Struct("io.k8s.api.core.v1.Pod", {}).go_name == "Pod"


def test_list_defaults_to_atomic_without_keys():
    plain = ListOf(Scalar(ScalarKind.STRING))
    assert (plain.list_type, plain.keys, plain.key_defaults) == ("atomic", (), {})


def test_field_defaults_to_an_optional_pointer():
    field = Field("replicas", Scalar(ScalarKind.INT32))
    assert (field.keep_zero, field.required, field.mandatory) == (True, False, False)
