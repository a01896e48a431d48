"""Shuffle sharding: each flow gets a hand of queues, so that two flows hardly ever share all of theirs."""

from __future__ import annotations

import hashlib


def flow_hash(schema: str, distinguisher: str) -> int:
    """64 bits that stand for a flow."""
    digest = hashlib.sha256(f"{schema}\0{distinguisher}".encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:8], "little")


def deal(entropy: int, *, deck_size: int, hand_size: int) -> list[int]:
    """``hand_size`` different numbers below ``deck_size``, every such hand about as often (``shufflesharding.Dealer``)."""
    hand: list[int] = []
    for dealt in range(min(hand_size, deck_size)):
        entropy, card = divmod(entropy, deck_size - dealt)
        # the card counts those that are left: pass over the ones dealt before
        for taken in sorted(hand):
            if card >= taken:
                card += 1
        hand.append(card)
    return hand
