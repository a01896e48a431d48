from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import Server

from steersman.apiserver.admission.attributes import Attributes, Operation


@pytest.mark.parametrize(
    ("name", "metadata", "shown"),
    [
        ("a", {"name": "a"}, 'configmaps "a" is forbidden'),
        ("", {"generateName": "g-"}, 'configmaps "g-" is forbidden'),
        ("", {}, 'configmaps "Unknown" is forbidden'),
    ],
)
async def test_forbidden_names_the_object(name, metadata, shown):
    async with Server() as server:
        served = server.registry.get("", "v1", "configmaps")
        attributes = Attributes(Operation.CREATE, served, server.context(), name=name, obj={"metadata": metadata})
        error = attributes.forbidden("why")
        assert (error.code, error.status["message"]) == (403, f"{shown}: why")


async def test_namespace_of_a_namespace_is_its_name():
    async with Server() as server:
        served = server.registry.get("", "v1", "namespaces")
        ctx = server.context("namespaces", namespace="", dry_run=True)
        attributes = Attributes(Operation.DELETE, served, ctx, name="n", obj=None, namespace="n")
        assert (attributes.namespace, attributes.group_resource, attributes.dry_run) == ("n", "namespaces", True)
        assert attributes.user is ctx.user
