from __future__ import annotations

import random
import uuid

from steersman.apiserver.generic.identity import NAME_ATTEMPTS_MAX, Identities


def test_uids_are_random_uuids():
    identities = Identities(random.Random(1))
    drawn = [identities.uid() for _ in range(100)]
    assert len(set(drawn)) == 100
    assert all(uuid.UUID(uid).version == 4 and uuid.UUID(uid).variant == uuid.RFC_4122 for uid in drawn)
    assert all(str(uuid.UUID(uid)) == uid for uid in drawn)


def test_equal_dice_generate_equal_identities():
    assert Identities(random.Random(1)).uid() == Identities(random.Random(1)).uid()


def test_draw_again_drops_the_digits_of_the_next_uids():
    dice = random.Random(1)
    identities, same = Identities(dice), Identities(random.Random(1))
    assert identities.uid() == same.uid()
    dice.seed(2)
    identities.draw_again()
    assert identities.uid() == Identities(random.Random(2)).uid() != same.uid()


def test_generated_name_is_drawn_again_while_it_exists():
    requests: list[str] = []

    def taken(name: str) -> bool:
        requests.append(name)
        return len(requests) < 3

    assert Identities(random.Random(1)).name("a-", taken=taken) == requests[2]
    assert all(name.startswith("a-") and len(name) == 7 for name in requests)


def test_generated_name_that_exists_after_all_attempts_is_left_to_the_store():
    requests: list[str] = []
    last = Identities(random.Random(1)).name("a-", taken=lambda name: not requests.append(name))
    assert len(requests) == NAME_ATTEMPTS_MAX - 1
    assert last not in requests
