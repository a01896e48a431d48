"""The whole server without a socket."""

import asyncio
import json
import logging

import pytest
from benchmarks import event_delay
from prometheus_client.parser import text_string_to_metric_families
from tests.e2e.metric_names import ABSENT, CONDITIONAL, UPSTREAM, exposed

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.structured_logging import V3
from steersman.client import tree
from steersman.controlplane.bootstrap import loops  # noqa: F401 — so that the loops start at once
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.storage.memory import MemoryStore
from steersman.storage.store import Stalled
from steersman.testing import InProcessAPIServer


async def test_system_namespaces_exist_after_the_start(server):
    answer = await server.request("GET", "/api/v1/namespaces")
    names = [item["metadata"]["name"] for item in answer.json()["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


async def test_readyz_reports_hooks_and_shutdown(server):
    answer = await server.request("GET", "/readyz?verbose")
    assert "[+]poststarthook/start-system-namespaces-controller ok" in answer.body.decode()
    server.core.begin_shutdown()
    answer = await server.request("GET", "/readyz")
    assert (answer.code, "[-]shutdown failed" in answer.body.decode()) == (500, True)
    assert (await server.request("GET", "/livez")).code == 200


#: Names that kube-apiserver 1.36 lists with its default feature gates.
CHECKS = """
    ping log etcd autoregister-completion poststarthook/start-apiserver-admission-initializer
    poststarthook/generic-apiserver-start-informers poststarthook/priority-and-fairness-config-consumer
    poststarthook/priority-and-fairness-filter poststarthook/storage-object-count-tracker-hook poststarthook/storage-readiness
    poststarthook/start-apiextensions-informers poststarthook/start-apiextensions-controllers
    poststarthook/crd-informer-synced poststarthook/start-system-namespaces-controller
    poststarthook/start-cluster-authentication-info-controller
    poststarthook/start-kube-apiserver-identity-lease-controller
    poststarthook/start-kube-apiserver-identity-lease-garbage-collector
    poststarthook/start-legacy-token-tracking-controller poststarthook/start-service-ip-repair-controllers
    poststarthook/rbac/bootstrap-roles poststarthook/scheduling/bootstrap-system-priority-classes
    poststarthook/priority-and-fairness-config-producer poststarthook/bootstrap-controller
    poststarthook/start-kubernetes-service-cidr-controller poststarthook/aggregator-reload-proxy-client-cert
    poststarthook/start-kube-aggregator-informers poststarthook/apiservice-status-local-available-controller
    poststarthook/apiservice-status-remote-available-controller poststarthook/apiservice-registration-controller
    poststarthook/apiservice-discovery-controller poststarthook/kube-apiserver-autoregistration
    poststarthook/apiservice-openapi-controller poststarthook/apiservice-openapiv3-controller
""".split()  # noqa: SIM905 — thirty literals are no better to read


@pytest.mark.parametrize("endpoint", ["healthz", "livez", "readyz"])
async def test_health_endpoints_list_the_checks_of_upstream(endpoint):
    async with InProcessAPIServer(with_bootstrap_controller=True) as server:
        text = (await server.request("GET", f"/{endpoint}?verbose")).body.decode()
        listed = [line.removeprefix("[+]").removesuffix(" ok") for line in text.splitlines() if line.startswith("[+]")]
        ready = ["etcd-readiness", "informer-sync", "shutdown"] if endpoint == "readyz" else []
        assert set(CHECKS) | set(ready) <= set(listed)
        assert len(listed) == len(set(listed))
        assert endpoint == "readyz" or not {"etcd-readiness", "informer-sync", "shutdown"} & set(listed)
        for name in listed:
            assert (await server.request("GET", f"/{endpoint}/{name}")).code == 200


async def test_metrics_are_valid_and_name_each_family_once():
    async with InProcessAPIServer(with_bootstrap_controller=True) as server:
        await server.core.bootstrap.client.list(tree("v1", "Namespace"))
        await server.request("GET", "/readyz")
        for path, expected in (("/metrics", "process_cpu_seconds"), ("/metrics/slis", "kubernetes_healthcheck")):
            text = (await server.request("GET", path)).body.decode()
            types = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
            assert len(types) == len(set(types))
            families = {family.name: family for family in text_string_to_metric_families(text)}
            assert expected in families
            assert path != "/metrics" or "controller_runtime_reconcile" in families  # the loops'
        slis = {(s.labels["name"], s.labels["type"]): s.value for s in families["kubernetes_healthcheck"].samples}
        assert slis["etcd", "readyz"] == 1


async def test_metrics_have_names_and_labels_of_upstream():
    upstream = UPSTREAM["kube-apiserver"]
    async with InProcessAPIServer(with_bootstrap_controller=True) as server:
        await server.request("GET", "/api/v1/endpoints")
        pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        account = {"metadata": {"name": "default"}}
        await server.request(
            "POST", "/api/v1/namespaces/kube-system/serviceaccounts", body=json.dumps(account).encode()
        )
        await server.request("POST", "/api/v1/namespaces/kube-system/pods", body=json.dumps(pod).encode())
        ours = exposed((await server.request("GET", "/metrics")).body.decode())
    assert set(upstream) - set(ours) - CONDITIONAL == ABSENT["kube-apiserver"]
    other_labels = {name for name, labels in upstream.items() if ours.get(name) and ours[name] != labels}
    # Without ``system_client``, and without ``ocp_namespace``, which is OpenShift's.
    assert other_labels == {"apiserver_request_total", "pod_security_evaluations_total"}


class SlowStore:
    """Store in memory whose first health checks run into their time limit, which takes two seconds each."""

    def __init__(self, clock, slow_checks):
        self._store = MemoryStore(clock=clock)
        self._clock = clock
        self._slow_checks = slow_checks

    async def check_writable(self):
        if self._slow_checks:
            self._slow_checks -= 1
            await self._clock.advance(2)
            raise Stalled("a write was not durable within 2 s")

    def __getattr__(self, name):
        return getattr(self._store, name)


async def test_start_waits_for_a_slow_store():
    clock = FakeClock()
    async with InProcessAPIServer(store=SlowStore(clock, 29), clock=clock) as server:
        assert (await server.request("GET", "/readyz")).code == 200


async def test_start_fails_when_the_store_stays_slow():
    clock, tasks = FakeClock(), asyncio.all_tasks()
    with pytest.raises(Stalled, match="not durable within 2 s"):
        async with InProcessAPIServer(store=SlowStore(clock, 100), clock=clock):
            pytest.fail("the server must not start")
    assert asyncio.all_tasks() == tasks


async def test_watch_is_served_during_pre_shutdown_hooks_and_ends_after_them(server):
    async with server.open("GET", "/api/v1/namespaces/default/configmaps?watch=1") as watch:
        events = aiter(watch)
        server.core.begin_shutdown()
        await server.core.run_pre_shutdown_hooks()
        body = json.dumps({"metadata": {"name": "a"}, "data": {"k": "v"}}).encode()
        assert (await server.request("POST", "/api/v1/namespaces/default/configmaps", body=body)).code == 201
        assert json.loads(await anext(events))["type"] == "ADDED"
        server.core.end_watches()
        assert [event async for event in events] == []


async def test_strangers_get_401_and_403(server):
    anonymous = server.anonymous()
    assert (await anonymous.request("GET", "/api/v1/pods")).code == 403
    refused = await anonymous.request("GET", "/livez", headers={"authorization": "Bearer nonsense"})
    assert (refused.code, refused.json()["message"]) == (401, "Unauthorized")


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("PUT", "/version", 405),
        ("POST", "/healthz", 200),
        ("HEAD", "/apis", 200),
        ("HEAD", "/apis/apps/v1", 405),
        ("HEAD", "/api/v1/namespaces/default", 405),
        ("OPTIONS", "/api/v1/namespaces/default", 405),
        ("DELETE", "/apis/apps/v1", 405),
        ("GET", "/healthz/", 404),
        ("GET", "/metrics/unknown", 404),
        ("GET", "/apis/nothing.example.com/v1/namespaces/a/things", 404),
        ("GET", "/api/v1//namespaces/default/configmaps/a", 404),
        ("GET", "/apis/apps/v1/namespaces/default/deployments//status", 400),
        ("GET", "/api/v1/watch", 404),
        ("GET", "/index.html", 200),
        ("GET", "/openapi/v3", 200),
    ],
)
async def test_odd_methods_and_paths(server, method, path, code):
    assert (await server.request(method, path)).code == code


async def test_metrics_count_requests(server):
    await server.request("GET", "/api/v1/namespaces/default/configmaps/none")
    text = (await server.request("GET", "/metrics")).body.decode()
    assert (
        'apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="configmaps",'
        'scope="resource",subresource="",verb="GET",version="v1"} 1'
    ) in text.splitlines()


async def test_bad_options_are_refused():
    with pytest.raises(OptionError, match="service-cluster-ip-range"):
        async with InProcessAPIServer(options=APIServerOptions(service_cluster_ip_range="10.0.0.1/24")):
            pass


async def test_watch_events_follow_the_answers_to_writes_at_once_and_in_order():
    result = await event_delay.measure(watchers=10, writers=4, writes=20, clock=FakeClock())
    assert set(result.delays()) <= {0, 1, 2}  # turns of the event loop
    assert len({tuple(names) for names in result.order}) == 1
    for writer in range(4):
        own = [name for name in result.order[0] if name.startswith(f"w{writer}-")]
        assert own == [f"w{writer}-{number}" for number in range(20)]


async def test_profiles_are_served_unless_disabled(server):
    answer = await server.request("GET", "/debug/pprof/goroutine")
    assert (answer.code, "thread MainThread:" in answer.body.decode()) == (200, True)
    assert (await server.request("GET", "/debug/pprof/")).body.startswith(b"/debug/pprof/")
    assert (await server.request("GET", "/debug/pprof")).code == 301
    answer = await server.request("GET", "/debug/pprof/mutex")
    assert (answer.code, answer.body) == (404, b"Unknown profile\n")
    assert (await server.request("GET", "/debug/pprof/profile?seconds=x")).code == 400
    async with InProcessAPIServer(options=APIServerOptions(ephemeral=True, profiling=False)) as other:
        for path in ("/debug/pprof/", "/debug/flags/v"):
            assert (await other.request("GET", path)).code == 404


async def test_verbosity_that_is_set_enables_the_log_of_requests(server, monkeypatch):
    levels = []
    monkeypatch.setattr("steersman.runtime.debug_flags.set_verbosity", levels.append)
    answer = await server.request("PUT", "/debug/flags/v", body=b"3")
    assert (answer.code, answer.body) == (200, b"successfully set klog.logging.verbosity to 3\n")
    assert levels == [3]
    logging.getLogger("steersman.apiserver.server.request_log").setLevel(V3)
    await server.request("PUT", "/debug/flags/v", body=b"3")
    logging.getLogger("steersman.apiserver.server.request_log").setLevel(logging.NOTSET)
    assert server.core.app.request_log is not None
    assert (await server.request("GET", "/debug/flags/v")).code == 406
    assert b"<tr>v" in (await server.request("GET", "/debug/flags")).body


async def test_browsers_get_the_headers_of_the_options():
    options = APIServerOptions(
        ephemeral=True,
        cors_allowed_origins=("//localhost(:|$)",),
        strict_transport_security_directives=("max-age=60", "preload"),
    )
    async with InProcessAPIServer(options=options) as server:
        client = server.anonymous()
        for method, code in (("GET", 403), ("OPTIONS", 204)):
            answer = await client.request(method, "/api/v1/nodes", headers={"origin": "http://localhost:8080"})
            assert answer.code == code
            assert answer.header("access-control-allow-origin") == "http://localhost:8080"
            assert answer.header("strict-transport-security") == "max-age=60; preload"
        assert not (await client.request("GET", "/version")).header("access-control-allow-origin")


async def test_metrics_are_filtered_by_the_options():
    options = APIServerOptions(
        ephemeral=True,
        disabled_metrics=("apiserver_current_inflight_requests",),
        allow_metric_labels={"apiserver_request_total,verb": "GET"},
    )
    async with InProcessAPIServer(options=options) as server:
        await server.request("GET", "/api/v1/namespaces/default")
        text = (await server.request("GET", "/metrics")).body.decode()
    verbs = {
        line.partition('verb="')[2].partition('"')[0]
        for line in text.splitlines()
        if line.startswith("apiserver_request_total{")
    }
    assert verbs == {"GET", "unexpected"}
    assert "apiserver_current_inflight_requests" not in text


async def test_feature_gates_that_are_off_have_their_effect():
    gates = (
        "APIServerIdentity",
        "ComponentFlagz",
        "ComponentStatusz",
        "MutatingAdmissionPolicy",
        "PodTopologyLabelsAdmission",
        "StorageVersionHash",
        "WatchList",
    )
    options = APIServerOptions(ephemeral=True, feature_gates=dict.fromkeys(gates, False))
    async with InProcessAPIServer(options=options, with_bootstrap_controller=True) as server:
        for path in ("/flagz", "/statusz", "/livez/poststarthook/start-kube-apiserver-identity-lease-controller"):
            assert (await server.request("GET", path)).code == 404
        leases = await server.request("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases")
        assert leases.json()["items"] == []
        streaming = "/api/v1/pods?watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan"
        assert (await server.request("GET", streaming)).code == 422
        plugins = {plugin.name for plugin in server.core.resources.admission.plugins}
        assert plugins.isdisjoint(("MutatingAdmissionPolicy", "PodTopologyLabels"))
        resources = (await server.request("GET", "/api/v1")).json()["resources"]
        assert not any("storageVersionHash" in resource for resource in resources)


async def test_fields_of_feature_gates_that_are_off_are_dropped():
    gates = (
        "ContainerRestartRules",
        "EnvFiles",
        "HostnameOverride",
        "MatchLabelKeysInPodTopologySpread",
        "PodLevelResources",
    )
    options = APIServerOptions(ephemeral=True, feature_gates=dict.fromkeys(gates, False))
    container = {"name": "c", "image": "i", "restartPolicy": "Never"}
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"a": "b"}},
        "matchLabelKeys": ["c"],
    }
    spec = {
        "containers": [container],
        "hostnameOverride": "h",
        "resources": {"limits": {"cpu": "1"}},
        "topologySpreadConstraints": [spread],
    }
    template = {"metadata": {"labels": {"a": "b", "c": "d"}}, "spec": spec}
    objects = {
        "/api/v1/namespaces/default/pods": {"metadata": {"name": "a", "labels": {"c": "d"}}, "spec": spec},
        "/apis/apps/v1/namespaces/default/deployments": {
            "metadata": {"name": "a"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
        },
    }
    async with InProcessAPIServer(options=options) as server:
        await server.request(
            "POST", "/api/v1/namespaces/default/serviceaccounts", body=b'{"metadata":{"name":"default"}}'
        )
        for path, obj in objects.items():
            answer = await server.request("POST", path, body=json.dumps(obj).encode())
            assert answer.code == 201, answer.json()
            stored = answer.json()["spec"]
            stored = stored.get("template", {"spec": stored})["spec"]
            assert stored.keys().isdisjoint(("hostnameOverride", "resources"))
            assert "restartPolicy" not in stored["containers"][0]
            expected = {name: value for name, value in spread.items() if name != "matchLabelKeys"}
            assert stored["topologySpreadConstraints"] == [expected]


@pytest.mark.parametrize("is_enabled", [False, True])
async def test_max_unavailable_of_stateful_sets_needs_its_feature_gate(is_enabled):
    gates = {"MaxUnavailableStatefulSet": is_enabled}
    options = APIServerOptions(ephemeral=True, feature_gates=gates)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"serviceName": "s", "selector": {"matchLabels": {"a": "b"}}, "template": template}
    async with InProcessAPIServer(options=options) as server:
        shown = []
        for name, rolling in (("a", {}), ("b", {"maxUnavailable": 2})):
            obj = {"metadata": {"name": name}, "spec": {**spec, "updateStrategy": {"rollingUpdate": rolling}}}
            path = "/apis/apps/v1/namespaces/default/statefulsets"
            answer = await server.request("POST", path, body=json.dumps(obj).encode())
            assert answer.code == 201, answer.json()
            shown.append(answer.json()["spec"]["updateStrategy"]["rollingUpdate"].get("maxUnavailable"))
    assert shown == ([1, 2] if is_enabled else [None, None])
