"""Detection of modified cache objects."""

import pytest
from lightkube.models.core_v1 import ConfigMap
from tests.unit.client.scripted import ScriptedTransport, Stream, config_map, listing

from steersman.asynckit.clock import FakeClock
from steersman.client import Client, InformerFactory, ReflectorOptions
from steersman.client.mutation_detector import CacheMutated, MutationDetector


def test_check_reports_a_modified_object_once():
    detector, obj = MutationDetector(), {"a": 1}
    detector.put("x", obj)
    detector.check("things")
    obj["a"] = 2
    with pytest.raises(CacheMutated, match="changed by who read them: x was"):
        detector.check("things")
    detector.check("things")


@pytest.mark.parametrize("leave", [lambda d: d.remove("x"), lambda d: d.put("x", {})], ids=["removed", "replaced"])
def test_detector_checks_objects_that_leave_the_cache(leave):
    detector, obj = MutationDetector(), {"a": 1}
    detector.put("x", obj)
    obj["a"] = 2
    leave(detector)
    with pytest.raises(CacheMutated):
        detector.check("things")


async def test_informer_close_raises_cache_mutated():
    transport = ScriptedTransport(listing(config_map("a", 5, x="y"), version=8), Stream())
    client = Client(transport, clock=FakeClock())
    informers = InformerFactory(client, options=ReflectorOptions(streaming_list=False), detect_mutations=True)
    informer = informers.informer(ConfigMap)
    informers.start()
    await informers.wait_synced()
    informer.lister.get("a", namespace="default").data["x"] = "z"
    with pytest.raises(CacheMutated, match="the cache of configmaps"):
        await informers.close()
