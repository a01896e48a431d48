from __future__ import annotations

import pytest

from steersman.apimachinery.go_urls import parse_url, request_uri_fault, url_fault


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("https://a.example:443/x%20y?q=%zz", ""),
        ("https://[::1]:443/", ""),
        ("", ""),
        ("https:", ""),
        ("https://x/%zz", 'invalid URL escape "%zz"'),
        ("https://x#%2", 'invalid URL escape "%2"'),
        ("https://x:abc", 'invalid port ":abc" after host'),
        ("https://[::1", "missing ']' in host"),
        ("https://a b/", 'invalid character " " in host name'),
        ("https://u{@x/", "net/url: invalid userinfo"),
        ("https://x\n", "net/url: invalid control character in URL"),
        ("://x", "missing protocol scheme"),
        ("1:2/x", "first path segment in URL cannot contain colon"),
    ],
)
def test_url_fault_is_that_of_go(url, fault):
    assert url_fault(url).partition('": ')[2] == fault


@pytest.mark.parametrize(
    ("uri", "fault"),
    [
        ("/a?b#c", ""),
        ("*", ""),
        ("mailto:a", ""),
        ("//host/%zz", 'invalid URL escape "%zz"'),
        ("", "empty url"),
        ("a/b", "invalid URI for request"),
        ("https://a b/", 'invalid character " " in host name'),
    ],
)
def test_request_uri_fault_is_that_of_go(uri, fault):
    assert request_uri_fault(uri).partition('": ')[2] == fault


def test_parse_url_returns_parts_as_go():
    url = parse_url("HTTPS://u:p@[::1]:080/a%20b/c d?x=1&y=2&x=3;4&z=%zz&=5#f")
    assert (url.scheme, url.user, url.host, url.hostname, url.port) == ("https", "u:p", "[::1]:080", "::1", "080")
    assert (url.escaped_path, url.fragment) == ("/a%20b/c%20d", "f")
    assert url.query_values() == {"x": ["1"], "y": ["2"], "": ["5"]}
    assert parse_url("https://h/a!%2F").escaped_path == "/a!%2F"
    assert parse_url("https://h/a! b").escaped_path == "/a%21%20b"
    assert parse_url("mailto:a").opaque == "a"
