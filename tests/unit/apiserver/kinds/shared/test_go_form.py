"""Values as Go prints them."""

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
def test_go_form_shows_all_fields_with_go_names_in_order(type_: str, tree: dict, shown: dict):
    result = go_form(type_, tree)
    assert (result, list(result)) == (shown, list(shown))


def test_go_form_converts_lists():
    assert go_form("NodeAddress", [{"type": "a"}, {"type": "b"}]) == [
        {"Type": "a", "Address": ""},
        {"Type": "b", "Address": ""},
    ]


@pytest.mark.parametrize(
    ("name", "shown"),
    [("dnsPolicy", "DNSPolicy"), ("setHostnameAsFQDN", "SetHostnameAsFQDN"), ("nodeName", "NodeName")],
)
def test_go_form_keeps_capitals_of_abbreviations(name: str, shown: str):
    assert go_form("PodSpec", {name: "x"})[shown] == "x"


def test_go_form_sorts_maps():
    assert list(go_form("PodSpec", {"nodeSelector": {"b": "", "a": ""}})["NodeSelector"]) == ["a", "b"]


def test_go_form_moves_spec_fields_to_internal_security_context():
    context = go_form("PodSpec", {"hostNetwork": True, "securityContext": {"runAsUser": 5}})["SecurityContext"]
    assert (context["HostNetwork"], context["HostPID"], context["RunAsUser"]) == (True, False, 5)


def test_go_diff_shows_lines():
    lines = go_diff("NodeAddress", {"type": "a", "address": "x"}, {"type": "b", "address": "x"}).splitlines()
    assert [line for line in lines if line[0] in "+-"] == ['- "Type": "a",', '+ "Type": "b",']


def test_go_diff_of_equal_values_is_empty():
    assert go_diff("NodeAddress", {"type": "a"}, {"type": "a", "address": ""}) == ""


def test_go_form_raises_for_unknown_type():
    with pytest.raises(KeyError, match="Unheard"):
        go_form("Unheard", {})


def test_go_diff_of_long_values_replaces_lines_between_common_ends():
    labels = {f"example.com/{number:04}": "a" for number in range(2000)}
    changed = {**labels, "example.com/1000": "b"}
    assert go_diff("PodSpec", {"nodeSelector": labels}, {"nodeSelector": changed}).splitlines() == [
        '-  "example.com/1000": "a",',
        '+  "example.com/1000": "b",',
    ]
