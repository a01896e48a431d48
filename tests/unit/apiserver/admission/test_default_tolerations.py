from __future__ import annotations

import pytest

from steersman.apiserver.admission.default_tolerations import TAINTS, DefaultTolerationSeconds, add_default_tolerations

NOT_READY, UNREACHABLE = (
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in TAINTS
)
SECONDS = dict.fromkeys(TAINTS, 300)


@pytest.mark.parametrize(
    ("value", "added"),
    [
        (None, [NOT_READY, UNREACHABLE]),
        ([{"key": "x"}], [NOT_READY, UNREACHABLE]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
        ([{"key": TAINTS[0], "effect": "NoExecute"}], [UNREACHABLE]),
        ([{"key": TAINTS[1]}], [NOT_READY]),
    ],
)
def test_missing_tolerations_are_added(value, added):
    spec = {} if value is None else {"tolerations": value}
    add_default_tolerations(spec, SECONDS)
    assert spec.get("tolerations") == ([*(value or []), *added] or None)


def test_adding_tolerations_is_idempotent():
    spec = {}
    add_default_tolerations(spec, SECONDS)
    before = list(spec["tolerations"])
    add_default_tolerations(spec, SECONDS)
    assert spec["tolerations"] == before


async def test_created_and_updated_pods_get_default_tolerations():
    from tests.unit.apiserver.admission.plugged import Plugged

    async with Plugged(lambda _: DefaultTolerationSeconds(5, 6)) as server:
        tolerations = (await server.pod()).body["spec"]["tolerations"]
        assert [one["tolerationSeconds"] for one in tolerations] == [5, 6]
        change = {"spec": {"tolerations": None}}
        changed = await server.merge("/api/v1/namespaces/default/pods/a", change)
        assert changed.body["spec"]["tolerations"] == tolerations
