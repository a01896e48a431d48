"""Health checks as service level indicators."""

from steersman.apiserver.observability.metrics import MetricsEndpoint
from steersman.apiserver.observability.slis import HealthcheckMetrics


async def test_results_are_counted_by_check_endpoint_and_status():
    slis = HealthcheckMetrics()
    slis.observe("etcd", "livez", passed=True)
    slis.observe("etcd", "readyz", passed=True)
    slis.observe("etcd", "readyz", passed=False)
    endpoint = MetricsEndpoint()
    endpoint.add(slis.collect)
    lines = (await endpoint(None)).body.decode().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        'kubernetes_healthcheck{name="etcd",type="livez"} 1',
        'kubernetes_healthcheck{name="etcd",type="readyz"} 0',
        'kubernetes_healthchecks_total{name="etcd",status="error",type="readyz"} 1',
        'kubernetes_healthchecks_total{name="etcd",status="success",type="livez"} 1',
        'kubernetes_healthchecks_total{name="etcd",status="success",type="readyz"} 1',
    ]
