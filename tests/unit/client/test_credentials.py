"""Static and renewed credentials."""

import json
from datetime import UTC, datetime

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client.credentials import (
    ConfigError,
    ExecCredentials,
    Identity,
    StaticCredentials,
    TokenFile,
    read_exec_credential,
    with_bearer,
)

BASE = Identity((("impersonate-user", "x"),))


def credential(**status):
    return json.dumps(
        {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status}
    ).encode()


def bearer(token):
    return (("authorization", f"Bearer {token}"),)


async def test_static_credentials_do_not_change():
    credentials = StaticCredentials(BASE)
    assert await credentials.identity() is BASE
    assert not credentials.reject()


async def test_token_file_is_reread_every_minute(tmp_path):
    path, clock = tmp_path / "token", FakeClock()
    path.write_text("one\n")
    credentials = TokenFile(path, clock=clock)
    assert (await credentials.identity()).headers == bearer("one")
    path.write_text("two\n")
    await clock.advance(59)
    assert (await credentials.identity()).headers == bearer("one")
    await clock.advance(1)
    assert (await credentials.identity()).headers == bearer("two")


async def test_token_file_is_reread_after_a_rejection(tmp_path):
    path, clock = tmp_path / "token", FakeClock()
    path.write_text("one")
    credentials = TokenFile(path, clock=clock)
    await credentials.identity()
    path.write_text("two")
    await clock.advance(1)
    assert credentials.reject()
    assert (await credentials.identity()).headers == bearer("two")
    assert not credentials.reject()  # it was read just now


async def test_token_file_keeps_the_last_token_while_missing(tmp_path):
    path, clock = tmp_path / "token", FakeClock()
    path.write_text("one")
    credentials = TokenFile(path, clock=clock, base=BASE)
    await credentials.identity()
    path.unlink()
    await clock.advance(100)
    assert (await credentials.identity()).headers == (*BASE.headers, *bearer("one"))


@pytest.mark.parametrize(
    ("content", "message"), [(None, "failed to read token file"), ("\n", "read empty token from file")]
)
async def test_token_file_without_token_raises(tmp_path, content, message):
    path = tmp_path / "token"
    path.write_text(content) if content else None
    with pytest.raises(ConfigError, match=message):
        await TokenFile(path, clock=FakeClock()).identity()


class Plugin:
    def __init__(self, *outputs):
        self.outputs = list(outputs)

    async def __call__(self):
        return self.outputs.pop(0)


async def test_exec_credentials_are_cached_until_they_expire():
    clock = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))
    plugin = Plugin(credential(token="one", expirationTimestamp="2026-01-01T00:01:00Z"), credential(token="two"))
    credentials = ExecCredentials(plugin, clock=clock)
    assert (await credentials.identity()).headers == bearer("one")
    await clock.advance(49)
    assert (await credentials.identity()).headers == bearer("one")
    await clock.advance(1)
    assert (await credentials.identity()).headers == bearer("two")
    await clock.advance(1e6)
    assert (await credentials.identity()).headers == bearer("two")


async def test_exec_credentials_are_renewed_after_a_rejection():
    credentials = ExecCredentials(Plugin(credential(token="one"), credential(token="two")), clock=FakeClock())
    await credentials.identity()
    assert credentials.reject()
    assert (await credentials.identity()).headers == bearer("two")


def test_read_exec_credential_returns_a_certificate():
    identity, expires = read_exec_credential(credential(clientCertificateData="C", clientKeyData="K"), base=BASE)
    assert (identity.certificate, identity.key, identity.headers, expires) == (b"C", b"K", BASE.headers, None)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (b"nonsense", "decoding stdout"),
        (b"[]", "didn't return a status field"),
        (b'{"kind":"ExecCredential"}', "didn't return a status field"),
        (credential(), "didn't return a token or cert/key pair"),
        (credential(token="a", clientKeyData="K"), "only certificate or key, not both"),
        (credential(token="a", expirationTimestamp="soon"), "malformed expirationTimestamp 'soon'"),
    ],
)
def test_read_exec_credential_rejects_other_output(output, message):
    with pytest.raises(ConfigError, match=message):
        read_exec_credential(output, base=BASE)


def test_read_exec_credential_treats_naive_times_as_utc():
    _, expires = read_exec_credential(credential(token="a", expirationTimestamp="2026-01-01T00:00:00"), base=BASE)
    assert expires == datetime(2026, 1, 1, tzinfo=UTC)


def test_with_bearer_keeps_other_headers():
    assert with_bearer(BASE, "t").headers == (*BASE.headers, *bearer("t"))
