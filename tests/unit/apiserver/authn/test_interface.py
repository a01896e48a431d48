"""The group of everybody who is known."""

import pytest

from steersman.apiserver.authn.interface import ANONYMOUS_USER, with_authenticated_group
from steersman.apiserver.request import UserInfo


def test_the_known_are_in_a_group_of_their_own():
    user = UserInfo("alice", ("devs",), "u", {"k": ("v",)})
    assert with_authenticated_group(user) == UserInfo("alice", ("devs", "system:authenticated"), "u", {"k": ("v",)})


@pytest.mark.parametrize(
    "user",
    [ANONYMOUS_USER, UserInfo("a", ("system:authenticated", "b")), UserInfo("a", ("system:unauthenticated",))],
)
def test_nobody_is_in_it_twice_or_against_his_nature(user):
    assert with_authenticated_group(user) is user
