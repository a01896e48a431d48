from __future__ import annotations

from tests.unit.apiserver.admission.plugged import Plugged, refusal
from tests.unit.apiserver.writing import PODS

from steersman.apiserver.admission.always_pull_images import AlwaysPullImages
from steersman.apiserver.admission.interface import Operation, Plugin

NEVER = {"name": "c", "image": "i:1", "imagePullPolicy": "Never"}


def pulling():
    return Plugged(lambda _: AlwaysPullImages())


async def test_pull_policy_of_every_image_is_always():
    async with pulling() as server:
        volume = {"name": "v", "image": {"reference": "data", "pullPolicy": "Never"}}
        init = {**NEVER, "name": "i"}
        spec = (await server.pod(containers=[NEVER], initContainers=[init], volumes=[volume])).body["spec"]
        assert spec["containers"][0]["imagePullPolicy"] == "Always"
        assert spec["initContainers"][0]["imagePullPolicy"] == "Always"
        assert spec["volumes"][0]["image"]["pullPolicy"] == "Always"


class PullPolicyOverride(Plugin):
    """Plugin that changes the pull policy afterwards."""

    name = "RuntimeClass"

    def handles(self, resource, subresource, operation):
        return resource.name == "pods" and operation is Operation.CREATE

    async def admit(self, attributes):
        attributes.object["spec"]["containers"][0]["imagePullPolicy"] = "Never"


async def test_pull_policy_changed_by_a_later_plugin_is_rejected():
    async with Plugged(lambda _: AlwaysPullImages(), lambda _: PullPolicyOverride()) as server:
        assert refusal(await server.pod()) == (
            'spec.containers[0].imagePullPolicy: Unsupported value: "Never": supported values: "Always"'
        )


async def test_update_without_new_images_keeps_pull_policies():
    async with pulling() as server:
        await server.pod(containers=[NEVER])
        changed = await server.merge(f"{PODS}/a", {"spec": {"containers": [{**NEVER, "image": "i:2"}]}})
        assert changed.body["spec"]["containers"][0]["imagePullPolicy"] == "Always"
        relabelled = await server.merge(f"{PODS}/a", {"metadata": {"labels": {"a": "b"}}})
        assert relabelled.code == 200
