"""Names of definitions accepted."""

import json

from steersman.apiserver.crd import naming
from steersman.apiserver.crd.definition import is_established
from steersman.apiserver.crd.group_names import GroupNames, OtherNames
from steersman.apiserver.generic.entry import Entry

NOW = "2026-01-01T00:00:00Z"


def definition(plural: str = "shirts", kind: str = "Shirt", **names: object) -> dict:
    return {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List", **names},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n"}},
                },
                {"name": "v1beta1", "served": True, "storage": False, "deprecated": True},
                {"name": "v1alpha1", "served": False, "storage": False},
            ],
        },
        "status": {"acceptedNames": {"plural": "", "kind": ""}, "conditions": None, "storedVersions": ["v1"]},
    }


def names_of(tree: dict, *others: dict) -> OtherNames:
    names = GroupNames()
    names.reset([Entry(other["metadata"]["name"], json.dumps(other).encode(), 1) for other in (tree, *others)])
    return names.others(tree["metadata"]["name"])


def accepted(tree: dict, others: list[dict] | None = None) -> dict:
    status = naming.plan_status(tree, names_of(tree, *others or ()), now=NOW)
    assert status is not None
    return {**tree, "status": status}


def test_unused_names_are_accepted_and_the_definition_is_established():
    tree = accepted(definition())
    assert tree["status"]["acceptedNames"] == {
        "plural": "shirts",
        "singular": "shirt",
        "kind": "Shirt",
        "listKind": "ShirtList",
    }
    assert [c["reason"] for c in tree["status"]["conditions"]] == ["NoConflicts", "InitialNamesAccepted"]
    assert is_established(tree)


def test_plan_is_idempotent():
    assert naming.plan_status(accepted(definition()), names_of(definition()), now="2027-01-01T00:00:00Z") is None


def test_kind_in_use_is_not_accepted():
    first = accepted(definition())
    second = accepted(definition("blouses", "Shirt", singular="blouse", listKind="BlouseList"), [first])
    assert not is_established(second)
    assert second["status"]["conditions"][0]["reason"] == "KindConflict"


def test_new_short_names_of_an_established_definition_are_accepted():
    tree = accepted(definition())
    tree["spec"]["names"]["shortNames"] = ["sh"]
    assert accepted(tree)["status"]["acceptedNames"]["shortNames"] == ["sh"]


def test_last_of_several_conflicts_is_reported():
    first = accepted(definition(shortNames=["sh", "st"]))
    second = accepted(definition("blouses", "Shirt", shortNames=["sh", "st", "bl"]), [first])
    assert [c["reason"] for c in second["status"]["conditions"]] == ["ListKindConflict", "NotAccepted"]
    third = accepted(definition("blouses", "Blouse", shortNames=["sh", "st", "bl"]), [first])
    condition = third["status"]["conditions"][0]
    assert (condition["reason"], condition["message"]) == (
        "ShortNamesConflict",
        '["sh" is already in use, "st" is already in use]',
    )
    assert third["status"]["acceptedNames"]["kind"] == "Blouse"


def test_approval_condition_of_community_groups():
    tree = definition()
    tree["spec"]["group"] = "example.k8s.io"
    tree["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://example.com/1"}
    condition = accepted(tree)["status"]["conditions"][2]
    assert (condition["type"], condition["status"], condition["reason"], condition["message"]) == (
        "KubernetesAPIApprovalPolicyConformant",
        "True",
        "ApprovedAnnotation",
        "approved in https://example.com/1",
    )
    tree["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved"}
    assert accepted(tree)["status"]["conditions"][2]["status"] == "False"


def test_terminating_condition_reports_each_step():
    tree = accepted(definition())
    assert naming.ending_of(tree) is None
    for ending, status in [(naming.DeletionProgress.IN_PROGRESS, "True"), (naming.DeletionProgress.COMPLETED, "False")]:
        tree = {**tree, "status": naming.with_ending(tree, ending, now=NOW)}
        assert naming.ending_of(tree) is ending
        assert [c["status"] for c in tree["status"]["conditions"]] == ["True", "True", status]
