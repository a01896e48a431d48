"""Warnings about overlapping paths in volumes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.kinds.shared.podspec.path_warnings import earlier_overlaps, path_warnings


def items(*paths: str) -> list[dict]:
    return [{"key": "k", "path": path} for path in paths]


def volume(**source: object) -> list[dict]:
    return [{"name": "v", **source}]


@pytest.mark.parametrize("paths", [("a", "b"), ("a", "ab"), ("a/b", "a/c"), ("", "")])
def test_path_warnings_is_empty_for_disjoint_paths(paths: tuple[str, ...]):
    assert list(path_warnings(volume(configMap={"name": "m", "items": items(*paths)}))) == []


@pytest.mark.parametrize(
    ("paths", "shown"),
    [
        (("a", "a"), '"a" with "a"'),
        (("a", "a/b"), '"a/b" with "a"'),
        (("a/b", "a"), '"a" with "a/b"'),
        (("a/", "a"), '"a" with "a"'),
    ],
)
def test_path_warnings_about_equal_and_nested_paths(paths: tuple[str, ...], shown: str):
    assert list(path_warnings(volume(configMap={"name": "m", "items": items(*paths)}))) == [
        f'volume "v" (ConfigMap "m"): overlapping paths: {shown}'
    ]


@pytest.mark.parametrize(
    ("source", "volume_text"),
    [
        ({"secret": {"secretName": "s", "items": items("a", "a")}}, 'volume "v" (Secret "s")'),
        ({"downwardAPI": {"items": items("a", "a")}}, 'volume "v" (DownwardAPI)'),
    ],
)
def test_path_warnings_cover_all_file_volumes(source: dict, volume_text: str):
    assert list(path_warnings(volume(**source))) == [f'{volume_text}: overlapping paths: "a" with "a"']


@pytest.mark.parametrize(
    ("source", "source_text"),
    [
        ({"configMap": {"name": "m", "items": items("a")}}, 'ConfigMap "m"'),
        ({"secret": {"name": "s", "items": items("a")}}, 'Secret "s"'),
        ({"downwardAPI": {"items": items("a")}}, "DownwardAPI"),
        ({"serviceAccountToken": {"path": "a"}}, "ServiceAccountToken"),
    ],
)
def test_path_warnings_compare_sources_of_projected_volume(source: dict, source_text: str):
    sources = [{"secret": {"name": "first", "items": items("a")}}, source]
    assert list(path_warnings(volume(projected={"sources": sources}))) == [
        f'volume "v" (Projected): overlapping paths: "a" ({source_text}) with "a" (Secret "first")'
    ]


def test_path_warnings_about_projected_volume_without_sources():
    assert list(path_warnings(volume(projected={"sources": [{}]}))) == [
        'volume "v" (Projected) has no sources provided'
    ]


def test_path_warnings_skip_unknown_files():
    sources = [{"secret": {"name": "a"}}, {"secret": {"name": "a"}}]
    assert list(path_warnings(volume(projected={"sources": sources}))) == []


def test_path_warnings_follow_order_of_sources():
    sources = [{"secret": {"name": "s", "items": items("a")}}, {"secret": {"name": "s", "items": items("a")}}, {}]
    first, second = path_warnings(volume(projected={"sources": sources}))
    assert "overlapping paths" in first
    assert second == 'volume "v" (Projected) has no sources provided'


def contains(path: str, other: str) -> bool:
    return f"{other}/".startswith(f"{path}/")


@given(st.lists(st.text(alphabet="a/b-", max_size=5).map(lambda path: path.rstrip("/")), max_size=12))
def test_earlier_overlaps_equal_comparison_of_all_pairs(paths: list[str]):
    expected = [
        [
            other
            for other in range(position)
            if path and paths[other] and (contains(path, paths[other]) or contains(paths[other], path))
        ]
        for position, path in enumerate(paths)
    ]
    assert list(earlier_overlaps(paths)) == expected
