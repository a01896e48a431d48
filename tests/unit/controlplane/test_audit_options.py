"""The audit log of a whole server."""

import asyncio
import json

import pytest

from steersman.asynckit.clock import RealClock
from steersman.controlplane.audit_options import make_auditor
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.testing import InProcessAPIServer

POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: None
  users: [system:apiserver]
  verbs: [list]
- {level: RequestResponse, resources: [{resources: [configmaps]}]}
- {level: Metadata}
"""


def recording(directory, policy: str = POLICY, **more) -> APIServerOptions:
    file = directory / "policy.yaml"
    file.write_text(policy)
    log = {"audit_log_path": str(directory / "audit.log"), **more}
    return APIServerOptions(ephemeral=True, audit_policy_file=file, **log)


def events(directory) -> list[dict]:
    return [json.loads(line) for line in (directory / "audit.log").read_text().splitlines()]


async def test_blocking_mode_logs_before_the_response(tmp_path):
    async with InProcessAPIServer(options=recording(tmp_path)) as server:
        body = json.dumps({"metadata": {"name": "a"}, "data": {"k": "v"}}).encode()
        response = await server.request("POST", "/api/v1/namespaces/default/configmaps", body=body)
        recorded = [event for event in events(tmp_path) if event["auditID"] == response.header("audit-id")]
        assert [item["stage"] for item in recorded] == ["RequestReceived", "ResponseComplete"]
        last = recorded[1]
        assert last["requestObject"]["data"] == last["responseObject"]["data"] == {"k": "v"}
        assert last["objectRef"]["name"] == "a"
        assert last["annotations"] == {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""}
        metrics = (await server.request("GET", "/metrics")).body.decode()
        assert 'apiserver_audit_level_total{level="RequestResponse"} 1' in metrics


async def test_strangers_and_refusals_are_recorded(tmp_path):
    async with InProcessAPIServer(options=recording(tmp_path)) as server:
        anonymous = server.anonymous()
        unknown = await anonymous.request("GET", "/version", headers={"authorization": "Bearer s3cret"})
        refused = await anonymous.request("GET", "/api/v1/secrets")
        assert (unknown.code, refused.code) == (401, 403)
        by_id = {event["auditID"]: event for event in events(tmp_path)}
        assert by_id[unknown.header("audit-id")]["responseStatus"]["code"] == 401
        assert by_id[refused.header("audit-id")]["annotations"]["authorization.k8s.io/decision"] == "forbid"
        assert "s3cret" not in (tmp_path / "audit.log").read_text()


async def test_watch_is_logged_as_complete_when_the_client_disconnects(tmp_path):
    options = recording(tmp_path)
    async with InProcessAPIServer(options=options) as server, server.open("GET", "/api/v1/pods?watch=1") as watch:
        stages = [event["stage"] for event in events(tmp_path) if event["verb"] == "watch"]
        assert (watch.code, stages) == (200, ["RequestReceived", "ResponseStarted"])
    assert [event["stage"] for event in events(tmp_path) if event["verb"] == "watch"][2:] == ["ResponseComplete"]


async def test_batch_mode_flushes_at_stop(tmp_path):
    options = recording(tmp_path, audit_log_mode="batch", audit_log_batch_max_size=100)
    async with InProcessAPIServer(options=options) as server:
        answers = await asyncio.gather(*(server.request("GET", "/version") for _ in range(50)))
    ids = [event["auditID"] for event in events(tmp_path)]
    assert all(ids.count(answer.header("audit-id")) == 2 for answer in answers)


@pytest.mark.parametrize(
    ("policy", "more", "message"),
    [
        ("kind: Policy", {}, "policy.yaml: kind"),
        (POLICY, {"audit_log_path": "/dev/null/x"}, "--audit-log-path"),
    ],
)
def test_invalid_audit_options_are_rejected_at_start(tmp_path, policy, more, message):
    with pytest.raises(OptionError, match=message):
        make_auditor(recording(tmp_path, policy, **more), clock=RealClock())


def test_missing_policy_file_is_reported(tmp_path):
    options = APIServerOptions(audit_policy_file=tmp_path / "none", audit_log_path="-")
    with pytest.raises(OptionError, match="--audit-policy-file"):
        make_auditor(options, clock=RealClock())


def test_log_without_policy_records_nothing():
    assert make_auditor(APIServerOptions(audit_log_path="-"), clock=RealClock()) is None
    assert make_auditor(APIServerOptions(), clock=RealClock()) is None


async def test_events_are_written_to_standard_output_and_a_webhook(tmp_path):
    config = tmp_path / "webhook.kubeconfig"
    cluster, context = {"server": "https://127.0.0.1:1/"}, {"cluster": "c", "user": "u"}
    config.write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "x", "context": context}],
                "current-context": "x",
            }
        )
    )
    options = recording(
        tmp_path,
        audit_log_path="-",
        audit_log_batch_throttle_enable=True,
        audit_log_truncate_enabled=True,
        audit_webhook_config_file=config,
    )
    auditor = make_auditor(options, clock=RealClock())
    assert auditor is not None
    assert [sink.name for sink in auditor.sinks] == ["webhook", "log"]
    auditor.start()
    await auditor.close()


async def test_pod_security_violations_are_annotated(tmp_path):
    options = recording(tmp_path, disable_admission_plugins=("ServiceAccount",))
    async with InProcessAPIServer(options=options) as server:
        labels = {"pod-security.kubernetes.io/audit": "baseline", "pod-security.kubernetes.io/enforce": "privileged"}
        namespace = json.dumps({"metadata": {"name": "n", "labels": labels}}).encode()
        assert (await server.request("POST", "/api/v1/namespaces", body=namespace)).code == 201
        spec = {"hostPID": True, "containers": [{"name": "c", "image": "i"}]}
        pod = json.dumps({"metadata": {"name": "p"}, "spec": spec}).encode()
        response = await server.request("POST", "/api/v1/namespaces/n/pods", body=pod)
        plain = await server.request("POST", "/api/v1/namespaces/default/pods", body=pod)
    notes = {event["auditID"]: event.get("annotations", {}) for event in events(tmp_path)}
    annotations = {
        name: text for name, text in notes[response.header("audit-id")].items() if name.startswith("pod-security")
    }
    assert annotations == {
        "pod-security.kubernetes.io/enforce-policy": "privileged:latest",
        "pod-security.kubernetes.io/audit-violations": (
            'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)'
        ),
    }
    assert notes[plain.header("audit-id")]["pod-security.kubernetes.io/enforce-policy"] == "privileged:latest"


async def test_created_token_is_logged_by_id_only(tmp_path):
    async with InProcessAPIServer(options=recording(tmp_path)) as server:
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        await server.request("POST", accounts, body=b'{"metadata":{"name":"robot"}}')
        response = await server.request("POST", f"{accounts}/robot/token", body=b'{"spec":{}}')
        used = await server.anonymous().request(
            "GET", "/version", headers={"authorization": f"Bearer {response.json()['status']['token']}"}
        )
    recorded = {event["auditID"]: event for event in events(tmp_path)}
    issued = recorded[response.header("audit-id")]["annotations"]["authentication.kubernetes.io/issued-credential-id"]
    user = recorded[used.header("audit-id")]["user"]
    assert user["extra"]["authentication.kubernetes.io/credential-id"] == [issued]
    assert response.json()["status"]["token"] not in (tmp_path / "audit.log").read_text()


async def test_deprecated_api_use_is_annotated(tmp_path):
    async with InProcessAPIServer(options=recording(tmp_path)) as server:
        answer = await server.request("GET", "/api/v1/namespaces/default/endpoints/none")
    last = [event for event in events(tmp_path) if event["auditID"] == answer.header("audit-id")][-1]
    assert last["annotations"]["k8s.io/deprecated"] == "true"


async def test_impersonation_is_logged_with_its_authorization(tmp_path):
    async with InProcessAPIServer(options=recording(tmp_path)) as server:
        answer = await server.request("GET", "/version", headers={"impersonate-user": "alice"})
    first, last = (event for event in events(tmp_path) if event["auditID"] == answer.header("audit-id"))
    assert "impersonatedUser" not in first
    assert (last["user"]["username"], last["impersonatedUser"]["username"]) == ("system:apiserver", "alice")
    assert last["authenticationMetadata"] == {"impersonationConstraint": "impersonate:user-info"}
