"""Group of authenticated users."""

import pytest

from steersman.apiserver.authn.interface import ANONYMOUS_USER, with_authenticated_group
from steersman.apiserver.request import UserInfo


def test_with_authenticated_group_adds_group():
    user = UserInfo("alice", ("devs",), "u", {"k": ("v",)})
    assert with_authenticated_group(user) == UserInfo("alice", ("devs", "system:authenticated"), "u", {"k": ("v",)})


@pytest.mark.parametrize(
    "user",
    [ANONYMOUS_USER, UserInfo("a", ("system:authenticated", "b")), UserInfo("a", ("system:unauthenticated",))],
)
def test_with_authenticated_group_skips_anonymous_and_members(user):
    assert with_authenticated_group(user) is user
