from __future__ import annotations

import random
import threading

import pytest
from tests.unit.apiserver.admission.plugged import Plugged, refusal
from tests.unit.apiserver.writing import PODS, STRATEGIC_PATCH

from steersman.apiserver.admission.service_account import (
    ENFORCE_ANNOTATION,
    MIRROR_ANNOTATION,
    TOKEN_PATH,
    ServiceAccount,
)
from steersman.apiserver.workers import LARGE_BYTES

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def with_accounts():
    return Plugged(lambda stored: ServiceAccount(stored("serviceaccounts").cache, dice=random.Random(1)))


async def account(server, name="default", metadata=None, **parts):
    await server.make(ACCOUNTS, metadata={"name": name, **(metadata or {})}, **parts)


async def test_pod_gets_the_default_account_and_its_token():
    async with with_accounts() as server:
        await account(server)
        spec = (await server.pod(initContainers=[{"name": "i", "image": "i"}])).body["spec"]
        assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
        (volume,) = spec["volumes"]
        assert volume["name"].startswith("kube-api-access-")
        assert len(volume["name"]) == len("kube-api-access-") + 5
        sources = volume["projected"]["sources"]
        assert [next(iter(source)) for source in sources] == ["serviceAccountToken", "configMap", "downwardAPI"]
        assert sources[0] == {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
        mount = {"name": volume["name"], "readOnly": True, "mountPath": TOKEN_PATH}
        assert [c["volumeMounts"] for c in spec["containers"] + spec["initContainers"]] == [[mount], [mount]]


async def test_missing_account_is_rejected():
    async with with_accounts() as server:
        assert refusal(await server.pod(serviceAccountName="none")) == (
            'error looking up service account default/none: serviceaccount "none" not found'
        )


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounted"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
async def test_token_mount_can_be_disabled_by_pod_or_account(of_account, of_pod, mounted):
    async with with_accounts() as server:
        await account(server, **({} if of_account is None else {"automountServiceAccountToken": of_account}))
        fields = {} if of_pod is None else {"automountServiceAccountToken": of_pod}
        assert ("volumes" in (await server.pod(**fields)).body["spec"]) is mounted


async def test_existing_mount_at_the_token_path_is_kept():
    async with with_accounts() as server:
        await account(server)
        own = {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": TOKEN_PATH}]}
        spec = (await server.pod(containers=[own], volumes=[{"name": "v", "emptyDir": {}}])).body["spec"]
        assert [volume["name"] for volume in spec["volumes"]] == ["v"]


async def test_pull_secrets_default_to_those_of_the_account():
    async with with_accounts() as server:
        await account(server, imagePullSecrets=[{"name": "s"}])
        assert (await server.pod()).body["spec"]["imagePullSecrets"] == [{"name": "s"}]
        spec = (await server.pod("b", imagePullSecrets=[{"name": "t"}])).body["spec"]
        assert spec["imagePullSecrets"] == [{"name": "t"}]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"serviceAccountName": "default"}, "a mirror pod may not reference service accounts"),
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            "a mirror pod may not reference secrets",
        ),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ],
)
async def test_mirror_pod_cannot_use_accounts_or_secrets(fields, text):
    async with with_accounts() as server:
        metadata = {"annotations": {MIRROR_ANNOTATION: "x"}}
        assert refusal(await server.pod(metadata=metadata, nodeName="n", **fields)) == text
        assert (await server.pod(metadata=metadata, nodeName="n")).code == 201


ENDING = "is not allowed because service account default does not reference that"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"volumes": [{"name": "v", "secret": {"secretName": "no"}}]}, 'volume with secret.secretName="no" {} secret'),
        (
            {
                "containers": [
                    {
                        "name": "c",
                        "image": "i",
                        "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "no", "key": "k"}}}],
                    }
                ]
            },
            'container c with envVar E referencing secret.secretName="no" {} secret',
        ),
        (
            {"initContainers": [{"name": "i", "image": "i", "envFrom": [{"secretRef": {"name": "no"}}]}]},
            'init container i with envFrom referencing secret.secretName="no" {} secret',
        ),
        ({"imagePullSecrets": [{"name": "no"}]}, 'imagePullSecrets[0].name="no" {} imagePullSecret'),
    ],
)
async def test_account_enforces_mountable_secrets(fields, text):
    async with with_accounts() as server:
        await account(server, metadata={"annotations": {ENFORCE_ANNOTATION: "true"}}, secrets=[{"name": "ok"}])
        assert refusal(await server.pod(**fields)) == text.format(ENDING)
        assert (await server.pod("b", volumes=[{"name": "v", "secret": {"secretName": "ok"}}])).code == 201


async def test_account_enforces_mountable_secrets_of_ephemeral_containers():
    async with with_accounts() as server:
        await account(server, metadata={"annotations": {ENFORCE_ANNOTATION: "true"}})
        await server.pod()
        change = {
            "spec": {"ephemeralContainers": [{"name": "e", "image": "i", "envFrom": [{"secretRef": {"name": "no"}}]}]}
        }
        answer = await server.call("PATCH", f"{PODS}/a/ephemeralcontainers", change, media_type=STRATEGIC_PATCH)
        assert (
            refusal(answer) == f'ephemeral container e with envFrom referencing secret.secretName="no" {ENDING} secret'
        )


class ThreadRecorder(random.Random):
    """Dice that record the threads which roll them."""

    def __init__(self):
        super().__init__(1)
        self.threads = set()

    def choices(self, *args, **kwargs):
        self.threads.add(threading.get_ident())
        return super().choices(*args, **kwargs)


@pytest.mark.parametrize(("count", "is_in_worker"), [(1, False), (LARGE_BYTES // 20, True)])
async def test_large_pods_get_their_token_in_a_worker(count, is_in_worker):
    dice = ThreadRecorder()
    async with Plugged(lambda stored: ServiceAccount(stored("serviceaccounts").cache, dice=dice)) as server:
        await account(server)
        containers = [{"name": f"c{number}", "image": "i"} for number in range(count)]
        spec = (await server.pod(containers=containers)).body["spec"]
        assert all(container["volumeMounts"][0]["mountPath"] == TOKEN_PATH for container in spec["containers"])
        assert ({threading.get_ident()} == dice.threads) is not is_in_worker
