from datetime import timedelta

import msgspec
import pytest
from lightkube.models.core_v1 import Namespace

from steersman.apiserver.crd.strategy import CustomResourceStrategy
from steersman.asynckit.certificates import make_ca
from steersman.client import Client
from steersman.controllers.context import ControllerContext
from steersman.controllers.options import ControllerOptions
from steersman.controllers.rootca import trust_bundles
from steersman.controllers.rootca.controller import build
from steersman.controllers.rootca.plan import (
    NAME,
    SIGNER,
    Bundles,
    accepts_config_map,
    bundle_name,
    corrected,
    new_config_map,
    plan_bundles,
)


@pytest.mark.parametrize(("phase", "takes"), [("Active", True), ("Terminating", False)])
def test_terminating_namespace_gets_no_config_map(phase, takes):
    assert accepts_config_map(msgspec.convert({"status": {"phase": phase}}, Namespace)) is takes


def test_corrected_returns_none_when_up_to_date():
    assert corrected(new_config_map("n", "PEM"), "PEM") is None


def test_corrected_removes_other_keys_and_keeps_annotations():
    present = new_config_map("n", "PEM")
    present.data = {"ca.crt": "old", "more": "x"}
    present.metadata.annotations = {"mine": "kept"}
    new = corrected(present, "PEM")
    assert new.data == {"ca.crt": "PEM"}
    assert new.metadata.annotations["mine"] == "kept"
    assert "kubernetes.io/description" in new.metadata.annotations


async def test_root_ca_is_published_and_repaired(cluster, tmp_path):
    file = tmp_path / "ca.crt"
    file.write_text("PEM")
    controller = await cluster.start(build, root_ca_file=str(file))
    published = await cluster.eventually("v1", "ConfigMap", NAME, bool, namespace="default")
    await cluster.client.update({**published, "data": {"ca.crt": "wrong"}})
    await cluster.eventually("v1", "ConfigMap", NAME, lambda obj: obj["data"] == {"ca.crt": "PEM"}, namespace="default")
    await cluster.client.delete_object(published)
    await cluster.eventually("v1", "ConfigMap", NAME, bool, namespace="default")
    assert cluster.sample(controller, "root_ca_cert_publisher_sync_total", {"code": "200"}) >= 3


@pytest.mark.parametrize("published", [True, False])
async def test_root_ca_defaults_to_the_client_ca(cluster, monkeypatch, published):
    trusted = make_ca("ca", now=cluster.clock.now(), life=timedelta(days=1)).certificate if published else None
    monkeypatch.setattr(Client, "trusted_ca", trusted)
    context = ControllerContext(cluster.client, name="test", options=ControllerOptions())
    assert (trust_bundles.build(context) is not None) is published


@pytest.mark.parametrize("trusted", [b"PEM", None])
async def test_config_map_without_a_file_has_the_authority_of_the_client_or_none(cluster, monkeypatch, trusted):
    monkeypatch.setattr(Client, "trusted_ca", trusted)
    await cluster.start(build)
    published = await cluster.eventually("v1", "ConfigMap", NAME, bool, namespace="default")
    assert published["data"] == {"ca.crt": (trusted or b"").decode()}


def test_bundle_name_has_signer_and_content_hash():
    assert bundle_name("PEM") == "kubernetes.io:kube-apiserver-serving:384fb9a44fabe158be2757b9"
    assert bundle_name("PEM") != bundle_name("other")


def test_plan_bundles_keeps_the_desired_bundle():
    created = plan_bundles([], "PEM").create
    assert (created.spec.signerName, created.spec.trustBundle) == (SIGNER, "PEM")
    assert plan_bundles([created], "PEM") == Bundles()


def test_plan_bundles_replaces_the_bundle_of_an_old_ca():
    old = plan_bundles([], "old").create
    planned = plan_bundles([old], "new")
    assert planned.create.metadata.name == bundle_name("new")
    assert planned.delete == (old,)


def test_plan_bundles_repairs_a_changed_bundle():
    changed = plan_bundles([], "PEM").create
    changed.spec.trustBundle = "changed"
    planned = plan_bundles([changed], "PEM")
    assert (planned.update.metadata.name, planned.update.spec.trustBundle) == (bundle_name("PEM"), "PEM")
    assert (planned.create, planned.delete) == (None, ())


@pytest.fixture
def names_with_colons(monkeypatch):
    """Accept upstream's bundle names, which custom resources would not allow."""
    monkeypatch.setattr(CustomResourceStrategy, "name_errors", lambda *_, **__: ())


@pytest.mark.usefixtures("names_with_colons")
async def test_trust_bundle_is_published_and_repaired(cluster, tmp_path):
    bundles = trust_bundles.BUNDLES
    await cluster.define(bundles, fields=["signerName"])
    for name, signer in (("kubernetes.io:kube-apiserver-serving:old", SIGNER), ("mine", "example.com/mine")):
        spec = {"signerName": signer, "trustBundle": "old"}
        await cluster.make("certificates.k8s.io/v1beta1", "ClusterTrustBundle", name, spec=spec)
    file = tmp_path / "ca.crt"
    file.write_bytes(make_ca("ca", now=cluster.clock.now(), life=timedelta(days=1)).certificate)
    name = bundle_name(file.read_text())
    await cluster.start(trust_bundles.build, root_ca_file=str(file))

    async def published():
        by_name = {bundle.metadata.name: bundle for bundle in await cluster.client.list(bundles)}
        is_right = set(by_name) == {"mine", name} and by_name[name].spec.trustBundle == file.read_text()
        return by_name[name] if is_right else None

    first = await cluster.until(published)
    wrong = msgspec.structs.replace(first.spec, trustBundle="wrong")
    await cluster.client.update(msgspec.structs.replace(first, spec=wrong))
    second = await cluster.until(published)
    await cluster.client.delete_object(second)
    assert (await cluster.until(published)).metadata.uid != second.metadata.uid


async def test_build_rejects_a_ca_that_is_not_pem(cluster, tmp_path):
    file = tmp_path / "ca.crt"
    file.write_text("PEM")
    with pytest.raises(ValueError, match="error parsing root-ca-file"):
        await cluster.start(trust_bundles.build, root_ca_file=str(file))
