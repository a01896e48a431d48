"""The provider under the plugin ``pytest-kubernetes`` itself."""

import shutil

import pytest

pytest.importorskip("pytest_kubernetes")

pytest_plugins = ["pytester"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_fixture_of_pytest_kubernetes_is_a_cluster_of_the_kit(pytester):
    pytester.makeconftest(
        """
        import pytest
        from steersman.testing.pytest_kubernetes_provider import SteersmanManager

        @pytest.fixture(scope="session")
        def k8s_manager():
            return lambda provider=None: SteersmanManager
        """
    )
    pytester.makepyfile(
        """
        seen = []

        def test_apply_and_wait(k8s):
            k8s.create()
            k8s.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
                       "spec": {"containers": [{"name": "web", "image": "nginx"}]}})
            k8s.load_image("nginx")
            k8s.wait("pod/web", "condition=Ready")
            assert k8s.version() == (1, 36)
            seen.append(k8s.kubeconfig)

        def test_options_and_another_cluster(k8s):
            k8s.create(nodes=2)
            assert len(k8s.kubectl(["get", "nodes"])["items"]) == 2
            assert k8s.kubectl(["get", "pods"])["items"] == []
            assert k8s.kubeconfig not in seen
            assert not seen[0].exists()

        def test_reset_is_a_new_cluster(k8s):
            k8s.create(nodes=0, controllers=[], scheduler=False)
            k8s.kubectl(["create", "configmap", "a"])
            k8s.reset()
            names = [each["metadata"]["name"] for each in k8s.kubectl(["get", "configmaps"])["items"]]
            assert "a" not in names
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:randomly")
    result.assert_outcomes(passed=3)
