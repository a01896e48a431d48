"""Registry and admission out of options."""

import pytest

from steersman.asynckit.clock import RealClock
from steersman.controlplane.access import Authentication, Authorization
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.controlplane.resources import Resources
from steersman.controlplane.service_account_keys import ServiceAccountKeys
from steersman.storage.memory import MemoryStore


def build(options: APIServerOptions) -> Resources:
    clock = RealClock()
    keys = ServiceAccountKeys(None)
    authentication = Authentication(options, keys=keys, clock=clock, loopback_token="t")
    store = MemoryStore(clock=clock)
    return Resources(options, store, clock=clock, authorization=Authorization(options), authentication=authentication)


async def test_services_get_their_allocator():
    resources = build(APIServerOptions())
    assert resources.registry.stored("services").strategy.group_resource == "services"
    await resources.close()


async def test_plugins_may_be_left_out():
    names = {plugin.name for plugin in build(APIServerOptions()).admission.plugins}
    assert "NamespaceLifecycle" in names
    options = APIServerOptions(disable_admission_plugins=("NamespaceLifecycle",))
    assert {plugin.name for plugin in build(options).admission.plugins} == names - {"NamespaceLifecycle"}


@pytest.mark.parametrize("flag", ["enable_admission_plugins", "disable_admission_plugins"])
async def test_a_plugin_that_is_unknown_is_refused(flag):
    with pytest.raises(OptionError, match="there is no plugin Nonsense"):
        build(APIServerOptions(**{flag: ("Nonsense", "NamespaceLifecycle")}))


@pytest.mark.parametrize("text", ["", "x", "10.0.0.1/24"])
async def test_a_service_range_that_is_none_is_refused(text):
    with pytest.raises(OptionError, match="service-cluster-ip-range"):
        build(APIServerOptions(service_cluster_ip_range=text))
