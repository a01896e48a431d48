from __future__ import annotations

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.grpc.channel import Target
from steersman.storage.etcd.members import RETRY_SECONDS, Members, MemberTLS, target_of


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://127.0.0.1:2379", (Target("127.0.0.1", 2379), False)),
        ("https://etcd.example.com", (Target("etcd.example.com", 2379), True)),
        ("https://[::1]:4001/", (Target("::1", 4001), True)),
        ("10.0.0.1:2379", (Target("10.0.0.1", 2379), False)),
        ("unix:///run/etcd.sock", (Target(path="/run/etcd.sock"), False)),
    ],
)
def test_url_names_target_and_tls(url, target):
    assert target_of(url) == target


@pytest.mark.parametrize("url", ["ftp://a:1", "http://", "http://a:1/path", "http://a:x"])
def test_invalid_url_is_refused(url):
    with pytest.raises(ValueError):
        target_of(url)


async def test_failed_member_hands_over_and_is_passed_over_for_a_time():
    clock = FakeClock()
    members = Members(["http://a:1", "http://b:1", "http://c:1"], tls=MemberTLS(), clock=clock)
    first, second, third = members.all
    assert members.current is first
    members.failed(first)
    assert members.current is second
    members.failed(first)  # late news of a request to it
    assert members.current is second
    members.failed(second)
    assert members.current is third
    members.failed(third)
    assert members.current is first  # the one that failed first
    await clock.advance(RETRY_SECONDS)
    members.failed(first)
    assert members.current is second
    await members.close()


async def test_no_member_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        Members([], tls=MemberTLS(), clock=FakeClock())
