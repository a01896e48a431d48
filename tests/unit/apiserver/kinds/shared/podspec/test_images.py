"""Parsing of image names."""

from __future__ import annotations

import pytest

from steersman.apiserver.kinds.shared.podspec.images import default_pull_policy, image_tag

SHA = "a" * 64


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("nginx", "latest"),
        ("nginx:1.25", "1.25"),
        ("nginx:latest", "latest"),
        ("library/nginx", "latest"),
        ("localhost/nginx", "latest"),
        ("registry.example.com:5000/a/b", "latest"),
        ("registry.example.com:5000/a/b:v1", "v1"),
        ("[2001:db8::1]:5000/a:v1", "v1"),
        (f"nginx@sha256:{SHA}", ""),
        (f"nginx:latest@sha256:{SHA}", "latest"),
        (f"nginx:latest@sha256:{SHA[:40]}", ""),
        (f"nginx@md5:{SHA}", ""),
        (SHA, ""),
        ("", ""),
        ("Nginx", ""),
        ("nginx:", ""),
        ("a//b", ""),
        (" nginx", ""),
        ("REGISTRY/nginx", "latest"),
        ("example.com/" + "a" * 250, ""),
    ],
)
def test_image_tag_parses_names(image: str, tag: str):
    assert image_tag(image) == tag


@pytest.mark.parametrize(
    "image",
    [
        "nginx", "nginx:1", "", "registry:5000/nginx", "registry:5000/nginx:1", "registry:5000/nginx:latest", "a:1:latest",
        "nginx:latest-1", f"nginx:latest@sha256:{SHA}", f"nginx:1@sha256:{SHA}", f"nginx@sha256:{SHA}", "a/b/c:latest",
    ],
)  # fmt: skip
def test_default_pull_policy_is_always_for_latest(image: str):
    assert default_pull_policy(image) == ("Always" if image_tag(image) == "latest" else "IfNotPresent")
