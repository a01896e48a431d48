"""Keys of service account tokens."""

import asyncio

import pytest

from steersman.apiserver.authn.keys import new_private_key
from steersman.controlplane.authentication.service_account_keys import ServiceAccountKeys
from steersman.controlplane.options import OptionError


async def test_key_is_generated_once(tmp_path):
    own = tmp_path / "sa.key"
    keys = ServiceAccountKeys(own)
    first, second = await asyncio.gather(keys.signing(), keys.signing())
    assert first is second
    assert (await ServiceAccountKeys(own).signing()).kid == first.kid
    assert own.stat().st_mode & 0o777 == 0o600
    assert [key["kid"] for key in await keys.public_keys()] == [first.kid]


async def test_key_without_path_is_kept_in_memory():
    keys = ServiceAccountKeys(None)
    assert await keys.signing() is await keys.signing()
    assert list(await keys.verifying()) == [(await keys.signing()).kid]


async def test_files_of_the_user_go_first(tmp_path):
    by_name = {name: new_private_key() for name in ("a", "b")}
    for name, key in by_name.items():
        (tmp_path / name).write_bytes(key.pem())
    keys = ServiceAccountKeys(tmp_path / "own", signing=tmp_path / "a", checking=[tmp_path / "a", tmp_path / "b"])
    assert (await keys.signing()).kid == by_name["a"].kid
    assert list(await keys.verifying()) == [by_name["a"].kid, by_name["b"].kid]
    assert not (tmp_path / "own").exists()


async def test_unusable_key_files_are_reported(tmp_path):
    with pytest.raises(OptionError, match="no such file"):
        ServiceAccountKeys(tmp_path / "own", signing=tmp_path / "none")
    (tmp_path / "bad").write_text("nonsense")
    with pytest.raises(OptionError, match="cannot read the service account key"):
        await ServiceAccountKeys(tmp_path / "own", checking=[tmp_path / "bad"]).public_keys()


async def test_key_file_exists_when_its_path_is_returned(tmp_path):
    own = tmp_path / "sa.key"
    assert await ServiceAccountKeys(own).signing_file() == own
    assert own.stat().st_mode & 0o777 == 0o600
    assert await ServiceAccountKeys(None).signing_file() is None


@pytest.mark.parametrize(("text", "reason"), [(b"", "the file is empty"), (b"nonsense", "not PEM")])
@pytest.mark.parametrize("role", ["own", "signing", "checking"])
def test_file_without_key_is_reported_at_start(tmp_path, role, text, reason):
    path = tmp_path / "sa.key"
    path.write_bytes(text)
    arguments = {"own": (path, {}), "signing": (None, {"signing": path}), "checking": (None, {"checking": [path]})}
    own, more = arguments[role]
    with pytest.raises(OptionError, match=f"cannot read the service account key {path}: {reason}"):
        ServiceAccountKeys(own, **more)
    assert path.read_bytes() == text


async def test_missing_key_is_reported_and_not_replaced(tmp_path):
    own = tmp_path / "sa.key"
    await ServiceAccountKeys(own).signing()
    own.unlink()
    with pytest.raises(OptionError, match=f"{own} is missing; restore it, or remove {tmp_path}/sa.pub"):
        ServiceAccountKeys(own)
    assert not own.exists()
    (tmp_path / "sa.pub").unlink()
    assert await ServiceAccountKeys(own).signing()
