from __future__ import annotations

import os
from datetime import timedelta

import pytest

from steersman.asynckit.certificates import make_ca, make_client
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.grpc.channel import Target
from steersman.storage.etcd.members import RETRY_SECONDS, Members, MemberTLS, RenewedContext, target_of


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


def test_renewed_certificate_is_used_once_certificate_and_key_are_written(tmp_path, caplog):
    now, life = RealClock().now(), timedelta(days=1)
    ca = make_ca("etcd-ca", now=now, life=life)
    first, second = (make_client("root", [], ca, now=now, life=life) for _ in range(2))
    cert_file, key_file = tmp_path / "client.crt", tmp_path / "client.key"
    cert_file.write_bytes(first.certificate)
    key_file.write_bytes(first.key)
    renewed = RenewedContext(MemberTLS(cert_file=cert_file, key_file=key_file))
    context = renewed.current()
    assert renewed.current() is context
    cert_file.write_bytes(second.certificate)
    os.utime(cert_file, ns=(1, 1))  # clocks of file systems are coarse
    assert renewed.current() is context
    assert "cannot be read again" in caplog.text
    key_file.write_bytes(second.key)
    os.utime(key_file, ns=(1, 1))
    replaced = renewed.current()
    assert replaced is not context
    assert renewed.current() is replaced
    cert_file.unlink()
    assert renewed.current() is replaced
