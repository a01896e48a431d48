from __future__ import annotations

import pytest

from steersman.apiserver.admission.tolerations import merge_tolerations

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
def test_tolerations_that_cover_others_stand_for_them(first, second, merged):
    assert merge_tolerations(first, second) == merged
