from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.admission.tolerations import covers, merge_tolerations

EVERYTHING = {"operator": "Exists"}
ONE = {"key": "a", "operator": "Equal", "value": "x", "effect": "NoSchedule"}
SHORT = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
LONG = {"key": "a", "operator": "Exists", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        ([ONE], [ONE], [ONE]),
        ([ONE], [EVERYTHING], [EVERYTHING]),
        ([EVERYTHING], [ONE], [EVERYTHING]),
        ([SHORT], [LONG], [LONG]),
        ([ONE], [SHORT], [ONE, SHORT]),
        ([], [ONE], [ONE]),
    ],
)
def test_merge_tolerations_drops_covered_ones(first, second, merged):
    assert merge_tolerations(first, second) == merged


def with_seconds_of_no_execute_only(toleration):
    """Validation rejects ``tolerationSeconds`` with any other effect."""
    if toleration.get("effect") != "NoExecute":
        toleration.pop("tolerationSeconds", None)
    return toleration


TOLERATIONS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "key": st.sampled_from(["a", "b"]),
            "operator": st.sampled_from(["Exists", "Equal", "Gt"]),
            "value": st.sampled_from(["x", "y"]),
            "effect": st.sampled_from(["NoExecute", "NoSchedule"]),
            "tolerationSeconds": st.integers(0, 2),
        },
    ).map(with_seconds_of_no_execute_only),
    max_size=6,
)


def merged_by_pairs(tolerations):
    """Compare every toleration with all others, as upstream does."""
    merged = []
    for position, one in enumerate(tolerations):
        if any(covers(other, one) for other in merged):
            continue
        if any(other != one and covers(other, one) for other in tolerations[position + 1 :]):
            continue
        merged.append(one)
    return merged


@given(TOLERATIONS, TOLERATIONS)
def test_merge_tolerations_equals_comparison_of_all_pairs(first, second):
    assert merge_tolerations(first, second) == merged_by_pairs([*first, *second])
