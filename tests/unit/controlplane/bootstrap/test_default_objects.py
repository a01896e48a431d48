"""Default objects of a cluster, and the post-start hooks that create them."""

import pytest

from steersman.controlplane.bootstrap.default_objects import NAMESPACES_HOOK, SERVICE_CIDR_HOOK
from steersman.controlplane.bootstrap.post_start_hooks import PostStartHooks
from steersman.controlplane.options import APIServerOptions
from steersman.testing import InProcessAPIServer

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view"
FLOW_SCHEMA = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/service-accounts"
CIDR = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
ACCOUNT = "/api/v1/namespaces/kube-system/serviceaccounts/default"


def hooks_of(server):
    hooks = PostStartHooks()
    server.core.defaults.add_hooks(hooks)
    return hooks


async def test_hooks_have_the_names_of_upstream(server):
    assert [check.name.removeprefix("poststarthook/") for check in hooks_of(server).checks] == [
        NAMESPACES_HOOK,
        "rbac/bootstrap-roles",
        "scheduling/bootstrap-system-priority-classes",
        "priority-and-fairness-config-producer",
        SERVICE_CIDR_HOOK,
    ]


@pytest.mark.parametrize("path", [ROLE, FLOW_SCHEMA])
async def test_reconcile_recreates_a_deleted_object(server, path):
    assert (await server.request("DELETE", path)).code == 200
    assert (await server.request("GET", path)).code == 404
    await server.core.defaults.reconcile()
    assert (await server.request("GET", path)).code == 200


async def test_roles_are_not_created_without_rbac():
    async with InProcessAPIServer(options=APIServerOptions(authorization_mode=("AlwaysAllow",))) as server:
        assert (await server.request("GET", ROLE)).code == 404


async def test_service_cidr_has_the_ranges_of_the_flag():
    options = APIServerOptions(service_cluster_ip_range="10.1.0.0/24, fd00::/112")
    async with InProcessAPIServer(options=options) as dual_stack:
        answer = await dual_stack.request("GET", CIDR)
    assert answer.json()["spec"]["cidrs"] == ["10.1.0.0/24", "fd00::/112"]


async def test_namespaces_hook_creates_service_accounts_only_when_enabled(server):
    assert (await server.request("GET", ACCOUNT)).code == 404
    server.core.defaults.makes_service_accounts = True
    await hooks_of(server).run()
    assert (await server.request("GET", ACCOUNT)).code == 200
