"""Selections: what is asked of keys, labels and fields."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.reading import PODS, PodStrategy, World

from steersman.apimachinery.selectors import parse_field_selector, parse_label_selector
from steersman.apiserver.generic.selection import Selection, select


async def pods() -> World:
    world = World(PODS)
    await world.put("a", "ns", labels={"app": "x"}, spec={"nodeName": "n"})
    await world.put("b", "ns", labels={"app": "y"}, spec={})
    await world.put("a", "ns2", labels={"app": "x"}, spec={})
    await world.cache.ready()
    return world


def ask(world: World, namespace: str = "", *, labels: str = "", fields: str = "") -> Selection:
    return select(
        world.cache,
        namespace,
        labels=parse_label_selector(labels),
        fields=parse_field_selector(fields),
        field_values=PodStrategy.field_labels,
    )


@pytest.mark.parametrize(
    ("labels", "fields", "expected"),
    [
        ("", "", ["ns/a", "ns/b", "ns2/a"]),
        ("app=x", "", ["ns/a", "ns2/a"]),
        ("app=x", "spec.nodeName=n", ["ns/a"]),
        ("", "spec.nodeName!=n", ["ns/b", "ns2/a"]),
        ("", "metadata.name=a", ["ns/a", "ns2/a"]),
        ("", "metadata.name!=a", ["ns/b"]),
        ("", "metadata.namespace=ns2", ["ns2/a"]),
        ("", "metadata.namespace!=ns2,metadata.name=a", ["ns/a"]),
        ("", "metadata.name!=a,metadata.name!=c", ["ns/b"]),
        ("", "metadata.name!=c,metadata.name=a", ["ns/a", "ns2/a"]),
        ("", "metadata.name!=a,metadata.name=a", []),
        ("", "metadata.name=b,metadata.name=b", ["ns/b"]),
        ("", "metadata.name=a,metadata.name=b", []),
        ("", "metadata.namespace!=ns2,metadata.namespace!=ns3", ["ns/a", "ns/b"]),
        ("", "spec.nodeName!=n,spec.nodeName!=m", ["ns/b", "ns2/a"]),
        ("", "spec.nodeName=n,spec.nodeName!=m", ["ns/a"]),
    ],
)
async def test_selection_requires_all_conditions(labels, fields, expected):
    world = await pods()
    selection = ask(world, labels=labels, fields=fields)
    result = selection.of(world.cache.snapshot(selection.scope))
    assert [entry.key.removeprefix(world.prefix) for entry in result] == expected
    assert all(selection.matches(entry) for entry in result)


async def test_selected_namespace_narrows_the_scope_but_not_the_base_of_pages():
    world = await pods()
    selection = ask(world, fields="metadata.namespace=ns2")
    assert selection.scope == f"{world.prefix}ns2/"
    assert selection.base == world.prefix


async def test_name_and_namespace_select_one_key():
    world = await pods()
    selection = ask(world, "ns", fields="metadata.name=a")
    assert selection.is_single
    assert selection.scope == f"{world.prefix}ns/a"
    assert selection.covers(f"{world.prefix}ns/a")
    assert not selection.covers(f"{world.prefix}ns/ab")


async def test_equal_selections_have_equal_identities():
    world = await pods()
    assert ask(world, labels="a=b,c").identity == ask(world, labels=" c , a = b ").identity
    assert ask(world, labels="a=b").identity != ask(world, labels="a=c").identity
    assert ask(world, "ns").identity != ask(world, "ns2").identity


async def test_selection_without_selectors_takes_all():
    world = await pods()
    assert ask(world, "ns").takes_all
    assert not ask(world, labels="a").takes_all
