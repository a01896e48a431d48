"""The Prometheus text format."""

import threading

from steersman.apiserver.observability.metrics import Family, MetricsEndpoint, counter, gauge, is_label_set


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


async def test_many_samples_are_rendered_in_a_worker():
    threads = set()

    class Samples(list):
        def __iter__(self):
            threads.add(threading.current_thread().name)
            return super().__iter__()

    def family(count: int) -> Family:
        return Family("a", "gauge", "A.", Samples(("", (("x", str(number)),), number) for number in range(count)))

    assert (await text(family(2))).endswith('a{x="0"} 0\na{x="1"} 1\n')
    assert threads == {threading.main_thread().name}
    threads.clear()
    assert (await text(family(6000))).endswith('a{x="5999"} 5999\n')
    assert threads.pop().startswith("worker-")


def test_labels_of_clients_have_a_length():
    assert is_label_set(("get", "apps", "deployments"))
    assert not is_label_set(("get", "x" * 600))
