"""What Go leaves out is there all the same."""

import msgspec
import pytest
from lightkube.models.core_v1 import Pod
from lightkube.models.rbac_v1 import ClusterRole, Role

from steersman.client.zero_values import fit


class Inner(msgspec.Struct):
    name: str
    count: int
    parts: list[str]


class Outer(msgspec.Struct):
    inner: Inner
    more: dict[str, Inner]
    maybe: Inner | None = None
    weight: float = 1.5


def test_missing_and_null_parts_get_go_zero_values():
    assert fit({"inner": None, "more": {"a": {"name": "x", "parts": None}}}, Outer) == Outer(
        Inner("", 0, []), {"a": Inner("x", 0, [])}
    )


def test_null_where_a_default_is_stands_for_the_default():
    assert fit({"inner": {}, "more": None, "weight": None, "maybe": None}, Outer).weight == 1.5


def test_a_role_with_null_rules_is_read():
    assert not fit({"metadata": {"name": "a"}, "rules": None}, ClusterRole).rules
    assert not fit({"metadata": {"name": "a"}, "rules": None}, Role).rules


def test_a_pod_without_containers_is_read():
    assert fit({"spec": {"containers": None}}, Pod).spec.containers == []


def test_what_is_of_another_type_is_still_an_error():
    with pytest.raises(msgspec.ValidationError, match="Expected `str`, got `int`"):
        fit({"inner": {"name": 5}, "more": {}}, Outer)
