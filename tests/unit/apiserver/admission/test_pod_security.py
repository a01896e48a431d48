from __future__ import annotations

import threading

import pytest
from tests.unit.apiserver.admission.plugged import Plugged, refusal
from tests.unit.apiserver.writing import DEPLOYMENTS, PODS, deployment

from steersman.apimachinery.workmeter import Allowance, WorkLimitError, metered
from steersman.apiserver.admission import pod_security
from steersman.apiserver.admission.pod_security import PodSecurity, is_significant, namespace_warnings
from steersman.apiserver.generic.entry import Layout
from steersman.apiserver.generic.watch_cache import WatchCache
from steersman.apiserver.kinds.shared.podsecurity.levels import Standard
from steersman.apiserver.workers import LARGE_BYTES
from steersman.asynckit.clock import FakeClock

NAMESPACE = "/api/v1/namespaces/default"


def secured():
    return Plugged(lambda stored: PodSecurity(namespaces=stored("namespaces").cache, pods=stored("pods").cache))


def metrics_of(server):
    """Return the counters of the plugin."""
    return next(plugin for plugin in server.admission.plugins if plugin.name == "PodSecurity").metrics


async def label(server, **labels):
    texts = {f"pod-security.kubernetes.io/{key.replace('_', '-')}": value for key, value in labels.items()}
    return await server.merge(NAMESPACE, {"metadata": {"labels": texts}})


async def test_pod_violating_the_enforced_standard_is_rejected():
    async with secured() as server:
        await label(server, enforce="baseline")
        assert refusal(await server.pod(hostPID=True)) == (
            'violates PodSecurity "baseline:latest": host namespaces (hostPID=true)'
        )
        assert (await server.pod(hostPID=True, query="dryRun=All")).code == 403
        assert (await server.pod()).code == 201


async def test_pods_are_allowed_without_labels():
    async with secured() as server:
        answer = await server.pod(hostPID=True)
        assert (answer.code, answer.warnings) == (201, [])


async def test_workloads_are_warned_about_and_not_rejected():
    async with secured() as server:
        await label(server, enforce="baseline")
        template = {
            "metadata": {"labels": {"x": "y"}},
            "spec": {"hostIPC": True, "containers": [{"name": "c", "image": "i"}]},
        }
        answer = await server.call(
            "POST", DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": deployment(template=template)}
        )
        warning = 'would violate PodSecurity "baseline:latest": host namespaces (hostIPC=true)'
        assert (answer.code, answer.warnings) == (201, [warning])
        answer = await server.merge(f"{DEPLOYMENTS}/a", {"metadata": {"labels": {"l": "m"}}})
        assert answer.warnings == [warning]


async def test_rejected_pod_gets_no_warning():
    async with secured() as server:
        await label(server, enforce="baseline", warn="restricted")
        assert (await server.pod(hostPID=True)).warnings == []
        (warning,) = (await server.pod()).warnings
        assert warning.startswith('would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false (')


async def test_identical_pods_are_evaluated_by_the_current_standard():
    async with secured() as server:
        for level, code in (("baseline", 403), ("privileged", 201), ("restricted", 403), ("baseline", 403)):
            await label(server, enforce=level)
            refused = [await server.pod(hostPID=True, query="dryRun=All") for _ in range(2)]
            assert [answer.code for answer in refused] == [code] * 2
            assert refused[0].body.get("message") == refused[1].body.get("message")


async def test_annotations_are_evaluated_for_a_cached_spec():
    async with secured() as server:
        await label(server, enforce="baseline", enforce_version="v1.18")
        assert (await server.pod()).code == 201
        annotations = {"container.seccomp.security.alpha.kubernetes.io/c": "unconfined"}
        answer = await server.pod("b", metadata={"annotations": annotations})
        assert answer.code == 403


async def test_label_update_is_not_evaluated():
    async with secured() as server:
        assert (await server.pod(hostPID=True)).code == 201
        await label(server, enforce="baseline")
        assert (await server.merge(f"{PODS}/a", {"metadata": {"labels": {"a": "b"}}})).code == 200
        change = [{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}]
        answer = await server.call("PATCH", f"{PODS}/a", change, media_type="application/json-patch+json")
        assert answer.code == 403


@pytest.mark.parametrize(
    ("labels", "fields"),
    [
        ({"enforce": "strict"}, ["enforce"]),
        ({"warn": "x", "audit_version": "y"}, ["audit-version", "warn"]),
        ({"enforce_version": "1.20"}, ["enforce-version"]),
        ({"enforce_version": "v1.99"}, []),
        ({"other": "x"}, []),
    ],
)
async def test_invalid_namespace_labels_are_rejected(labels, fields):
    async with secured() as server:
        answer = await label(server, **labels)
        assert answer.code == (422 if fields else 200)
        causes = answer.body.get("details", {}).get("causes", [])
        assert [one["field"] for one in causes] == [
            f"metadata.labels[pod-security.kubernetes.io/{name}]" for name in fields
        ]


async def test_tightening_a_standard_warns_about_violating_pods():
    async with secured() as server:
        await server.pod(hostPID=True)
        await server.pod("b", hostPID=True)
        await server.pod("c", hostPID=True, hostIPC=True)
        answer = await label(server, enforce="baseline")
        assert answer.warnings == [
            'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
            "a (and 2 other pods): host namespaces",
        ]
        assert (await label(server, enforce="privileged")).warnings == []


def test_namespace_warnings_group_pods_by_violation():
    def pod(name, **spec):
        return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c"}], **spec}}

    pods = [pod("b", hostPID=True), pod("a", volumes=[{"name": "v", "hostPath": {}}]), pod("c", hostIPC=True), pod("d")]
    assert namespace_warnings("n", Standard("baseline"), pods) == [
        'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
        "a: hostPath volumes",
        "b (and 1 other pod): host namespaces",
    ]
    assert namespace_warnings("n", Standard("baseline"), pods[3:]) == []


@pytest.mark.parametrize(
    ("now", "significant"),
    [
        ({}, False),
        ({"image": "j"}, True),
        ({"name": "d"}, True),
    ],
)
def test_significant_updates(now, significant):
    old = {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    new = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i", **now}]}}
    assert is_significant(new, old) is significant


def test_new_ephemeral_container_is_significant():
    old = {"metadata": {}, "spec": {"containers": [], "ephemeralContainers": [{"name": "a", "image": "i"}]}}
    more = {"metadata": {}, "spec": {"containers": [], "ephemeralContainers": [*old["spec"]["ephemeralContainers"]]}}
    assert not is_significant(more, old)
    more["spec"]["ephemeralContainers"].append({"name": "b", "image": "i"})
    assert is_significant(more, old)


def test_seccomp_annotation_is_significant():
    old = {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    name = "container.seccomp.security.alpha.kubernetes.io/c"
    assert is_significant({**old, "metadata": {"annotations": {name: "unconfined"}}}, old)


HEAD = {"apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration"}


def configured(**exemptions):
    message = {**HEAD, "defaults": {"enforce": "baseline", "warn": "restricted"}, "exemptions": exemptions}
    return Plugged(
        lambda stored: PodSecurity(
            namespaces=stored("namespaces").cache, pods=stored("pods").cache, configuration=message
        )
    )


async def test_configuration_sets_defaults_for_namespaces_without_labels():
    async with configured() as server:
        assert 'violates PodSecurity "baseline:latest"' in refusal(await server.pod(hostPID=True))
        pod = await server.pod()
        assert (pod.code, len(pod.warnings)) == (201, 1)
        await label(server, enforce="privileged", warn="privileged")
        assert (await server.pod("b", hostPID=True)).warnings == []


@pytest.mark.parametrize(
    "exemptions", [{"namespaces": ["default"]}, {"usernames": ["tester"]}, {"runtimeClasses": ["r"]}]
)
async def test_exempt_requests_are_allowed(exemptions):
    async with configured(**exemptions) as server:
        pod = await server.pod(hostPID=True, runtimeClassName="r")
        assert (pod.code, pod.warnings) == (201, [])
        assert metrics_of(server).exemptions == {("create", "pod", ""): 1}


async def test_labels_of_an_exempt_namespace_are_ignored():
    async with configured(namespaces=["default"]) as server:
        [warning] = (await label(server, enforce="restricted")).warnings
        assert warning == (
            'namespace "default" is exempt from Pod Security, and the policy'
            " (enforce=restricted:latest, warn=restricted:latest) will be ignored"
        )
        assert (await server.merge(NAMESPACE, {"metadata": {"labels": {"team": "a"}}})).warnings == []


@pytest.mark.parametrize(
    ("configuration", "fault"),
    [
        ({"defaults": {"enforce": "tight"}}, "defaults: 'tight' must be one of privileged, baseline, restricted"),
        ({"exemptions": {"usernames": "admin"}}, 'field "exemptions.usernames" must be a list'),
    ],
)
def test_invalid_configuration_is_rejected(configuration, fault):
    layout = Layout("Namespace", "v1")
    unread = WatchCache(None, "/registry/namespaces/", layout=layout, clock=FakeClock(), tasks=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=fault):
        PodSecurity(namespaces=unread, pods=unread, configuration={**HEAD, **configuration})


# -- bounded work ------------------------------------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize(("count", "is_in_worker"), [(1, False), (LARGE_BYTES // 20, True)])
async def test_large_pods_are_evaluated_in_a_worker(monkeypatch, count, is_in_worker):
    evaluate, threads = pod_security._violations_of, set()

    def recorded(*args, **kwargs):
        threads.add(threading.get_ident())
        return evaluate(*args, **kwargs)

    monkeypatch.setattr(pod_security, "_violations_of", recorded)
    async with secured() as server:
        await label(server, enforce="baseline")
        containers = [{"name": f"c{number}", "image": "i"} for number in range(count)]
        assert refusal(await server.pod(containers=containers, hostPID=True)) == (
            'violates PodSecurity "baseline:latest": host namespaces (hostPID=true)'
        )
        assert (threads == {threading.get_ident()}) is not is_in_worker


def test_pods_of_a_tightened_namespace_are_charged():
    pods = [{"metadata": {"name": f"p{number}"}, "spec": {"hostPID": True}} for number in range(20)]
    with metered(Allowance(1000)), pytest.raises(WorkLimitError):
        namespace_warnings("default", Standard("baseline"), pods)
