"""Calls of webhooks: metrics and certificates."""

from tests.unit.apiserver.admission.hooked import Hooked, patch_response
from tests.unit.apiserver.webhooks.servers import ca_bundle


async def test_calls_are_counted():
    no = {"allowed": False, "status": {"code": 418}}
    async with Hooked(yes={"allowed": True}, no=no, bad=None) as server:
        await server.configure("validating", "yes", "no")
        await server.configure("mutating", "bad", failurePolicy="Ignore")
        await server.write()
        metrics = server.services.metrics
        assert metrics.requests == {
            ("200", "yes.example.com", "CREATE", "false", "validating"): 1,
            ("418", "no.example.com", "CREATE", "true", "validating"): 1,
            ("503", "bad.example.com", "CREATE", "false", "admit"): 1,
        }
        assert metrics.rejections == {("no_error", "no.example.com", "CREATE", "418", "validating"): 1}
        assert metrics.fail_open == {("bad.example.com", "admit"): 1}


async def test_rejections_of_the_server_itself_are_counted_without_a_code():
    broken = patch_response({"op": "remove", "path": "/data/none"})
    async with Hooked(broken=broken) as server:
        await server.configure("mutating", "broken")
        assert (await server.write()).code == 500
        metrics = server.services.metrics
        assert metrics.requests == {("0", "broken.example.com", "CREATE", "true", "admit"): 1}
        assert metrics.rejections == {("apiserver_internal_error", "broken.example.com", "CREATE", "0", "admit"): 1}


async def test_audit_annotations_need_valid_keys():
    annotations = {"key": "1", "sub/key": "2", "with space": "3", "": "4", "x" * 64: "5"}
    async with Hooked(yes={"allowed": True, "auditAnnotations": annotations}) as server:
        await server.configure("validating", "yes")
        assert (await server.write()).code == 201
        assert server.annotations.values == {"yes.example.com/key": "1"}


async def test_call_fails_with_certificate_of_another_authority():
    async with Hooked(yes={"allowed": True}) as server:
        config = {"url": f"{server.hooks.url}/yes", "caBundle": ca_bundle("another-ca")}
        await server.configure("validating", "yes", clientConfig=config)
        answer = await server.write()
        assert answer.code == 500
        assert answer.body["message"].endswith("x509: certificate signed by unknown authority")


async def test_v1beta1_review_is_sent_to_webhooks_that_prefer_it():
    async with Hooked(yes={"allowed": True}) as server:
        await server.configure("validating", "yes", admissionReviewVersions=["v2", "v1beta1", "v1"])
        assert (await server.write()).code == 201
        assert server.hooks.bodies[0]["apiVersion"] == "admission.k8s.io/v1beta1"
