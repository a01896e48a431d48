import msgspec
import pytest
from lightkube.models.core_v1 import Namespace

from steersman.client import Client
from steersman.controllers.context import ControllerContext
from steersman.controllers.options import ControllerOptions
from steersman.controllers.rootca.controller import build
from steersman.controllers.rootca.plan import NAME, corrected, takes_one, wanted


@pytest.mark.parametrize(("phase", "takes"), [("Active", True), ("Terminating", False)])
def test_a_namespace_that_ends_takes_none(phase, takes):
    assert takes_one(msgspec.convert({"status": {"phase": phase}}, Namespace)) is takes


def test_what_is_right_stays():
    assert corrected(wanted("n", "PEM"), "PEM") is None


def test_other_keys_go_and_other_annotations_stay():
    present = wanted("n", "PEM")
    present.data = {"ca.crt": "old", "more": "x"}
    present.metadata.annotations = {"mine": "kept"}
    new = corrected(present, "PEM")
    assert new.data == {"ca.crt": "PEM"}
    assert new.metadata.annotations["mine"] == "kept"
    assert "kubernetes.io/description" in new.metadata.annotations


async def test_it_is_published_and_put_right(cluster, tmp_path):
    file = tmp_path / "ca.crt"
    file.write_text("PEM")
    await cluster.start(build, root_ca_file=str(file))
    published = await cluster.eventually("v1", "ConfigMap", NAME, bool, namespace="default")
    await cluster.client.update({**published, "data": {"ca.crt": "wrong"}})
    await cluster.eventually(
        "v1", "ConfigMap", NAME, lambda found: found["data"] == {"ca.crt": "PEM"}, namespace="default"
    )
    await cluster.client.delete_object(published)
    await cluster.eventually("v1", "ConfigMap", NAME, bool, namespace="default")


@pytest.mark.parametrize(("trusted", "published"), [(b"PEM", True), (None, False)])
async def test_without_a_file_it_is_what_the_client_trusts(cluster, monkeypatch, trusted, published):
    monkeypatch.setattr(Client, "trusted_ca", trusted)
    context = ControllerContext(cluster.client, name="test", options=ControllerOptions())
    assert (build(context) is not None) is published
