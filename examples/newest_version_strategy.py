"""Strategy for coordinated leader election (KEP-4355): the candidate with the newest emulation version leads.

The API server ignores Leases whose candidates name a strategy other than ``OldestEmulationVersion``. This controller
elects their leaders; it does not ping candidates, which a real one does by ``pingTime``.
"""

import asyncio
from datetime import timedelta
from typing import Any

from steersman.apimachinery.timestamps import format_micro_time, parse_time
from steersman.client import connect, tree
from steersman.runtime import Controller, ControllerContext, Manager, Result

LEASES = tree("coordination.k8s.io/v1", "Lease")
CANDIDATES = tree("coordination.k8s.io/v1beta1", "LeaseCandidate")
STRATEGY = "example.com/NewestEmulationVersion"


def lease_keys(candidate: dict[str, Any]) -> list[str]:
    return [f"{candidate['metadata']['namespace']}/{candidate['spec']['leaseName']}"]


def newest(candidates: list[dict[str, Any]]) -> str:
    """Return the name of the best candidate."""
    versions: dict[str, tuple[int, ...]] = {
        one["metadata"]["name"]: tuple(map(int, one["spec"]["emulationVersion"].split("."))) for one in candidates
    }
    return max(versions, key=lambda name: (versions[name], name))


class NewestVersion(Controller):
    """Controller of Leases; a key is one Lease."""

    name = "newest-version-strategy"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._candidates = self.watch(CANDIDATES, keys=lease_keys)
        self._candidates.add_index("lease", lease_keys)
        self._leases = self.watch(LEASES)

    async def reconcile(self, key: str) -> Result | None:
        candidates = [
            one for one in self._candidates.lister.by_index("lease", key) if one["spec"]["strategy"] == STRATEGY
        ]
        lease = self._leases.lister.by_key(key)
        if not candidates or lease is None:  # the API server creates the Lease
            return None
        spec, best, now = lease["spec"], newest(candidates), self.clock.now()
        expires = parse_time(spec["renewTime"]) + timedelta(seconds=spec["leaseDurationSeconds"])
        if not spec.get("holderIdentity") or expires <= now:
            change = {"holderIdentity": best, "preferredHolder": None, "leaseDurationSeconds": 5}
            change["renewTime"] = format_micro_time(now)
        elif best not in (spec["holderIdentity"], spec.get("preferredHolder")):
            change = {"preferredHolder": best}  # the holder releases the Lease
        else:
            return Result(requeue_after_seconds=(expires - now).total_seconds())
        version = {"resourceVersion": lease["metadata"]["resourceVersion"]}
        await self.client.patch(
            LEASES,
            lease["metadata"]["name"],
            {"metadata": version, "spec": change},
            namespace=lease["metadata"]["namespace"],
        )
        return None


async def main() -> None:
    async with connect() as client:
        manager = Manager(client)
        manager.add(NewestVersion(manager.context))
        manager.stop_on_signals()
        await manager.run()


if __name__ == "__main__":
    asyncio.run(main())
