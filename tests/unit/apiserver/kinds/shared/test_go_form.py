"""Values as Go shows them in messages."""

from __future__ import annotations

import pytest

from steersman.apiserver.kinds.shared.go_form import go_diff, go_form


@pytest.mark.parametrize(
    ("type_", "tree", "shown"),
    [
        ("NodeAddress", {"address": "h", "type": "Hostname"}, {"Type": "Hostname", "Address": "h"}),
        ("Taint", {"key": "a"}, {"Key": "a", "Value": "", "Effect": "", "TimeAdded": None}),
        (
            "PodResourceClaim",
            {"name": "x", "resourceClaimName": "y"},
            {"Name": "x", "ResourceClaimName": "y", "ResourceClaimTemplateName": None},
        ),
        (
            "ContainerPort",
            {"containerPort": 80},
            {"Name": "", "HostPort": 0, "ContainerPort": 80, "Protocol": "", "HostIP": ""},
        ),
        (
            "NodeSelectorTerm",
            {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
            {"MatchExpressions": [{"Key": "a", "Operator": "Exists", "Values": None}], "MatchFields": None},
        ),
    ],
)
def test_all_fields_are_shown_by_gos_names_and_in_its_order(type_: str, tree: dict, shown: dict):
    found = go_form(type_, tree)
    assert (found, list(found)) == (shown, list(shown))


def test_a_list_is_shown_item_by_item():
    assert go_form("NodeAddress", [{"type": "a"}, {"type": "b"}]) == [
        {"Type": "a", "Address": ""},
        {"Type": "b", "Address": ""},
    ]


@pytest.mark.parametrize(
    ("name", "shown"),
    [("dnsPolicy", "DNSPolicy"), ("setHostnameAsFQDN", "SetHostnameAsFQDN"), ("nodeName", "NodeName")],
)
def test_abbreviations_keep_their_capitals(name: str, shown: str):
    assert go_form("PodSpec", {name: "x"})[shown] == "x"


def test_maps_are_shown_by_their_keys():
    assert list(go_form("PodSpec", {"nodeSelector": {"b": "", "a": ""}})["NodeSelector"]) == ["a", "b"]


def test_what_the_api_keeps_in_the_spec_go_keeps_in_the_security_context():
    context = go_form("PodSpec", {"hostNetwork": True, "securityContext": {"runAsUser": 5}})["SecurityContext"]
    assert (context["HostNetwork"], context["HostPID"], context["RunAsUser"]) == (True, False, 5)


def test_a_difference_is_shown_by_lines():
    lines = go_diff("NodeAddress", {"type": "a", "address": "x"}, {"type": "b", "address": "x"}).splitlines()
    assert [line for line in lines if line[0] in "+-"] == ['- "Type": "a",', '+ "Type": "b",']


def test_equal_values_differ_in_nothing():
    assert go_diff("NodeAddress", {"type": "a"}, {"type": "a", "address": ""}) == ""


def test_a_type_that_is_not_in_the_table_is_a_mistake():
    with pytest.raises(KeyError, match="Unheard"):
        go_form("Unheard", {})


def test_go_diff_of_long_values_shows_the_lines_between_equal_ones_as_replaced():
    labels = {f"example.com/{number:04}": "a" for number in range(2000)}
    changed = {**labels, "example.com/1000": "b"}
    assert go_diff("PodSpec", {"nodeSelector": labels}, {"nodeSelector": changed}).splitlines() == [
        '-  "example.com/1000": "a",',
        '+  "example.com/1000": "b",',
    ]
