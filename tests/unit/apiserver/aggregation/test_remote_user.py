"""Headers of front proxies."""

from steersman.apiserver.aggregation.remote_user import escape_key, remote_user_headers, without_remote_user
from steersman.apiserver.request import UserInfo


def test_remote_user_headers_name_all_of_a_user():
    user = UserInfo("jane", ("a", "b"), "7", {"example.com/x": ("1", "2")})
    assert remote_user_headers(user) == [
        (b"x-remote-user", b"jane"),
        (b"x-remote-uid", b"7"),
        (b"x-remote-group", b"a"),
        (b"x-remote-group", b"b"),
        (b"x-remote-extra-example.com%2Fx", b"1"),
        (b"x-remote-extra-example.com%2Fx", b"2"),
    ]


def test_without_remote_user_removes_forged_headers():
    headers = [
        (b"x-remote-group", b"system:masters"),
        (b"x-remote-extra-a", b"b"),
        (b"impersonate-user", b"c"),
        (b"a", b"b"),
    ]
    assert without_remote_user(headers) == [(b"a", b"b")]


def test_escape_key_escapes_percent_signs_and_line_ends():
    assert escape_key("a%\r\n") == b"a%25%0D%0A"
