from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import GONE, edited, named, texts

from steersman.apiserver.kinds.flowcontrol.flowschema.validation import (
    validate_flow_conditions,
    validate_flow_schema,
)

USER = {"kind": "User", "user": {"name": "u"}}
RULE = {
    "subjects": [USER],
    "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["n"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["/healthz", "/api/*"]}],
}
VALID = named(spec={"matchingPrecedence": 500, "priorityLevelConfiguration": {"name": "p"}, "rules": [RULE]})
AT, PATH = "spec.rules.0", "spec.rules[0]"
PARTS = f"{PATH}.resourceRules[0]"
URLS = f"{PATH}.nonResourceRules[0].nonResourceURLs"
VERBS = '"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"'


@pytest.mark.parametrize(
    "edits",
    [
        {},
        {"spec.distinguisherMethod": {"type": "ByNamespace"}},
        {f"{AT}.resourceRules.0.namespaces": [], f"{AT}.resourceRules.0.clusterScope": True},
        {f"{AT}.subjects": [{"kind": "ServiceAccount", "serviceAccount": {"namespace": "n", "name": "*"}}]},
        {f"{AT}.resourceRules": GONE},
    ],
)
def test_validate_flow_schema_accepts_valid_schemas(edits):
    assert texts(validate_flow_schema(edited(VALID, edits))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.matchingPrecedence": 0}, "spec.matchingPrecedence: Invalid value: 0: must be a positive value"),
        (
            {"spec.matchingPrecedence": 10001},
            "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000",
        ),
        (
            {"spec.matchingPrecedence": 1},
            "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
        ),
        (
            {"spec.distinguisherMethod": {"type": "ByHat"}},
            'spec.distinguisherMethod.type: Unsupported value: {"Type":"ByHat"}: supported values: "ByNamespace", "ByUser"',
        ),
        (
            {"spec.priorityLevelConfiguration": {}},
            "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
        ),
        (
            {f"{AT}.subjects": []},
            f"{PATH}.subjects: Required value: subjects must contain at least one value",
        ),
        (
            {f"{AT}.subjects.0": {"kind": "Robot"}},
            f'{PATH}.subjects[0].kind: Unsupported value: "Robot": supported values: "Group", "ServiceAccount", "User"',
        ),
        (
            {f"{AT}.subjects.0": {"kind": "User"}},
            f"{PATH}.subjects[0].user: Required value: user is required when subject kind is 'User'",
        ),
        (
            {f"{AT}.subjects.0.group": {"name": "g"}},
            f"{PATH}.subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
        ),
        ({f"{AT}.subjects.0.user.name": ""}, f"{PATH}.subjects[0].user.name: Required value"),
        (
            {f"{AT}.subjects.0": {"kind": "ServiceAccount", "serviceAccount": {"name": "s"}}},
            f"{PATH}.subjects[0].serviceAccount.namespace: Required value: must specify namespace for service account",
        ),
        (
            {f"{AT}.resourceRules": [], f"{AT}.nonResourceRules": []},
            f"{PATH}: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
        ),
        (
            {f"{AT}.resourceRules.0.verbs": []},
            f"{PARTS}.verbs: Required value: verbs must contain at least one value",
        ),
        (
            {f"{AT}.resourceRules.0.verbs": ["read"]},
            f'{PARTS}.verbs: Unsupported value: ["read"]: supported values: {VERBS}',
        ),
        (
            {f"{AT}.resourceRules.0.verbs": ["*", "get"]},
            f'{PARTS}.verbs: Invalid value: ["*","get"]: if \'*\' is present, must not specify other verbs',
        ),
        (
            {f"{AT}.resourceRules.0.apiGroups": []},
            f"{PARTS}.apiGroups: Required value: resource rules must supply at least one api group",
        ),
        (
            {f"{AT}.resourceRules.0.resources": ["*", "pods"]},
            f'{PARTS}.resources: Invalid value: ["*","pods"]: if \'*\' is present, must not specify other resources',
        ),
        (
            {f"{AT}.resourceRules.0.namespaces": []},
            (
                f"{PARTS}.namespaces: Required value: "
                "resource rules that are not cluster scoped must supply at least one namespace"
            ),
        ),
        (
            {f"{AT}.nonResourceRules.0.nonResourceURLs": []},
            f"{URLS}: Required value: nonResourceURLs must contain at least one value",
        ),
        (
            {f"{AT}.nonResourceRules.0.nonResourceURLs": ["api"]},
            f'{URLS}[0]: Invalid value: "api": must start with slash',
        ),
        (
            {f"{AT}.nonResourceRules.0.nonResourceURLs": ["/a*"]},
            f'{URLS}[0]: Invalid value: "/a*": wildcard can only do suffix matching',
        ),
        (
            {f"{AT}.nonResourceRules.0.nonResourceURLs": ["/a//b"]},
            f'{URLS}[0]: Invalid value: "/a//b": must not contain double slash',
        ),
        (
            {f"{AT}.nonResourceRules.0.nonResourceURLs": ["/a b"]},
            f'{URLS}[0]: Invalid value: "/a b": must not contain white-space',
        ),
    ],
)
def test_validate_flow_schema_rejects_invalid_fields(edits, fault):
    assert texts(validate_flow_schema(edited(VALID, edits))) == [fault]


@pytest.mark.parametrize(
    ("kind", "places"),
    [
        ("ServiceAccount", ["serviceAccount", "user", "group"]),
        ("User", ["user", "serviceAccount", "group"]),
        ("Group", ["group", "serviceAccount", "user"]),
    ],
)
def test_validate_flow_schema_reports_the_missing_source_of_a_subject_before_forbidden_ones(kind, places):
    subject = {"kind": kind, **{place: {"name": "s", "namespace": "n"} for place in places[1:]}}
    faults = texts(validate_flow_schema(edited(VALID, {f"{AT}.subjects": [subject]})))
    assert [fault.partition(":")[0] for fault in faults] == [f"{PATH}.subjects[0].{place}" for place in places]


def test_validate_flow_schema_introduces_faults_of_namespaces():
    [fault] = texts(validate_flow_schema(edited(VALID, {f"{AT}.resourceRules.0.namespaces": ["-a"]})))
    intro = "each member of this list must be '*' or a DNS-1123 label; a lowercase RFC 1123 label must consist of"
    assert fault.startswith(f'{PARTS}.namespaces[0]: Invalid value: "-a": {intro} ')


def test_validate_flow_schema_rejects_changes_of_mandatory_schemas():
    [fault] = texts(validate_flow_schema(edited(VALID, {"metadata.name": "catch-all"})))
    assert fault == (
        'spec: Invalid value: {"PriorityLevelConfiguration":{"Name":"p"},"MatchingPrecedence":500,'
        '"DistinguisherMethod":null,"Rules":[{"Subjects":[{"Kind":"User","User":{"Name":"u"},"Group":null,'
        '"ServiceAccount":null}],"ResourceRules":[{"Verbs":["get"],"APIGroups":[""],"Resources":["pods"],'
        '"ClusterScope":false,"Namespaces":["n"]}],"NonResourceRules":[{"Verbs":["*"],'
        '"NonResourceURLs":["/healthz","/api/*"]}]}]}: spec of \'catch-all\' must equal the fixed value'
    )


@pytest.mark.parametrize(
    ("conditions", "faults"),
    [
        ([{"type": "Dangling"}], []),
        ([{"type": "A"}, {"type": "A"}], ['status.conditions[1].type: Duplicate value: "A"']),
        ([{}], ["status.conditions[0].type: Required value: must not be empty"]),
    ],
)
def test_validate_flow_conditions_rejects_duplicate_types(conditions, faults):
    assert texts(validate_flow_conditions(edited(VALID, {"status.conditions": conditions}))) == faults
