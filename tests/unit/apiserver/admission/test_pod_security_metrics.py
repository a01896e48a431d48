"""Counters of Pod Security."""

from tests.unit.apiserver.admission.test_pod_security import label, metrics_of, secured
from tests.unit.apiserver.writing import DEPLOYMENTS, deployment


async def test_writes_in_privileged_namespaces_are_counted():
    async with secured() as server:
        await server.pod(hostPID=True)
        allowed = ("allow", "enforce", "privileged", "latest", "create", "pod", "")
        assert metrics_of(server).evaluations == {allowed: 1}


async def test_evaluations_are_counted_by_mode_standard_and_write():
    async with secured() as server:
        await label(server, enforce="baseline", enforce_version="v1.22", audit="restricted", warn="restricted")
        await label(server, warn_version="v1.99")
        assert (await server.pod(hostPID=True)).code == 403
        assert (await server.pod()).code == 201
        template = {"metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        await server.call("POST", DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": deployment(template=template)})
        assert metrics_of(server).evaluations == {
            ("deny", "enforce", "baseline", "v1.22", "create", "pod", ""): 1,
            ("allow", "enforce", "baseline", "v1.22", "create", "pod", ""): 1,
            ("deny", "audit", "restricted", "latest", "create", "pod", ""): 2,
            ("deny", "warn", "restricted", "future", "create", "pod", ""): 1,
            ("deny", "audit", "restricted", "latest", "create", "controller", ""): 1,
            ("deny", "warn", "restricted", "future", "create", "controller", ""): 1,
        }
