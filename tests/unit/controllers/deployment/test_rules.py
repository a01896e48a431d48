"""How many replicas each ReplicaSet should have."""

from __future__ import annotations

import pytest
from lightkube.models.apps_v1 import DeploymentStatus

from steersman.controllers.deployment import rules
from steersman.controllers.deployment.revisions import MAX_REPLICAS


@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "expected"),
    [
        ("25%", "25%", 10, (3, 2)),
        ("25%", "25%", 1, (1, 0)),
        (0, "25%", 3, (0, 1)),
        ("0%", "0%", 10, (0, 1)),
        (2, 0, 10, (2, 0)),
        (None, None, 5, (0, 1)),
    ],
)
def test_surges_round_up_and_unavailable_down_but_not_both_to_zero(surge, unavailable, replicas, expected):
    assert rules.fenceposts(surge, unavailable, replicas) == expected


def test_max_unavailable_is_at_most_the_replicas(deployment):
    assert rules.max_unavailable(deployment(2, unavailable=5)) == 2
    assert rules.max_unavailable(deployment(0, unavailable=5)) == 0


def test_max_surge_and_max_unavailable_are_zero_for_other_strategies(deployment):
    recreates = deployment(strategy="Recreate")
    assert (rules.max_surge(recreates), rules.max_unavailable(recreates)) == (0, 0)


@pytest.mark.parametrize(("old", "current", "expected"), [(3, 0, 1), (4, 0, 0), (2, 1, 2), (0, 0, 3), (1, 2, 3)])
def test_new_replicas_grow_up_to_the_surge(deployment, rs, old, current, expected):
    sets = [rs(old, version="0"), rs(current)]
    assert rules.new_size(deployment(3, surge=1), sets, current) == expected


def test_new_replicas_of_recreate_are_the_full_size(deployment, rs):
    assert rules.new_size(deployment(3, strategy="Recreate"), [rs(3)], 0) == 3


def test_scaling_target_is_the_only_active_set(rs):
    active, idle = rs(2), rs(0)
    assert rules.active_or_latest(idle, [active]) is active


def test_scaling_target_is_the_newest_set_without_active_ones(rs):
    older, newer, new = rs(0, age=20), rs(0, age=10), rs(0, age=30)
    assert rules.active_or_latest(None, [newer, older]) is newer
    assert rules.active_or_latest(new, [newer, older]) is new


def test_scaling_target_is_none_for_several_active_sets(rs):
    assert rules.active_or_latest(rs(1), [rs(1)]) is None
    assert rules.active_or_latest(None, []) is None


@pytest.mark.parametrize(
    ("facts", "saturated"),
    [
        ({}, True),
        ({"available": 2}, False),
        ({"desired": 2}, False),
        ({"desired": "x"}, False),
        ({"replicas": 2}, False),
    ],
)
def test_saturated_is_full_sized_for_this_size_and_available(deployment, rs, facts, saturated):
    assert rules.is_saturated(deployment(3), rs(**facts)) == saturated
    assert not rules.is_saturated(deployment(3), None)


def sizes(obj):
    return {rs.metadata.name: size for rs, size in obj}


def test_growth_is_proportional_and_the_largest_set_gets_the_remainder(deployment, rs):
    """10 and 5 of a Deployment of 15 (and a surge of 0) that grows to 20."""
    big, small = rs(10, name="big", most=15), rs(5, name="small", most=15)
    assert sizes(rules.proportional_sizes(deployment(20, surge=0), [small, big])) == {"big": 13, "small": 7}


def test_shrinking_is_proportional(deployment, rs):
    big, small = rs(10, name="big", most=15), rs(5, name="small", most=15)
    assert sizes(rules.proportional_sizes(deployment(6, surge=0), [small, big])) == {"big": 4, "small": 2}


def test_proportional_scaling_prefers_newer_sets_for_growth(deployment, rs):
    older, newer = rs(5, name="older", most=10), rs(5, name="newer", most=10)
    assert sizes(rules.proportional_sizes(deployment(11, surge=0), [older, newer])) == {"newer": 6, "older": 5}
    assert sizes(rules.proportional_sizes(deployment(9, surge=0), [older, newer])) == {"older": 4, "newer": 5}


def test_scaling_to_nothing_leaves_nothing(deployment, rs):
    assert sizes(rules.proportional_sizes(deployment(0), [rs(5, name="a"), rs(4, name="b")])) == {"a": 0, "b": 0}


def test_proportional_scaling_of_zero_keeps_sizes(deployment, rs):
    assert sizes(rules.proportional_sizes(deployment(3, surge=1), [rs(3, name="a"), rs(1, name="b")])) == {
        "a": 3,
        "b": 1,
    }


def test_proportional_scaling_without_annotation_uses_the_present_size(deployment, rs):
    plain = rs(4, name="a", most=None)
    assert MAX_REPLICAS not in plain.metadata.annotations
    stored = deployment(8, surge=0, status=DeploymentStatus(replicas=4))
    assert sizes(rules.proportional_sizes(stored, [plain])) == {"a": 8}
    assert sizes(rules.proportional_sizes(deployment(8, surge=0), [plain])) == {"a": 8}


def test_cleanup_removes_unhealthy_replicas_of_the_oldest_set_first(rs):
    older, newer = rs(4, available=1, age=20), rs(4, available=2, age=10)
    assert rules.unhealthy_reductions([newer, older], 4) == [(older, 1), (newer, 3)]
    assert rules.unhealthy_reductions([newer, older], 2) == [(older, 2)]
    assert rules.unhealthy_reductions([rs(2)], 2) == []


def test_scale_down_keeps_the_minimum_available(deployment, rs):
    older, newer = rs(2, version="0", age=20), rs(2, version="0", age=10)
    assert rules.rolling_reductions(deployment(4, unavailable=1), rs(2), [newer, older]) == [(older, 0), (newer, 1)]
    assert rules.rolling_reductions(deployment(4, unavailable=0), rs(0), [newer, older]) == []


def test_rolling_reductions_count_no_more_replicas_than_the_size_of_a_replicaset_whose_status_is_behind(deployment, rs):
    scaled_down = rs(40, available=50, version="0")
    assert rules.rolling_reductions(deployment(50, unavailable=5), rs(20, available=10), [scaled_down]) == [
        (scaled_down, 35)
    ]
    assert rules.rolling_reductions(deployment(50, unavailable=5), rs(15, available=5), [scaled_down]) == []


def test_new_replicas_that_are_not_available_are_no_reason_to_remove_old_ones(deployment, rs):
    assert rules.most_to_reduce(deployment(3, unavailable=1), rs(1, available=0), [rs(3)]) == 1
    assert rules.most_to_reduce(deployment(3, unavailable=1), rs(1), [rs(3)]) == 2


def test_history_beyond_the_limit_expires_lowest_revision_first(deployment, rs):
    sets = [rs(0, revision=number) for number in (3, 1, 2)]
    assert rules.expired_history(deployment(history=2), sets) == [sets[1]]
    assert rules.expired_history(deployment(history=rules.NO_LIMIT), sets) == []
    assert rules.expired_history(deployment(history=None), sets) == []


def test_history_cleanup_keeps_sets_with_pods(deployment, rs):
    busy = [rs(0, current=1), rs(1), rs(0, observed=0)]
    assert rules.expired_history(deployment(history=0), busy) == []
