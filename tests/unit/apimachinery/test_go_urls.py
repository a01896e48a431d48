from __future__ import annotations

import pytest

from steersman.apiserver.kinds.shared.go_urls import url_fault


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
