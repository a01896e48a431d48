from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.plugged import Plugged

from steersman.apiserver.admission.default_ingress_class import DefaultIngressClass

CLASSES = "/apis/networking.k8s.io/v1/ingressclasses"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
BACKEND = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
DEFAULT = {"ingressclass.kubernetes.io/is-default-class": "true"}


async def chosen(server, spec=None, **metadata):
    ingress = await server.make(INGRESSES, spec={**BACKEND, **(spec or {})}, metadata=metadata)
    return ingress["spec"].get("ingressClassName")


def choosing():
    return Plugged(lambda stored: DefaultIngressClass(stored("ingressclasses.networking.k8s.io").cache))


async def add(server, name, annotations=None):
    metadata = {"name": name, "annotations": annotations or {}}
    await server.make(CLASSES, metadata=metadata, spec={"controller": "example.com/c"})


async def test_newest_default_class_is_set():
    async with choosing() as server:
        await add(server, "old", DEFAULT)
        await server.clock.advance(5)
        await add(server, "b", DEFAULT)
        await add(server, "a", DEFAULT)
        await add(server, "z")
        assert await chosen(server) == "a"


@pytest.mark.parametrize(
    ("spec", "metadata", "name"),
    [
        ({"ingressClassName": "mine"}, {}, "mine"),
        ({}, {"annotations": {"kubernetes.io/ingress.class": "old"}}, None),
    ],
)
async def test_explicit_class_is_kept(spec, metadata, name):
    async with choosing() as server:
        await add(server, "a", DEFAULT)
        assert await chosen(server, spec, **metadata) == name


async def test_class_is_unset_without_a_default():
    async with choosing() as server:
        await add(server, "a")
        assert await chosen(server) is None
