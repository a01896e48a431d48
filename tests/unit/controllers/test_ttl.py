import pytest

from steersman.client import tree
from steersman.controllers.ttl.controller import build
from steersman.controllers.ttl.plan import ANNOTATION, annotation_patch, step_for


@pytest.mark.parametrize(
    ("size", "current", "expected"),
    [(1, 0, 0), (100, 0, 0), (101, 0, 1), (95, 1, 1), (89, 1, 0), (501, 0, 2), (5000, 0, 4), (1799, 4, 3), (1, 4, 0)],
)
def test_step_for_has_hysteresis(size, current, expected):
    assert step_for(size, current) == expected


def test_annotation_patch_is_none_when_up_to_date():
    assert annotation_patch({"metadata": {"annotations": {ANNOTATION: "15"}}}, 1) is None
    assert annotation_patch({"metadata": {}}, 1) == {"metadata": {"annotations": {ANNOTATION: "15"}}}


async def test_nodes_are_annotated_and_repaired(cluster):
    await cluster.start(build)
    await cluster.make("v1", "Node", "n")
    has = lambda obj: obj["metadata"].get("annotations", {}).get(ANNOTATION) == "0"  # noqa: E731 — short
    await cluster.eventually("v1", "Node", "n", has)
    await cluster.client.patch(tree("v1", "Node"), "n", {"metadata": {"annotations": {ANNOTATION: "7"}}})
    await cluster.eventually("v1", "Node", "n", has)
