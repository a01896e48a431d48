"""Access with kubectl: reviews, impersonation, tokens, signing requests, roles."""

import base64
import json

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

AS_ANN = "--as=ann"


@pytest.fixture
def reader(kubectl):
    """kubectl; ``ann`` may read config maps in its namespace."""
    kubectl.run("create", "role", "reader", "--verb=get,list", "--resource=configmaps")
    kubectl.run("create", "rolebinding", "reader", "--role=reader", "--user=ann")
    return kubectl


@pytest.fixture
def robot(kubectl):
    """kubectl; the service account ``robot`` may make config maps in its namespace."""
    kubectl.run("create", "serviceaccount", "robot")
    kubectl.run("create", "role", "maker", "--verb=create,get", "--resource=configmaps")
    kubectl.run("create", "rolebinding", "maker", "--role=maker", f"--serviceaccount={kubectl.namespace}:robot")
    return kubectl


def bearer(kubectl, token, *arguments, code=0):
    """Run kubectl with a token and no other credentials."""
    cluster = kubectl.cluster
    connection = [f"--server={cluster.url}", f"--certificate-authority={cluster.ca}", f"--token={token}"]
    return kubectl.run(*connection, *arguments, code=code, KUBECONFIG="/dev/null")


def test_whoami_of_an_administrator(admin):
    user_info = json.loads(admin.run("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert "system:masters" in user_info["groups"]


def test_can_i_of_an_administrator_allows_everything(admin):
    assert admin.run("auth", "can-i", "*", "*").strip() == "yes"
    rows = [line.split() for line in admin.run("auth", "can-i", "--list").splitlines()]
    assert ["*.*", "[]", "[]", "[*]"] in rows
    assert ["[*]", "[]", "[*]"] in rows


@pytest.mark.parametrize(
    ("question", "answer", "code"),
    [
        (["get", "configmaps"], "yes", 0),
        (["list", "cm"], "yes", 0),
        (["get", "configmaps/any"], "yes", 0),
        (["delete", "configmaps"], "no", 1),
        (["get", "secrets"], "no", 1),
        (["get", "pods", "--subresource=log"], "no", 1),
        (["get", "/healthz"], "yes", 0),
        (["get", "/metrics"], "no", 1),
        (["get", "configmaps", "--all-namespaces"], "no", 1),
    ],
)
def test_can_i_of_users_follows_their_roles(reader, question, answer, code):
    assert answer in reader.run("auth", "can-i", *question, AS_ANN, code=code).split()


def test_can_i_list_prints_permissions(reader):
    rows = [line.split() for line in reader.run("auth", "can-i", "--list", AS_ANN).splitlines()]
    assert ["configmaps", "[]", "[]", "[get", "list]"] in rows
    assert ["selfsubjectreviews.authentication.k8s.io", "[]", "[]", "[create]"] in rows
    assert ["[/version]", "[]", "[get]"] in rows


def test_impersonation_of_user_groups_and_uid(reader):
    text = reader.run(
        "auth",
        "whoami",
        "-o",
        "json",
        AS_ANN,
        "--as-group=devs",
        "--as-group=ops",
        "--as-uid=u-1",
    )
    user_info = json.loads(text)["status"]["userInfo"]
    assert user_info == {
        "username": "ann",
        "uid": "u-1",
        "groups": ["devs", "ops", "system:authenticated"],
    }


def test_impersonated_user_has_its_own_permissions_only(reader):
    reader.run("create", "configmap", "a")
    assert reader.run("get", "cm", "a", "-o", "name", AS_ANN) == "configmap/a\n"
    refused = reader.run("delete", "cm", "a", AS_ANN, code=1)
    assert 'configmaps "a" is forbidden: User "ann" cannot delete resource "configmaps" in API group ""' in refused


def test_impersonation_requires_permission(reader):
    token = reader.run("create", "token", "default")
    refused = bearer(reader, token, "get", "cm", AS_ANN, code=1)
    assert "cannot impersonate" in refused


def test_token_authenticates_as_its_service_account(robot):
    token = robot.run("create", "token", "robot").strip()
    user_info = json.loads(bearer(robot, token, "auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert user_info["username"] == f"system:serviceaccount:{robot.namespace}:robot"
    bearer(robot, token, "create", "configmap", "made")
    assert "is forbidden" in bearer(robot, token, "delete", "configmap", "made", code=1)


def test_token_has_duration_and_audience(robot):
    options = ("--duration=20m", "--audience=https://elsewhere.example.com", "-o", "json")
    parsed = json.loads(robot.run("create", "token", "robot", *options))
    claims = json.loads(base64.urlsafe_b64decode(parsed["status"]["token"].split(".")[1] + "=="))
    assert claims["aud"] == ["https://elsewhere.example.com"]
    assert claims["exp"] - claims["iat"] == 20 * 60
    assert "Unauthorized" in bearer(robot, parsed["status"]["token"], "auth", "whoami", code=1)


def test_bound_token_ends_with_its_object(robot):
    robot.run("create", "secret", "generic", "holder")
    token = robot.run("create", "token", "robot", "--bound-object-kind=Secret", "--bound-object-name=holder").strip()
    bearer(robot, token, "auth", "whoami")
    robot.run("delete", "secret", "holder")
    assert "Unauthorized" in bearer(robot, token, "auth", "whoami", code=1)


def signing_request(name):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ann")])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return yaml.safe_dump(
        {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": name},
            "spec": {
                "signerName": "kubernetes.io/kube-apiserver-client",
                "usages": ["client auth"],
                "request": base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode(),
            },
        }
    )


@pytest.mark.parametrize(
    ("verb", "condition", "other"), [("approve", "Approved", "deny"), ("deny", "Denied", "approve")]
)
def test_certificate_signing_request_is_decided_once(kubectl, verb, condition, other):
    name = f"{verb}-{kubectl.namespace}"
    kubectl.run("create", "-f", "-", stdin=signing_request(name))
    assert kubectl.run("certificate", verb, name).split()[-1] == {"approve": "approved", "deny": "denied"}[verb]
    shown = kubectl.run("get", "csr", name)
    assert shown.splitlines()[1].split()[-1] == condition
    assert f"is already {condition}" in kubectl.run("certificate", other, name, code=1)
    kubectl.run("delete", "csr", name)


def test_certificate_approval_requires_permission_for_the_signer(kubectl):
    name = f"pending-{kubectl.namespace}"
    kubectl.run("create", "-f", "-", stdin=signing_request(name))
    role = ("create", "clusterrole", name, "--verb=get,update", "--resource=certificatesigningrequests/approval")
    kubectl.run(*role, "--resource=certificatesigningrequests")
    kubectl.run("create", "clusterrolebinding", name, f"--clusterrole={name}", "--user=bob")
    refused = kubectl.run("certificate", "approve", name, "--as=bob", code=1)
    assert 'user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client"' in refused
    kubectl.run("delete", f"clusterrole/{name}", f"clusterrolebinding/{name}", f"csr/{name}")


ROLES = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: kept, namespace: NAMESPACE}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: kept, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kept}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
"""


def test_auth_reconcile_adds_missing_rules(kubectl):
    kubectl.run("create", "role", "kept", "--verb=list", "--resource=pods")
    roles = ROLES.replace("NAMESPACE", kubectl.namespace)
    done = kubectl.run("auth", "reconcile", "-f", "-", stdin=roles)
    assert "role.rbac.authorization.k8s.io/kept reconciled" in done
    rules = kubectl.get("role", "kept")["rules"]
    assert [sorted(rule["verbs"]) for rule in rules] == [["list"], ["get"]]
    assert kubectl.get("rolebinding", "kept")["subjects"][0]["name"] == "ann"
    kubectl.run("auth", "reconcile", "-f", "-", "--remove-extra-permissions", stdin=roles)
    assert [rule["verbs"] for rule in kubectl.get("role", "kept")["rules"]] == [["get"]]


def test_create_role_rejects_escalation(reader):
    reader.run("create", "role", "granter", "--verb=create", "--resource=roles")
    reader.run("create", "rolebinding", "granter", "--role=granter", "--user=ann")
    refused = reader.run("create", "role", "more", "--verb=get", "--resource=secrets", AS_ANN, code=1)
    assert "is attempting to grant RBAC permissions not currently held" in refused
    reader.run("create", "role", "less", "--verb=get", "--resource=configmaps", AS_ANN)


def test_zpages_are_for_monitoring_only(admin):
    assert "kube-apiserver statusz" in admin.run("get", "--raw", "/statusz")
    flags = admin.run("get", "--raw", "/flagz")
    assert "\nbind-address=127.0.0.1\n" in flags
    assert "\nauthorization-mode=" in flags
    refused = admin.run("get", "--raw", "/flagz", "--as=somebody", code=1)
    assert 'forbidden: User "somebody" cannot get path "/flagz"' in refused
    monitoring = ("--as=monitor", "--as-group=system:monitoring")
    assert "kube-apiserver flagz" in admin.run("get", "--raw", "/flagz", *monitoring)
