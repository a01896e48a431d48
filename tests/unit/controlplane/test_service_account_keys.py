"""Keys of service account tokens."""

import asyncio

import pytest

from steersman.controlplane.json_web_keys import from_pem, new_rsa_key
from steersman.controlplane.options import OptionError
from steersman.controlplane.service_account_keys import ServiceAccountKeys


async def test_a_key_is_made_once_and_kept(tmp_path):
    own = tmp_path / "sa.key"
    keys = ServiceAccountKeys(own)
    first, second = await asyncio.gather(keys.signing_key(), keys.signing_key())
    assert first == second == own.read_bytes() == await ServiceAccountKeys(own).signing_key()
    assert own.stat().st_mode & 0o777 == 0o600
    assert await keys.public_keys() == [from_pem(first)]


async def test_without_a_place_it_is_kept_in_memory():
    keys = ServiceAccountKeys(None)
    assert await keys.signing_key() == await keys.signing_key()


async def test_files_of_the_user_go_first(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(new_rsa_key())
    keys = ServiceAccountKeys(tmp_path / "own", signing=tmp_path / "a", checking=[tmp_path / "a", tmp_path / "b"])
    assert await keys.signing_key() == (tmp_path / "a").read_bytes()
    assert await keys.public_keys() == [from_pem((tmp_path / name).read_bytes()) for name in ("a", "b")]
    assert not (tmp_path / "own").exists()


async def test_files_that_cannot_be_used_are_told(tmp_path):
    with pytest.raises(OptionError, match="cannot read"):
        await ServiceAccountKeys(tmp_path / "own", signing=tmp_path / "none").signing_key()
    (tmp_path / "bad").write_text("nonsense")
    with pytest.raises(OptionError, match="service account key"):
        await ServiceAccountKeys(tmp_path / "own", checking=[tmp_path / "bad"]).public_keys()
