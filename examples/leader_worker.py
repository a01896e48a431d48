"""Work of the leader of several processes: start it several times, stop the leader, and another takes over."""

import asyncio
import contextlib
import signal
import socket
import sys
import uuid

from steersman.client import connect
from steersman.client.leaderelection import LeaderElector, LeaseLock


async def main(identity: str) -> None:
    async with connect() as client:
        lock = LeaseLock(client, namespace=client.default_namespace, name="leader-worker", identity=identity)
        elector = LeaderElector(lock, on_new_leader=lambda leader: print(f"{leader} leads", flush=True))

        async def work() -> None:
            while True:
                if elector.is_leader:  # checked before each action: a process that was suspended too long stops here
                    print(f"{identity} works", flush=True)
                await client.clock.sleep(1)

        term = asyncio.ensure_future(elector.run(work))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, term.cancel)
        with contextlib.suppress(asyncio.CancelledError):  # the work has ended and the lease is released
            print(f"{identity}: {(await term).name}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else f"{socket.gethostname()}_{uuid.uuid4()}"))
