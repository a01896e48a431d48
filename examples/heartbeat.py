"""Heartbeat: renew a Lease while this process lives; others read its ``renewTime``."""

import asyncio
import contextlib
import signal
import sys

from steersman.client import connect
from steersman.runtime import LeaseHeartbeat


async def main(identity: str) -> None:
    async with connect() as client:
        heartbeat = LeaseHeartbeat(
            client,
            holder_identity=identity,
            lease_duration_seconds=4,
            renew_interval_seconds=1,
            namespace=client.default_namespace,
            on_repeated_failure=lambda: print("the server does not take our heartbeat", flush=True),
        )
        beating = asyncio.ensure_future(heartbeat.run())
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, beating.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await beating


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "example"))
