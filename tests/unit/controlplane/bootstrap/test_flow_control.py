"""Priority levels and flow schemas of every cluster."""

import json

import pytest

from steersman.controlplane.bootstrap.flow_control import bootstrap_flow_control, flow_schemas, priority_levels
from steersman.testing import InProcessAPIServer

API = "/apis/flowcontrol.apiserver.k8s.io/v1"
ANNOTATION = "apf.kubernetes.io/autoupdate-spec"


def test_default_flow_schemas_refer_to_existing_levels():
    levels = {tree["metadata"]["name"] for tree in priority_levels()}
    assert {tree["spec"]["priorityLevelConfiguration"]["name"] for tree in flow_schemas()} <= levels


async def change(server, plural, name, *, annotation=None, **spec):
    path = f"{API}/{plural}/{name}"
    tree = (await server.request("GET", path)).json()
    tree["spec"].update(spec)
    annotations = tree["metadata"].setdefault("annotations", {})
    annotations.pop(ANNOTATION, None)
    if annotation is not None:
        annotations[ANNOTATION] = annotation
    assert (await server.request("PUT", path, body=json.dumps(tree).encode())).code == 200


async def get_annotation_and_spec(server, plural, name):
    """Return the annotation and the spec."""
    tree = (await server.request("GET", f"{API}/{plural}/{name}")).json()
    return tree["metadata"]["annotations"][ANNOTATION], tree["spec"]


@pytest.mark.parametrize(
    ("annotation", "changes_spec", "repaired", "written"),
    [
        ("true", True, True, "true"),
        ("T", True, True, "T"),
        ("false", True, False, "false"),
        (None, True, False, "false"),
        (None, False, False, "true"),
        ("maybe", False, False, "true"),
    ],
)
async def test_repair_follows_the_annotation(annotation, changes_spec, repaired, written):
    async with InProcessAPIServer() as server:
        spec = {"matchingPrecedence": 4711} if changes_spec else {}
        await change(server, "flowschemas", "probes", annotation=annotation, **spec)
        await bootstrap_flow_control(server.core.client)
        annotated, stored = await get_annotation_and_spec(server, "flowschemas", "probes")
        assert (annotated, stored["matchingPrecedence"]) == (written, 2 if repaired or not changes_spec else 4711)
        before = server.store.revision
        await bootstrap_flow_control(server.core.client)
        assert server.store.revision == before


async def test_mandatory_level_keeps_its_seats_and_regains_its_annotation():
    async with InProcessAPIServer() as server:
        seats = {"nominalConcurrencyShares": 5, "lendablePercent": 50}
        await change(server, "prioritylevelconfigurations", "exempt", annotation="false", exempt=seats)
        await bootstrap_flow_control(server.core.client)
        annotated, stored = await get_annotation_and_spec(server, "prioritylevelconfigurations", "exempt")
        assert (annotated, stored["exempt"]) == ("true", seats)


@pytest.mark.parametrize(("annotation", "is_deleted"), [("true", True), ("false", False), ("maybe", False)])
async def test_objects_annotated_as_defaults_are_deleted_if_they_are_none(annotation, is_deleted):
    async with InProcessAPIServer() as server:
        tree = flow_schemas()[1]
        tree["metadata"] = {"name": "earlier", "annotations": {ANNOTATION: annotation}}
        body = json.dumps(tree).encode()
        assert (await server.request("POST", f"{API}/flowschemas", body=body)).code == 201
        await bootstrap_flow_control(server.core.client)
        code = (await server.request("GET", f"{API}/flowschemas/earlier")).code
        assert code == (404 if is_deleted else 200)
