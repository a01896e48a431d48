from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named, texts

from steersman.apiserver.kinds.networking.servicecidr import ServiceCIDRStrategy

STRATEGY = ServiceCIDRStrategy()
V4, V6 = "10.0.0.0/16", "fd00::/112"
FAMILIES = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


def ranges(*cidrs: str) -> dict:
    return named(spec={"cidrs": list(cidrs)})


@pytest.mark.parametrize("cidrs", [(V4,), (V6,), (V4, V6), (V6, V4)])
def test_validate_accepts_one_cidr_per_family(cidrs):
    assert texts(STRATEGY.validate(CONTEXT, ranges(*cidrs))) == []


@pytest.mark.parametrize(
    ("cidrs", "fault"),
    [
        ((), "spec.cidrs: Required value: at least one CIDR required"),
        ((V4, V6, V4), f'spec.cidrs: Invalid value: {{"CIDRs":["{V4}","{V6}","{V4}"]}}: may only hold up to 2 values'),
        ((V4, "10.1.0.0/16"), f'spec.cidrs: Invalid value: ["{V4}","10.1.0.0/16"]: {FAMILIES}'),
        (
            ("here",),
            'spec.cidrs[0]: Invalid value: "here": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        ),
        (
            ("10.0.0.1/16",),
            'spec.cidrs[0]: Invalid value: "10.0.0.1/16": must not have bits set beyond the prefix length',
        ),
    ],
)
def test_validate_rejects_invalid_cidrs(cidrs, fault):
    assert texts(STRATEGY.validate(CONTEXT, ranges(*cidrs))) == [fault]


@pytest.mark.parametrize("other", ["10.1.0.1/16", "here"])
def test_validate_reports_families_instead_of_invalid_cidrs(other):
    (fault,) = texts(STRATEGY.validate(CONTEXT, ranges(V4, other)))
    assert fault == f'spec.cidrs: Invalid value: ["{V4}","{other}"]: {FAMILIES}'


@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        ((V4,), (V4,), []),
        ((V4,), (V4, V6), []),
        ((V4, V6), (V4,), [f'spec.cidrs: Invalid value: ["{V4}"]: field is immutable']),
        ((V4,), (V6,), [f'spec.cidrs[0]: Invalid value: "{V6}": field is immutable']),
    ],
)
def test_validate_update_accepts_second_family_only(old, new, faults):
    assert texts(STRATEGY.validate_update(CONTEXT, ranges(*new), ranges(*old))) == faults


def test_prepare_for_status_update_keeps_cidrs():
    old = ranges(V4)
    new = edited(old, {"spec.cidrs": [V6], "status.conditions": []})
    STRATEGY.prepare_for_status_update(CONTEXT, new, old)
    assert (new["spec"], new["status"]) == (old["spec"], {"conditions": []})


def test_cells_show_cidrs():
    assert STRATEGY.cells(ranges(V4, V6), NOW) == ["a", f"{V4},{V6}", "60s"]


def test_prepare_drops_status():
    new = edited(ranges(V4), {"status.conditions": [{"type": "Ready"}]})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert "conditions" not in new.get("status", {})
    new = edited(ranges(V4), {"status.conditions": [{"type": "Ready"}]})
    STRATEGY.prepare_for_update(CONTEXT, new, ranges(V4))
    assert "conditions" not in new.get("status", {})
