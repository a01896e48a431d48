"""IP families and cluster IPs of Services."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apiserver.kinds.core.service.families import (
    fill_in_families,
    validate_cluster_ips,
    validate_cluster_ips_update,
)

ONE = ("IPv4",)
BOTH = ("IPv4", "IPv6")
HEADLESS = {"clusterIP": "None", "clusterIPs": ["None"]}


def filled(families: tuple[str, ...], old: dict | None = None, **spec: object) -> tuple[str | None, list[str] | None]:
    whole = {"type": "ClusterIP", **spec}
    assert error_texts(fill_in_families(whole, old, families)) == []
    return whole.get("ipFamilyPolicy"), whole.get("ipFamilies")


def faults(families: tuple[str, ...], old: dict | None = None, **spec: object) -> list[str]:
    return error_texts(fill_in_families({"type": "ClusterIP", **spec}, old, families))


@pytest.mark.parametrize(
    ("families", "spec", "policy", "chosen"),
    [
        (ONE, {}, "SingleStack", ["IPv4"]),
        (("IPv6",), {}, "SingleStack", ["IPv6"]),
        (BOTH, {}, "SingleStack", ["IPv4"]),
        (BOTH, {"ipFamilies": ["IPv6"]}, "SingleStack", ["IPv6"]),
        (BOTH, {"ipFamilyPolicy": "PreferDualStack"}, "PreferDualStack", ["IPv4", "IPv6"]),
        (ONE, {"ipFamilyPolicy": "PreferDualStack"}, "PreferDualStack", ["IPv4"]),
        (BOTH, {"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6"]}, "RequireDualStack", ["IPv6", "IPv4"]),
        (BOTH, {"clusterIP": "fd00::1", "clusterIPs": ["fd00::1"]}, "SingleStack", ["IPv6"]),
        (ONE, HEADLESS, "RequireDualStack", ["IPv4", "IPv6"]),
        (ONE, {**HEADLESS, "selector": {"a": "b"}}, "SingleStack", ["IPv4"]),
        (ONE, {**HEADLESS, "ipFamilies": ["IPv6"]}, "RequireDualStack", ["IPv6", "IPv4"]),
        (ONE, {**HEADLESS, "ipFamilyPolicy": "SingleStack"}, "SingleStack", ["IPv4"]),
    ],
)
def test_fill_in_families_infers_from_spec_and_cluster(families, spec, policy, chosen):
    assert filled(families, **spec) == (policy, chosen)


def test_fill_in_families_skips_external_name():
    assert filled(BOTH, type="ExternalName") == (None, None)


def test_fill_in_families_keeps_policy_of_old_service():
    assert filled(BOTH, {"ipFamilyPolicy": "PreferDualStack"}, ipFamilies=["IPv4"]) == (
        "PreferDualStack",
        ["IPv4", "IPv6"],
    )


def test_fill_in_families_keeps_unchanged_prefer_dual_stack_service():
    old = {
        "ipFamilyPolicy": "PreferDualStack",
        "ipFamilies": ["IPv4"],
        "clusterIP": "1.1.1.1",
        "clusterIPs": ["1.1.1.1"],
    }
    assert filled(BOTH, old, **old) == ("PreferDualStack", ["IPv4"])


@pytest.mark.parametrize(
    ("families", "spec", "fault"),
    [
        (
            ONE,
            {"ipFamilyPolicy": "RequireDualStack"},
            (
                'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
                "this cluster is not configured for dual-stack services"
            ),
        ),
        (ONE, {"ipFamilies": ["IPv6"]}, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
        (
            BOTH,
            {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4", "IPv6"]},
            (
                'spec.ipFamilyPolicy: Invalid value: "SingleStack": '
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"
            ),
        ),
        (
            ONE,
            {"clusterIP": "fd00::1", "clusterIPs": ["fd00::1"]},
            'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
        ),
    ],
)
def test_fill_in_families_reports_errors(families, spec, fault: str):
    assert faults(families, **spec) == [fault]


def test_fill_in_families_requires_single_stack_to_release_second_family():
    old = {"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv4", "IPv6"]}
    assert faults(BOTH, old, ipFamilyPolicy="RequireDualStack", ipFamilies=["IPv4"]) == [
        (
            'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
            "must be 'SingleStack' to release the secondary IP family"
        )
    ]


# -- validation -----------------------------------------------------------------------------------------------------------


def ips(*texts: str, **spec: object) -> list[str]:
    return error_texts(validate_cluster_ips({"clusterIP": texts[0], "clusterIPs": list(texts), **spec}, None))


@pytest.mark.parametrize("texts", [("10.0.0.1",), ("10.0.0.1", "fd00::1"), ("None",)])
def test_validate_cluster_ips_accepts_valid_addresses(texts: tuple[str, ...]):
    assert ips(*texts) == []


@pytest.mark.parametrize(
    ("texts", "spec", "fault"),
    [
        (
            ("10.0.0.1", "10.0.0.2"),
            {},
            (
                'spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: '
                "may specify no more than one IP for each IP family"
            ),
        ),
        (
            ("10.0.0.1", "fd00::1", "fd00::2"),
            {},
            'spec.clusterIPs: Invalid value: ["10.0.0.1","fd00::1","fd00::2"]: may only hold up to 2 values',
        ),
        (
            ("10.0.0.1",),
            {"clusterIP": ""},
            'spec.clusterIPs: Invalid value: ["10.0.0.1"]: must be empty when `clusterIP` is not specified',
        ),
        (
            ("10.0.0.1",),
            {"clusterIP": "10.0.0.2"},
            'spec.clusterIPs: Invalid value: ["10.0.0.1"]: first value must match `clusterIP`',
        ),
        (
            ("10.0.0.1",),
            {"ipFamilies": ["IPv6"]},
            ('spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`'),
        ),
        (
            ("None",),
            {"ipFamilies": ["IPv5"]},
            'spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
        ),
        (("None",), {"ipFamilies": ["IPv4", "IPv4"]}, 'spec.ipFamilies[1]: Duplicate value: "IPv4"'),
        (
            ("None",),
            {"ipFamilyPolicy": "Three"},
            (
                'spec.ipFamilyPolicy: Unsupported value: "Three": '
                'supported values: "PreferDualStack", "RequireDualStack", "SingleStack"'
            ),
        ),
    ],
)
def test_validate_cluster_ips_rejects_inconsistent_fields(texts, spec, fault: str):
    assert ips(*texts, **spec) == [fault]


def test_validate_cluster_ips_rejects_none_with_other_addresses():
    first, *_ = ips("None", "10.0.0.1")
    assert first == 'spec.clusterIPs: Invalid value: ["None","10.0.0.1"]: \'None\' must be the first and only value'


def test_validate_cluster_ips_accepts_legacy_addresses_of_old_service():
    odd = {"clusterIP": "010.0.0.1", "clusterIPs": ["010.0.0.1"]}
    assert error_texts(validate_cluster_ips(odd, odd)) == []
    assert error_texts(validate_cluster_ips(odd, None)) != []


def test_validate_cluster_ips_skips_external_name():
    assert error_texts(validate_cluster_ips({"type": "ExternalName", "clusterIPs": ["x"]}, None)) == []


def change(new: dict, old: dict) -> list[str]:
    usual = {"type": "ClusterIP"}
    return error_texts(validate_cluster_ips_update({**usual, **new}, {**usual, **old}))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ({"clusterIPs": ["a", "b"]}, {"clusterIPs": ["a"]}),
        ({"clusterIPs": ["a"], "ipFamilyPolicy": "SingleStack"}, {"clusterIPs": ["a", "b"]}),
        ({"type": "ExternalName"}, {"clusterIPs": ["a"]}),
        ({"ipFamilies": ["IPv4", "IPv6"]}, {"ipFamilies": ["IPv4"]}),
    ],
)
def test_validate_cluster_ips_update_accepts_change_of_second(new: dict, old: dict):
    assert change(new, old) == []


@pytest.mark.parametrize(
    ("new", "old", "fault"),
    [
        (
            {"clusterIPs": ["b"]},
            {"clusterIPs": ["a"]},
            'spec.clusterIPs[0]: Invalid value: ["b"]: may not change once set',
        ),
        (
            {"clusterIPs": ["b", "c"]},
            {"clusterIPs": ["a"]},
            'spec.clusterIPs[0]: Invalid value: ["b","c"]: may not change once set',
        ),
        (
            {"ipFamilies": ["IPv6"]},
            {"ipFamilies": ["IPv4"]},
            'spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set',
        ),
        (
            {"clusterIPs": ["a", "b"], "ipFamilies": ["IPv4", "IPv4"]},
            {"clusterIPs": ["a", "b"], "ipFamilies": ["IPv4", "IPv6"]},
            'spec.ipFamilies[0]: Invalid value: ["IPv4","IPv4"]: may not change once set',
        ),
        (
            {"clusterIPs": ["a"], "ipFamilies": ["IPv6", "IPv4"]},
            {"clusterIPs": ["a"], "ipFamilies": ["IPv4"]},
            'spec.ipFamilies[0]: Invalid value: ["a"]: may not change once set',
        ),
        (
            {"clusterIPs": ["a"], "ipFamilyPolicy": "PreferDualStack"},
            {"clusterIPs": ["a", "b"]},
            (
                'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": '
                "must be set to 'SingleStack' when releasing the secondary clusterIP"
            ),
        ),
    ],
)
def test_validate_cluster_ips_update_rejects_change_of_first(new: dict, old: dict, fault: str):
    assert change(new, old) == [fault]


def test_validate_cluster_ips_update_accepts_change_of_families_of_headless_service():
    assert change({**HEADLESS, "ipFamilies": ["IPv6"]}, {**HEADLESS, "ipFamilies": ["IPv4"]}) == []
