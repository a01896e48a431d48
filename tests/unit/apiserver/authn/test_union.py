"""One way to say who one is after the other."""

import pytest

from steersman.apiserver.authn.interface import ANONYMOUS_USER, InvalidCredentials
from steersman.apiserver.authn.union import Union
from steersman.apiserver.request import UserInfo


class Knows:
    def __init__(self, user: UserInfo | None) -> None:
        self.user = user

    async def authenticate(self, request: object) -> UserInfo | None:
        del request
        return self.user


class Refuses:
    async def authenticate(self, request: object) -> UserInfo | None:
        raise InvalidCredentials("no")


async def test_the_first_that_knows_the_caller_decides():
    union = Union([Knows(None), Knows(UserInfo("alice")), Knows(UserInfo("bob"))], anonymous=True)
    assert await union.authenticate(None) == UserInfo("alice", ("system:authenticated",))


async def test_bad_credentials_do_not_hinder_good_ones():
    assert (await Union([Refuses(), Knows(UserInfo("alice"))], anonymous=True).authenticate(None)).name == "alice"


async def test_bad_credentials_alone_are_invalid_and_not_anonymous():
    with pytest.raises(InvalidCredentials):
        await Union([Refuses(), Knows(None)], anonymous=True).authenticate(None)


async def test_nobody_is_anonymous_where_that_is_allowed():
    assert await Union([Knows(None)], anonymous=True).authenticate(None) == ANONYMOUS_USER
    assert await Union([Knows(None)], anonymous=False).authenticate(None) is None


@pytest.mark.parametrize("group", ["system:authenticated", "system:unauthenticated"])
async def test_a_group_that_tells_the_known_from_the_unknown_is_not_added_to_another(group):
    union = Union([Knows(UserInfo("alice", (group,)))], anonymous=True)
    assert (await union.authenticate(None)).groups == (group,)
