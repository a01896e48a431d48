"""One pass over node ports, while others allocate."""

from steersman.apiserver.kinds.core.service.node_port_registry import AllocatedPorts
from steersman.apiserver.kinds.shared.allocation import PortRange
from steersman.controlplane.bootstrap.node_port_repair import NodePortRepairer
from steersman.controlplane.bootstrap.repair_reporter import Reporter
from steersman.storage.store import Conflict


class Registry:
    ports = PortRange(30000, 30009)

    def __init__(self, *seen, conflicts=0):
        self.seen, self.changes, self.conflicts = list(seen), [], conflicts

    async def read(self):
        return self.seen.pop(0) if len(self.seen) > 1 else self.seen[0]

    async def change(self, seen, *, take, release):
        if self.conflicts:
            self.conflicts -= 1
            raise Conflict("ports", None)
        self.changes.append((sorted(take), sorted(release)))


class Client:
    def __init__(self, *ports):
        self.services = [
            {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "n", "name": f"s{port}"},
             "spec": {"ports": [{"nodePort": port}]}}
            for port in ports
        ]  # fmt: skip

    async def list_all(self, resource):
        return self.services


def taken(*ports, revision=1):
    return AllocatedPorts(frozenset(ports), revision)


async def faults(reporter):
    return (await reporter.collect())[0].samples


async def test_pass_allocates_and_reports_missing_ports():
    registry, reporter = Registry(taken()), Reporter("m", "ports")
    await NodePortRepairer(Client(30001), registry, reporter=reporter).whole_pass()
    assert registry.changes == [([30001], [])]
    assert await faults(reporter) == [("", (("type", "repair"),), 1)]


async def test_pass_does_not_report_ports_allocated_meanwhile():
    registry, reporter = Registry(taken(), taken(30001, revision=2), conflicts=1), Reporter("m", "ports")
    await NodePortRepairer(Client(30001), registry, reporter=reporter).whole_pass()
    assert (registry.changes, await faults(reporter)) == ([], [])


async def test_pass_gives_up_after_repeated_conflicts():
    registry, reporter = Registry(taken(), conflicts=100), Reporter("m", "ports")
    await NodePortRepairer(Client(30001), registry, reporter=reporter).whole_pass()
    assert (registry.changes, registry.conflicts, await faults(reporter)) == ([], 95, [])


async def test_leaks_are_remembered_from_pass_to_pass():
    registry = Registry(taken(30001))
    repairer = NodePortRepairer(Client(), registry, reporter=Reporter("m", "ports"))
    for _ in range(3):
        await repairer.whole_pass()
    assert registry.changes == []
    await repairer.whole_pass()
    assert registry.changes == [([], [30001])]
