"""Base class of the two admission plugins that call webhooks."""

from tests.unit.apiserver.admission.hooked import GROUP, RULE, Hooked


async def test_webhook_plugin_is_skipped_without_configurations():
    async with Hooked(no={"allowed": False}) as server:
        assert (await server.write()).code == 201
        await server.configure("validating", "no")
        assert (await server.write(name="b")).code == 400
        path = f"{GROUP}/validatingwebhookconfigurations/a"
        assert (await server.call("DELETE", path)).code == 200
        assert (await server.write(name="b")).code == 201
        assert server.called == ["no"]


async def test_webhook_plugins_do_not_handle_webhook_configurations():
    async with Hooked(no={"allowed": False}) as server:
        everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
        await server.configure("validating", "no", rules=[everything])
        await server.configure("validating", "no", configuration="b", rules=[RULE])
        assert (await server.call("DELETE", f"{GROUP}/validatingwebhookconfigurations/a")).code == 200
        assert server.called == []
