"""Chain of authorizers, and reloads of its configuration file."""

import json
from random import Random

import pytest
from tests.unit.review_webhook import review_webhook

from steersman.apiserver.authz.modes import AlwaysAllow, AlwaysDeny
from steersman.apiserver.authz.pending import with_decisions
from steersman.apiserver.request import RequestInfo, UserInfo
from steersman.asynckit.clock import RealClock
from steersman.controlplane.authorization.chain import AuthorizerChain
from steersman.controlplane.authorization.options import check_authorization
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.testing import InProcessAPIServer

ALICE = UserInfo("alice")
PODS = RequestInfo("list", "/api/v1/pods", True, "", "v1", resource="pods")
DENY = {"type": "AlwaysDeny", "name": "alwaysdeny"}
ALLOW = {"type": "AlwaysAllow", "name": "alwaysallow"}


def make(type_):
    return AlwaysAllow() if type_ == "AlwaysAllow" else AlwaysDeny()


def webhook(file, name="hook", **changes):
    settings = {
        "timeout": "10s",
        "subjectAccessReviewVersion": "v1",
        "failurePolicy": "Deny",
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(file)},
        **changes,
    }
    return {"type": "Webhook", "name": name, "webhook": settings}


def write(tmp_path, *authorizers):
    tree = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthorizationConfiguration",
        "authorizers": list(authorizers),
    }
    file = tmp_path / "authorization.yaml"
    file.write_text(json.dumps(tree))
    return file


def chain_of(**options):
    return AuthorizerChain(APIServerOptions(**options), make, clock=RealClock(), dice=Random(1))


async def decide(chain, user=ALICE, info=PODS):
    return await with_decisions(chain.authorizer.authorize, user, info)


def counts(chain):
    return {(counted.name, counted.mode): (counted.allowed, counted.denied) for counted in chain.counted}


async def test_authorizers_of_the_file_decide_in_its_order(tmp_path):
    async with review_webhook(tmp_path, lambda spec: {"denied": spec["user"] == "alice"}) as (hook, config):
        condition = {"expression": "request.user != 'bob'"}
        settings = {"matchConditionSubjectAccessReviewVersion": "v1", "matchConditions": [condition]}
        file = write(tmp_path, webhook(config, **settings), ALLOW)
        chain = chain_of(authorization_config=file)
        assert chain.waits
        assert not (await decide(chain)).allowed
        assert (await decide(chain, UserInfo("bob"))).allowed
        assert (await decide(chain, UserInfo("root", ("system:masters",)))).allowed
        assert [spec["user"] for spec in hook.specs] == ["alice"]
        assert counts(chain) == {("hook", "Webhook"): (0, 1), ("alwaysallow", "AlwaysAllow"): (1, 0)}
        await chain.close()


async def test_reload_replaces_the_chain_and_keeps_the_counts(tmp_path):
    file = write(tmp_path, ALLOW)
    chain = chain_of(authorization_config=file)
    assert (await decide(chain)).allowed
    async with review_webhook(tmp_path, lambda _: {"denied": True}) as (_, config):
        write(tmp_path, webhook(config), ALLOW)
        await chain.reload.poll()
        assert not (await decide(chain)).allowed
        assert chain.authorizer.rules_for(ALICE, "ns").incomplete
        write(tmp_path, DENY, ALLOW)
        await chain.reload.poll()
        assert (await decide(chain)).allowed
        assert counts(chain)[("alwaysallow", "AlwaysAllow")] == (2, 0)
        assert counts(chain)[("hook", "Webhook")] == (0, 1)
        families = {family.name: family.samples for family in await chain.reload.collect()}
        await chain.close()
    samples = families["apiserver_authorization_config_controller_automatic_reloads_total"]
    assert [(dict(labels)["status"], value) for _, labels, value in samples] == [("success", 3)]


@pytest.mark.parametrize("authorizers", [(), (DENY,), ({"type": "RBAC", "name": "rbac"}, ALLOW)])
async def test_invalid_reload_keeps_the_last_chain(tmp_path, authorizers):
    chain = chain_of(authorization_config=write(tmp_path, ALLOW))
    write(tmp_path, *authorizers)
    await chain.reload.poll()
    assert (await decide(chain)).allowed
    samples = next(iter(await chain.reload.collect())).samples
    assert [(dict(labels)["status"], value) for _, labels, value in samples] == [("failure", 1), ("success", 1)]
    await chain.close()


async def test_reload_with_a_malformed_kubeconfig_keeps_the_last_chain(tmp_path):
    chain = chain_of(authorization_config=write(tmp_path, ALLOW))
    (tmp_path / "broken").write_text("[")
    write(tmp_path, webhook(tmp_path / "broken"), ALLOW)
    await chain.reload.poll()
    assert (await decide(chain)).allowed
    await chain.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"authorization_mode": ("RBAC",)}, "can not be specified when --authorization-mode or"),
        ({"explicit_flags": ("authorization_mode",)}, "can not be specified when --authorization-mode or"),
        ({"authorization_webhook_version": "v1"}, "--authorization-webhook-[*] flags are defined"),
    ],
)
def test_file_excludes_the_flags_that_it_replaces(tmp_path, options, message):
    with pytest.raises(OptionError, match=message):
        check_authorization(APIServerOptions(authorization_config=write(tmp_path, ALLOW), **options))


def test_errors_of_the_file_name_it(tmp_path):
    file = write(tmp_path)
    with pytest.raises(OptionError, match=f"^--authorization-config: {file}: authorizers: Required value"):
        check_authorization(APIServerOptions(authorization_config=file))
    (tmp_path / "broken").write_text("[")
    write(tmp_path, webhook(tmp_path / "broken"))
    with pytest.raises(OptionError, match=f"^--authorization-config: .*{tmp_path / 'broken'}"):
        check_authorization(APIServerOptions(authorization_config=file))


def test_chain_without_webhooks_does_not_wait():
    assert not chain_of(authorization_mode=("AlwaysAllow",)).waits


async def test_server_reloads_the_file(tmp_path):
    (tmp_path / "tokens").write_text("t,alice,u1\n")
    file = write(tmp_path, DENY)
    options = APIServerOptions(ephemeral=True, authorization_config=file, token_auth_file=tmp_path / "tokens")
    async with InProcessAPIServer(options=options) as server:
        headers = {"authorization": "Bearer t"}
        assert (await server.anonymous().request("GET", "/api/v1/pods", headers=headers)).code == 403
        write(tmp_path, DENY, ALLOW)
        await server.core._authorization.chain.reload.poll()
        assert (await server.anonymous().request("GET", "/api/v1/pods", headers=headers)).code == 200
        text = (await server.request("GET", "/metrics")).body.decode()
    assert "\napiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds{" in text


async def test_policies_decide_in_a_server(tmp_path):
    (tmp_path / "tokens").write_text("t,alice,u1\n")
    (tmp_path / "policies").write_text('{"user":"alice","resource":"pods","readonly":true}\n')
    file = write(tmp_path, {"type": "ABAC", "name": "abac"})
    options = APIServerOptions(
        ephemeral=True,
        authorization_config=file,
        authorization_policy_file=tmp_path / "policies",
        token_auth_file=tmp_path / "tokens",
    )
    async with InProcessAPIServer(options=options) as server:
        headers = {"authorization": "Bearer t"}
        codes = [
            (await server.anonymous().request(method, path, headers=headers)).code
            for method, path in (
                ("GET", "/api/v1/pods"),
                ("DELETE", "/api/v1/namespaces/a/pods/b"),
                ("GET", "/version"),
            )
        ]
    assert codes == [200, 403, 403]
