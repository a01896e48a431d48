"""Predicates of resource names."""

from __future__ import annotations

import pytest

from steersman.apimachinery.quantity import parse
from steersman.apiserver.kinds.shared.podspec import resource_names as names


@pytest.mark.parametrize(
    ("name", "standard", "of_quota", "of_container"),
    [
        ("cpu", True, True, True),
        ("memory", True, True, True),
        ("ephemeral-storage", True, True, True),
        ("hugepages-2Mi", True, True, True),
        ("requests.hugepages-2Mi", True, True, False),
        ("storage", True, False, False),
        ("requests.storage", True, True, False),
        ("limits.cpu", True, True, False),
        ("pods", True, True, False),
        ("services.loadbalancers", True, True, False),
        ("gpu", False, False, False),
    ],
)
def test_standard_names_by_place(name: str, standard: bool, of_quota: bool, of_container: bool):
    result = names.is_standard(name), names.is_standard_of_quota(name), names.is_standard_of_container(name)
    assert result == (standard, of_quota, of_container)


@pytest.mark.parametrize(
    ("name", "extended", "overcommit", "integer"),
    [
        ("cpu", False, True, False),
        ("pods", False, True, True),
        ("hugepages-1Gi", False, False, False),
        ("example.com/gpu", True, False, True),
        ("kubernetes.io/thing", False, True, False),
        ("requests.example.com/gpu", False, False, False),
    ],
)
def test_overcommit_and_integer_rules_by_owner(name: str, extended: bool, overcommit: bool, integer: bool):
    result = names.is_extended(name), names.may_overcommit(name), names.is_integer(name)
    assert result == (extended, overcommit, integer)


@pytest.mark.parametrize(
    ("name", "amount", "whole"),
    [
        ("hugepages-2Mi", "4Mi", True),
        ("hugepages-2Mi", "0", True),
        ("hugepages-2Mi", "3Mi", False),
        ("hugepages-1Gi", "2Gi", True),
        ("hugepages-what", "1Gi", False),
        ("hugepages-0", "1Gi", False),
    ],
)
def test_is_whole_pages_requires_multiple_of_page_size(name: str, amount: str, whole: bool):
    assert names.is_whole_pages(name, parse(amount)) is whole
