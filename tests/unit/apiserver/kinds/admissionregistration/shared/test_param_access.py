"""Authorization of writers of policies with parameters."""

from steersman.apiserver.authz.interface import ALLOW, NO_OPINION, Decision
from steersman.apiserver.kinds.admissionregistration.shared.param_access import ParamAccess
from steersman.apiserver.request import RequestInfo, UserInfo

ALICE = UserInfo("alice")
KIND = {"apiVersion": "v1", "kind": "ConfigMap"}


class Recorder:
    """Authorizer that allows the given requests and records all."""

    def __init__(self, *allowed: tuple[str, str]) -> None:
        self.allowed = allowed
        self.requests: list[RequestInfo] = []

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        self.requests.append(info)
        return ALLOW if (info.verb, info.resource) in self.allowed else NO_OPINION


def access(recorder: Recorder, kind: dict | None = KIND) -> ParamAccess:
    return ParamAccess(recorder, lambda _, kind: {"ConfigMap": "configmaps"}.get(kind, ""), lambda _: kind)


def policy(kind: dict | None) -> dict:
    return {"spec": {"paramKind": kind} if kind else {}}


def binding(**reference: object) -> dict:
    return {"spec": {"policyName": "p", "paramRef": reference}}


def test_check_policy_requires_get_on_all_objects_of_param_kind():
    assert list(access(Recorder(("get", "configmaps"))).check_policy(ALICE, policy(KIND), None)) == []
    recorder = Recorder()
    (error,) = access(recorder).check_policy(ALICE, policy(KIND), None)
    assert error.field == "spec.paramKind"
    assert error.detail == (
        'user "alice" must have "get" permission on all objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)'
    )
    assert (recorder.requests[0].name, recorder.requests[0].namespace) == ("*", "*")


def test_check_policy_skips_unchanged_param_kind():
    recorder = Recorder()
    assert list(access(recorder).check_policy(ALICE, policy(None), None)) == []
    assert list(access(recorder).check_policy(ALICE, policy(KIND), policy(KIND))) == []
    assert list(access(recorder).check_binding(ALICE, {"spec": {"policyName": "p"}}, None)) == []
    assert list(access(recorder).check_binding(ALICE, binding(name="a"), binding(name="a"))) == []
    assert recorder.requests == []


def test_check_policy_checks_all_resources_when_param_kind_is_not_served():
    recorder = Recorder()
    assert len(list(access(recorder).check_policy(ALICE, policy({"apiVersion": "a.b/v1", "kind": "X"}), None))) == 1
    assert (recorder.requests[0].group, recorder.requests[0].version, recorder.requests[0].resource) == (
        "a.b",
        "v1",
        "*",
    )
    assert len(list(access(recorder, None).check_binding(ALICE, binding(name="a"), None))) == 1
    assert (recorder.requests[1].group, recorder.requests[1].resource) == ("*", "*")


def test_check_binding_requires_get_or_list_on_params():
    recorder = Recorder(("get", "configmaps"))
    assert list(access(recorder).check_binding(ALICE, binding(name="a", namespace="n"), None)) == []
    assert (recorder.requests[0].name, recorder.requests[0].namespace) == ("a", "n")
    (error,) = access(recorder).check_binding(ALICE, binding(selector={}), binding(name="a"))
    assert error.field == "spec.paramRef"
    assert 'does not have "list" permission on the object referenced by paramRef' in error.detail
