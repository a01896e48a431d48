"""Churn objects of a control plane with a seed, and check that its memory levels off.

    python scripts/churn_memory.py                       # 20 minutes: the end may be 10 % above minute 10
    python scripts/churn_memory.py --minutes 8 --seed 7
    python scripts/churn_memory.py --whole               # with controllers, scheduler and a node

Workers create, replace, patch, apply, list, watch and delete objects of several kinds and sizes, with a constant
number of live objects. Every half minute the resident memory of the API server and the sizes of its caches are printed.
Exit code 1 if the resident memory of the last minute is more than 10 % above that of the middle of the run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import ssl
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp

from steersman.testing import ControlPlane

WORKERS = 6
LIVE = 40
GROWTH_MAX = 1.10
SAMPLE_SECONDS = 5.0
CORE = "/api/v1/namespaces/default"


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def configmap(dice: random.Random, name: str) -> dict[str, Any]:
    size = dice.choice((100, 1_000, 10_000, 200_000))
    return {"metadata": {"name": name}, "data": {"value": dice.randbytes(size // 2).hex()}}


def pod(dice: random.Random, name: str) -> dict[str, Any]:
    containers = [
        {"name": f"c{number}", "image": f"image:{dice.randrange(10**6)}", "env": [{"name": "A", "value": name}]}
        for number in range(dice.randrange(1, 6))
    ]
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": {"containers": containers}}


def secret(dice: random.Random, name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "stringData": {"password": dice.randbytes(2_000).hex()}}


def definition(dice: random.Random, name: str) -> dict[str, Any]:
    kind = name.capitalize()
    fields = {f"field{number}": {"type": "string"} for number in range(dice.randrange(1, 50))}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    return {
        "metadata": {"name": f"{name}s.churn.example.com"},
        "spec": {
            "group": "churn.example.com",
            "scope": "Namespaced",
            "names": {"plural": f"{name}s", "singular": name, "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


KINDS = {
    f"{CORE}/configmaps": configmap,
    f"{CORE}/pods": pod,
    f"{CORE}/secrets": secret,
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": definition,
}
#: Definitions are rebuilt into OpenAPI documents, so they are rarer.
WEIGHTS = (50, 30, 18, 2)


class Churn:
    """Requests of one run."""

    def __init__(self, session: aiohttp.ClientSession, url: str, seed: int) -> None:
        self._session = session
        self._url = url
        self._seed = seed
        self.requests = 0
        self.failures: dict[int, int] = {}

    async def send(self, method: str, path: str, body: Any = None, content: str = "application/json") -> bytes:
        """Return the body of a response."""
        data = None if body is None else json.dumps(body)
        async with self._session.request(
            method, self._url + path, data=data, headers={"content-type": content}
        ) as answer:
            self.requests += 1
            if answer.status >= 400:
                self.failures[answer.status] = self.failures.get(answer.status, 0) + 1
            return await answer.read()

    async def work(self, number: int, end: float) -> None:
        """Run one worker until ``end``."""
        dice = random.Random(f"{self._seed}/{number}")
        live: list[tuple[str, str]] = []
        serial = 0
        while time.monotonic() < end:
            path = dice.choices(list(KINDS), WEIGHTS)[0]
            action = dice.random()
            if len(live) < LIVE and action < 0.5:
                serial += 1
                name = f"w{number}x{serial}"
                tree = KINDS[path](dice, name)
                await self.send("POST", path, tree)
                live.append((path, tree["metadata"]["name"]))
            elif live and action < 0.8:
                path, name = dice.choice(live)
                await self._change(dice, f"{path}/{name}", action)
            elif live and (action < 0.95 or len(live) >= LIVE):
                path, name = live.pop(dice.randrange(len(live)))
                await self.send("DELETE", f"{path}/{name}", {"gracePeriodSeconds": 0})
            else:
                await self._read(dice, path)

    async def _change(self, dice: random.Random, path: str, action: float) -> None:
        annotations = {"churn": dice.randbytes(50).hex()}
        if action < 0.7:
            await self.send("PATCH", path, {"metadata": {"annotations": annotations}}, "application/merge-patch+json")
        else:
            labels = {f"l{dice.randrange(5)}": str(dice.randrange(1000))}
            await self.send("PATCH", path, {"metadata": {"labels": labels}}, "application/merge-patch+json")

    async def _read(self, dice: random.Random, path: str) -> None:
        choice = dice.randrange(5)
        if choice == 0:
            await self.send("GET", f"{path}?labelSelector=app%3Dw{dice.randrange(1000)}")
        elif choice == 1:
            await self.send("GET", f"{path}?watch=1&timeoutSeconds=1")
        elif choice == 2:
            await self.send("GET", "/openapi/v2" if dice.random() < 0.1 else "/apis")
        elif choice == 3:
            spec = {"user": f"user{dice.randrange(10**6)}", "resourceAttributes": {"verb": "get", "resource": "pods"}}
            await self.send("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
        else:
            await self.send("GET", path)


async def sample(churn: Churn, pid: int, end: float, samples: list[tuple[float, float]]) -> None:
    """Record resident memory every few seconds, and print it every half minute."""
    start = printed = time.monotonic()
    while time.monotonic() < end:
        await asyncio.sleep(SAMPLE_SECONDS)  # noqa: TID251
        now = time.monotonic()
        samples.append((now - start, resident_mib(pid)))
        if now - printed >= 30:
            printed = now
            text = (await churn.send("GET", "/metrics")).decode()
            caches = {
                line.split('"')[1]: round(float(line.rsplit(" ", 1)[1]) / 2**20, 1)
                for line in text.splitlines()
                if line.startswith("steersman_cache_bytes{")
            }
            print(f"{now - start:6.0f} s {samples[-1][1]:7.1f} MiB {churn.requests:8} requests {caches}", flush=True)


def verdict(samples: list[tuple[float, float]], minutes: float) -> tuple[float, float]:
    """Return the median resident memory around the middle and at the end of a run."""
    middle, end = minutes * 30, minutes * 60
    return (
        statistics.median(size for at, size in samples if abs(at - middle) <= 30),
        statistics.median(size for at, size in samples if end - at <= 60),
    )


async def run(plane: ControlPlane, *, minutes: float, seed: int) -> int:
    tls = ssl.create_default_context(cafile=str(plane.ca))
    headers = {"authorization": f"Bearer {plane.token}"}
    samples: list[tuple[float, float]] = []
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(ssl=tls, limit=32)) as session:
        churn = Churn(session, plane.url, seed)
        # Pods need it; a control plane with controllers has it already.
        await churn.send("POST", f"{CORE}/serviceaccounts", {"metadata": {"name": "default"}})
        end = time.monotonic() + minutes * 60
        await asyncio.gather(
            sample(churn, plane.pid, end, samples), *(churn.work(number, end) for number in range(WORKERS))
        )
    middle, last = verdict(samples, minutes)
    print(f"{churn.requests} requests, errors {churn.failures}, middle {middle:.1f} MiB, end {last:.1f} MiB")
    return 1 if last > middle * GROWTH_MAX else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--whole", action="store_true", help="with controllers, scheduler and a node")
    options = parser.parse_args()
    with ControlPlane(whole=options.whole) as plane:
        return asyncio.run(run(plane, minutes=options.minutes, seed=options.seed))


if __name__ == "__main__":
    sys.exit(main())
