"""API approval of protected groups (``*.k8s.io``, ``*.kubernetes.io``) by annotation (KEP-1111)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

ANNOTATION: Final = "api-approved.kubernetes.io"

_BYPASS: Final = "unapproved"
_NEEDED: Final = f'protected groups must have approval annotation "{ANNOTATION}"'
_SEE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"


class Approval(Enum):
    """State of API approval, with values that are reasons of the condition KubernetesAPIApprovalPolicyConformant."""

    MISSING = "MissingAnnotation"
    BYPASSED = "UnapprovedAnnotation"
    APPROVED = "ApprovedAnnotation"
    INVALID = "InvalidAnnotation"


def is_protected(definition: Tree) -> bool:
    """Report whether the group is protected."""
    return f".{definition['spec'].get('group') or ''}".endswith((".k8s.io", ".kubernetes.io"))


def annotation_of(definition: Tree) -> str:
    """Return the approval annotation; empty if absent."""
    return (definition["metadata"].get("annotations") or {}).get(ANNOTATION) or ""


def approval_of(definition: Tree) -> tuple[Approval, str]:
    """Return the approval state and the condition's message."""
    text = annotation_of(definition)
    if not text:
        return Approval.MISSING, f"{_NEEDED}, {_SEE}"
    if text.startswith(_BYPASS):
        return Approval.BYPASSED, f"not approved: {quote(text)}"
    if _is_url(text):
        return Approval.APPROVED, f"approved in {text}"
    return Approval.INVALID, f'{_NEEDED} with either a URL or a reason starting with "{_BYPASS}", {_SEE}'


def _is_url(text: str) -> bool:
    try:
        url = urlsplit(text)
    except ValueError:
        return False
    return bool(url.scheme and url.netloc)
