"""Shuffle sharding."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.flowcontrol.shuffle_sharding import deal, flow_hash


@given(st.integers(0, 2**64 - 1), st.integers(1, 128), st.integers(1, 10))
def test_hand_has_distinct_numbers(entropy, deck, hand):
    cards = deal(entropy, deck_size=deck, hand_size=hand)
    assert len(set(cards)) == len(cards) == min(deck, hand)
    assert all(0 <= card < deck for card in cards)


def test_hands_are_uniformly_distributed():
    hands = Counter(tuple(deal(entropy, deck_size=6, hand_size=3)) for entropy in range(6 * 5 * 4))
    assert len(hands) == 120
    assert set(hands.values()) == {1}


def test_flows_differ_by_schema_and_distinguisher():
    assert len({flow_hash("a", "b"), flow_hash("ab", ""), flow_hash("a", "c"), flow_hash("", "ab")}) == 4
    assert 0 <= flow_hash("a", "b") < 2**64
