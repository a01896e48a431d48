"""Write the data directory that the tests keep of each released schema.

    python scripts/write_store_fixture.py tests/unit/storage/sqlite/data/schema-3.tar.gz
    python scripts/write_store_fixture.py --killed tests/unit/storage/sqlite/data/schema-3-killed.tar.gz

Run it once with each release that changes the schema. It uses only the ``Store`` protocol, so it runs with older releases as
well. ``--killed`` ends the process with SIGKILL, which leaves the write-ahead log. ``tests/unit/storage/sqlite/test_released.py``
holds what every such directory must contain.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from steersman.asynckit.clock import RealClock
from steersman.storage.sqlite import SqliteStore
from steersman.storage.store import Delete, Put


async def write(path: str, *, killed: bool) -> None:
    store = await SqliteStore.open(path, clock=RealClock(), squash_prefixes=["/beat/"])
    lease = await store.grant_lease(3600, lease_id=7)
    for name in ("kept", "changed", "removed", "again"):
        await store.txn([Put(f"/key/{name}", f"{name} 1".encode())])
    await store.txn([Put("/key/changed", b"changed 2" + b"x" * 6000)])
    await store.txn([Delete("/key/removed"), Delete("/key/again")])
    await store.txn([Put("/key/again", b"again 2"), Put("/key/leased", b"leased 1", lease_id=lease)])
    for count in range(3):
        await store.txn([Put("/beat/node", f"beat {count}".encode())])
    await store.txn([Put("/key/ünïcode", bytes(range(256)))])
    if killed:
        sys.stdout.write("written\n")
        sys.stdout.flush()
        await asyncio.Event().wait()
    await store.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--killed", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        asyncio.run(write(args.child, killed=args.killed))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, str(args.archive), "--child", f"{folder}/state.db"]
        with subprocess.Popen([*command, *["--killed"] * args.killed], stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            if args.killed:
                os.kill(child.pid, signal.SIGKILL)
        while Path(f"{folder}/state.db-wal").exists() and not args.killed:
            time.sleep(0.01)
        with tarfile.open(args.archive, "w:gz") as archive:
            for part in sorted(Path(folder).iterdir()):
                if part.suffix not in (".lock", ".db-shm"):
                    archive.add(part, part.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
