"""The Prometheus text format."""

from steersman.apiserver.observability.metrics import Family, MetricsEndpoint, counter, gauge


async def text(*families: Family) -> str:
    endpoint = MetricsEndpoint()

    async def collect():
        return families

    endpoint.add(collect)
    return (await endpoint(None)).body.decode()


async def test_families_are_sorted_and_described():
    assert await text(
        gauge("b", "B.", [((), 1.5)]),
        counter("a", "A.", [((("x", "1"), ("y", "2")), 3)]),
    ) == ('# HELP a A.\n# TYPE a counter\na{x="1",y="2"} 3\n# HELP b B.\n# TYPE b gauge\nb 1.5\n')


async def test_label_values_are_escaped():
    assert r'a{x="\"\\\n"} 1' in await text(gauge("a", "A.", [((("x", '"\\\n'),), 1)]))
