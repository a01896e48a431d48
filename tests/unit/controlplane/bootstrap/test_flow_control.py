"""Priority levels and flow schemas of every cluster."""

import json

from steersman.controlplane.bootstrap.flow_control import bootstrap_flow_control, flow_schemas, priority_levels
from steersman.testing import InProcessAPIServer

API = "/apis/flowcontrol.apiserver.k8s.io/v1"


def test_default_flow_schemas_refer_to_existing_levels():
    levels = {tree["metadata"]["name"] for tree in priority_levels()}
    assert {tree["spec"]["priorityLevelConfiguration"]["name"] for tree in flow_schemas()} <= levels


async def test_changed_spec_is_repaired_unless_annotated():
    async with InProcessAPIServer() as server:
        for name, keep in (("system", "true"), ("workload-low", "false")):
            path = f"{API}/prioritylevelconfigurations/{name}"
            tree = (await server.request("GET", path)).json()
            tree["spec"]["limited"]["nominalConcurrencyShares"] = 7
            tree["metadata"]["annotations"]["apf.kubernetes.io/autoupdate-spec"] = keep
            assert (await server.request("PUT", path, body=json.dumps(tree).encode())).code == 200
        await bootstrap_flow_control(server.core.client)
        shares = {}
        for name in ("system", "workload-low"):
            tree = (await server.request("GET", f"{API}/prioritylevelconfigurations/{name}")).json()
            shares[name] = tree["spec"]["limited"]["nominalConcurrencyShares"]
        assert shares == {"system": 30, "workload-low": 7}
        before = server.store.revision
        await bootstrap_flow_control(server.core.client)
        assert server.store.revision == before
