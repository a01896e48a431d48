"""API approval of protected groups."""

import pytest

from steersman.apiserver.kinds.apiextensions.customresourcedefinition.approval import (
    ANNOTATION,
    Approval,
    approval_of,
    is_protected,
)


def definition(approval: str = "", group: str = "x.k8s.io") -> dict:
    return {"metadata": {"annotations": {ANNOTATION: approval}}, "spec": {"group": group}}


@pytest.mark.parametrize(
    ("group", "protected"),
    [("k8s.io", True), ("a.k8s.io", True), ("a.kubernetes.io", True), ("ak8s.io", False), ("example.com", False)],
)
def test_is_protected_for_community_groups(group, protected):
    assert is_protected(definition(group=group)) is protected


@pytest.mark.parametrize(
    ("text", "approval", "words"),
    [
        ("", Approval.MISSING, "must have approval annotation"),
        ("unapproved, for a test", Approval.BYPASSED, 'not approved: "unapproved, for a test"'),
        ("https://example.com/1", Approval.APPROVED, "approved in https://example.com/1"),
        ("somebody", Approval.INVALID, "with either a URL or a reason"),
        ("http://[", Approval.INVALID, "with either a URL or a reason"),
    ],
)
def test_approval_of_reads_annotation(text, approval, words):
    result, reason = approval_of(definition(text))
    assert result is approval
    assert words in reason
