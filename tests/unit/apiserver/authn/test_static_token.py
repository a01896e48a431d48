"""Token file."""

import pytest

from steersman.apiserver.authn.static_token import StaticTokens, TokenFileError, read_token_file
from steersman.apiserver.request import UserInfo


def test_read_token_file_reads_token_user_uid_and_groups(tmp_path):
    path = tmp_path / "tokens.csv"
    path.write_text('t1,alice,u1,"devs,ops"\n\nt2, bob, u2\n,nobody,u3\n')
    assert read_token_file(path) == {
        "t1": UserInfo("alice", ("devs", "ops"), "u1"),
        "t2": UserInfo("bob", (), "u2"),
    }


@pytest.mark.parametrize("text", ["t1,alice\n", "t1\n", '"t1,alice,u1\x00\n'])
def test_read_token_file_raises_with_line_for_invalid_file(tmp_path, text):
    path = tmp_path / "tokens.csv"
    path.write_text(text)
    with pytest.raises(TokenFileError, match=r"tokens\.csv"):
        read_token_file(path)


def test_read_token_file_raises_for_missing_file(tmp_path):
    with pytest.raises(TokenFileError, match="cannot read"):
        read_token_file(tmp_path / "none")


async def test_authenticate_token_matches_whole_tokens():
    tokens = StaticTokens({"secret": UserInfo("alice")})
    assert await tokens.authenticate_token("secret") == UserInfo("alice")
    assert await tokens.authenticate_token("secre") is None
