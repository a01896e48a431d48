"""Registry and admission out of options."""

import json

import pytest
from tests.unit.review_webhook import review_webhook

from steersman.apiserver.request import RequestContext, UserInfo
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.controlplane.authentication.authentication import Authentication
from steersman.controlplane.authentication.service_account_keys import ServiceAccountKeys
from steersman.controlplane.authorization.authorization import Authorization
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.controlplane.resources import Resources
from steersman.schema.resources import table
from steersman.storage.memory import MemoryStore
from steersman.testing import InProcessAPIServer

NAMESPACE = "/api/v1/namespaces/default"


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


@pytest.mark.parametrize("plural", ["resourceclaims", "resourceclaimtemplates"])
async def test_claims_with_admin_access_require_their_namespace(plural):
    resources = build(APIServerOptions())
    strategy = resources.registry.stored(f"{plural}.resource.k8s.io").strategy
    wish = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": True}}]}}
    obj = {"metadata": {"name": "a"}, "spec": {**wish, "spec": wish}}
    ctx = RequestContext(UserInfo("alice"), FakeClock().now(), namespace="n")
    assert "could not retrieve namespace" in str(strategy.validate(ctx, obj)[0])
    await resources.close()


@pytest.mark.parametrize(("gates", "is_stored"), [({}, True), ({"CoordinatedLeaderElection": False}, False)])
async def test_coordinated_leases_depend_on_their_feature_gate(gates, is_stored):
    resources = build(APIServerOptions(feature_gates=gates))
    lease = {"metadata": {"name": "a"}, "spec": {"strategy": "OldestEmulationVersion"}}
    ctx = RequestContext(UserInfo("alice"), FakeClock().now(), namespace="n")
    resources.registry.stored("leases.coordination.k8s.io").strategy.prepare_for_create(ctx, lease)
    assert ("strategy" in lease["spec"]) is is_stored
    await resources.close()


async def test_plugins_may_be_left_out():
    names = {plugin.name for plugin in build(APIServerOptions()).admission.plugins}
    assert "NamespaceLifecycle" in names
    options = APIServerOptions(disable_admission_plugins=("NamespaceLifecycle",))
    assert {plugin.name for plugin in build(options).admission.plugins} == names - {"NamespaceLifecycle"}


async def test_admission_control_names_all_plugins():
    options = APIServerOptions(admission_control=("NodeRestriction", "LimitRanger"))
    assert {plugin.name for plugin in build(options).admission.plugins} == {"NodeRestriction", "LimitRanger"}
    with pytest.raises(OptionError, match='plugin "Nothing" is unknown'):
        build(APIServerOptions(admission_control=("Nothing",)))


async def test_options_reach_events_kubelets_and_tolerations():
    resources = build(
        APIServerOptions(
            event_ttl_seconds=120.0,
            kubelet_preferred_address_types=("InternalIP",),
            default_not_ready_toleration_seconds=5,
            default_unreachable_toleration_seconds=6,
        )
    )
    assert resources.registry._kinds.ttl_seconds(next(r for r in table().resources if r.kind == "Event")) == 120
    assert resources.connections.address_types == ("InternalIP",)
    plugin = next(item for item in resources.admission.plugins if item.name == "DefaultTolerationSeconds")
    assert list(plugin._seconds.values()) == [5, 6]


async def test_admission_plugins_can_be_enabled():
    before = {plugin.name for plugin in build(APIServerOptions()).admission.plugins}
    options = APIServerOptions(enable_admission_plugins=("NodeRestriction", "AlwaysPullImages", "LimitRanger"))
    after = [plugin.name for plugin in build(options).admission.plugins]
    assert sorted(after) == sorted([*before, "NodeRestriction", "AlwaysPullImages"])


async def test_admission_plugin_receives_its_configuration(tmp_path):
    path = tmp_path / "config.yaml"
    configuration = "plugins: [{name: EventRateLimit, configuration: {limits: [{type: Server, qps: 1, burst: %s}]}}]"
    head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
    options = APIServerOptions(enable_admission_plugins=("EventRateLimit",), admission_control_config_file=path)
    path.write_text(head + configuration % 1)
    assert "EventRateLimit" in [plugin.name for plugin in build(options).admission.plugins]
    path.write_text(head + configuration % 0)
    with pytest.raises(OptionError, match=r"limits\[0\].burst: must be positive"):
        build(options)


async def test_admission_plugin_cannot_be_enabled_and_disabled():
    both = APIServerOptions(enable_admission_plugins=("LimitRanger",), disable_admission_plugins=("LimitRanger",))
    with pytest.raises(
        OptionError, match="--enable-admission-plugins and --disable-admission-plugins overlap: LimitRanger"
    ):
        build(both)


@pytest.mark.parametrize("flag", ["enable_admission_plugins", "disable_admission_plugins"])
async def test_unknown_admission_plugin_is_rejected(flag):
    with pytest.raises(OptionError, match=r'admission-plugins: plugin "Nonsense" is unknown'):
        build(APIServerOptions(**{flag: ("Nonsense", "NamespaceLifecycle")}))


@pytest.mark.parametrize("text", ["", "x", "10.0.0.1/24"])
async def test_invalid_service_cluster_ip_range_is_rejected(text):
    with pytest.raises(OptionError, match="service-cluster-ip-range"):
        build(APIServerOptions(service_cluster_ip_range=text))


@pytest.mark.parametrize(("allowed", "code"), [(True, 201), (False, 403)])
async def test_images_are_reviewed_by_the_webhook_of_the_configuration(tmp_path, allowed, code):
    async with review_webhook(tmp_path, lambda _: {"allowed": allowed}) as (webhook, kubeconfig):
        settings = {"kubeConfigFile": str(kubeconfig), "allowTTL": 50, "denyTTL": 50, "retryBackoff": 500}
        configuration = {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AdmissionConfiguration",
            "plugins": [{"name": "ImagePolicyWebhook", "configuration": {"imagePolicy": settings}}],
        }
        file = tmp_path / "admission.json"
        file.write_text(json.dumps(configuration))
        options = APIServerOptions(
            ephemeral=True, enable_admission_plugins=("ImagePolicyWebhook",), admission_control_config_file=file
        )
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "one:1"}]}}
        async with InProcessAPIServer(options=options) as server:
            await server.request("POST", f"{NAMESPACE}/serviceaccounts", body=b'{"metadata":{"name":"default"}}')
            answer = await server.request("POST", f"{NAMESPACE}/pods", body=json.dumps(pod).encode())
    assert answer.code == code
    assert webhook.specs == [{"containers": [{"image": "one:1"}], "namespace": "default"}]


def test_malformed_kubeconfig_of_images_is_an_error_of_the_options(tmp_path):
    file = tmp_path / "admission.json"
    plugin = {"name": "ImagePolicyWebhook", "configuration": {"imagePolicy": {"kubeConfigFile": "/none"}}}
    file.write_text(
        json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [plugin]})
    )
    options = APIServerOptions(
        ephemeral=True, enable_admission_plugins=("ImagePolicyWebhook",), admission_control_config_file=file
    )
    with pytest.raises(OptionError, match=r"--admission-control-config-file: ImagePolicyWebhook: .*/none"):
        build(options)
