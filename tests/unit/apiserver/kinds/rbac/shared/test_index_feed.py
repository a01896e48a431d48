"""Feed of the RBAC index, in step with responses to writes."""

import json

from steersman.apiserver.server.loopback import Loopback

GROUP = "rbac.authorization.k8s.io"
ROLES = f"/apis/{GROUP}/v1/namespaces/default/roles"
BINDINGS = f"/apis/{GROUP}/v1/namespaces/default/rolebindings"


async def test_authorization_follows_write_when_response_arrives(server):
    alice = Loopback(server.core.app, headers={**server.core.client._headers, "impersonate-user": "alice"})
    rule = {"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]}
    role = json.dumps({"metadata": {"name": "r"}, "rules": [rule]}).encode()
    subject = {"kind": "User", "name": "alice"}
    tree = {"metadata": {"name": "r"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": [subject]}
    binding = json.dumps(tree).encode()
    codes = []
    for method, path, body in (
        ("POST", ROLES, role),
        ("POST", BINDINGS, binding),
        ("DELETE", f"{ROLES}/r", None),
        ("POST", ROLES, role),
        ("DELETE", f"{BINDINGS}/r", None),
    ):
        assert (await server.request(method, path, body=body)).code < 300
        codes.append((await alice.request("GET", "/api/v1/namespaces/default/configmaps")).code)
    assert codes == [403, 200, 403, 200, 403]
    assert (await alice.request("GET", "/api/v1/namespaces/kube-system/configmaps")).code == 403
