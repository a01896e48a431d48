"""Zero values for fields that Go encoders omit."""

from datetime import UTC, datetime

import msgspec
import pytest
from lightkube.models.core_v1 import Pod, Service
from lightkube.models.events_v1 import Event
from lightkube.models.meta_v1 import ManagedFieldsEntry
from lightkube.models.rbac_v1 import ClusterRole, Role
from lightkube.models.resource_v1 import OpaqueDeviceConfiguration

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


def test_fit_fills_missing_and_null_required_fields():
    assert fit({"inner": None, "more": {"a": {"name": "x", "parts": None}}}, Outer) == Outer(
        Inner("", 0, []), {"a": Inner("x", 0, [])}
    )


def test_fit_replaces_null_by_the_default():
    assert fit({"inner": {}, "more": None, "weight": None, "maybe": None}, Outer).weight == 1.5


def test_fit_reads_a_role_with_null_rules():
    assert not fit({"metadata": {"name": "a"}, "rules": None}, ClusterRole).rules
    assert not fit({"metadata": {"name": "a"}, "rules": None}, Role).rules


def test_fit_reads_a_pod_without_containers():
    assert fit({"spec": {"containers": None}}, Pod).spec.containers == []


def test_fit_fills_required_times_with_the_zero_time():
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": None}
    service = fit({"status": {"conditions": [condition]}}, Service)
    assert service.status.conditions[0].lastTransitionTime == datetime(1, 1, 1, tzinfo=UTC)
    assert fit({"metadata": {}, "eventTime": None}, Event).eventTime == datetime(1, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("raw", [True, 5, "text", [1]])
def test_fit_omits_raw_fields_that_are_no_objects(raw):
    assert fit({"manager": "a", "fieldsV1": raw}, ManagedFieldsEntry) == ManagedFieldsEntry(manager="a")
    assert fit({"driver": "d", "parameters": raw}, OpaqueDeviceConfiguration).parameters == {}


def test_fit_rejects_other_types():
    with pytest.raises(msgspec.ValidationError, match="Expected `str`, got `int`"):
        fit({"inner": {"name": 5}, "more": {}}, Outer)
