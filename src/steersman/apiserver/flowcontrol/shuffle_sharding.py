"""Shuffle sharding: each flow gets a hand of queues, so that two flows rarely share all of their queues."""

from __future__ import annotations

import hashlib


def flow_hash(schema: str, distinguisher: str) -> int:
    """Return a 64-bit hash of a flow."""
    digest = hashlib.sha256(f"{schema}\0{distinguisher}".encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:8], "little")


def deal(entropy: int, *, deck_size: int, hand_size: int) -> list[int]:
    """Return ``hand_size`` distinct numbers below ``deck_size``, uniformly distributed. Upstream:
    ``shufflesharding.Dealer``.
    """
    hand: list[int] = []
    for dealt in range(min(hand_size, deck_size)):
        entropy, card = divmod(entropy, deck_size - dealt)
        # the card is an index into the remaining numbers: skip those already dealt
        for taken in sorted(hand):
            if card >= taken:
                card += 1
        hand.append(card)
    return hand
