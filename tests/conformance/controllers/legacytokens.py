"""Scenario of legacy token Secrets: exactly the unused ones are invalidated, and later deleted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from lightkube.models.core_v1 import ConfigMap, Pod, Secret, ServiceAccount
from tests.conformance.histories import NAMESPACE, Scenario, World

from steersman.client.objects import labels_of, name_of, uid_of

DAY = timedelta(days=1)
PERIOD = 2 * DAY
#: Interval of the cleaner; it also retries failures.
LOOKS_WITHIN = DAY + timedelta(minutes=10)
NAMES = ("s1", "s2", "s3", "s4")
TRACKING = "kube-apiserver-legacy-service-account-token-tracking"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
LAST_USED = "kubernetes.io/legacy-token-last-used"
TYPE = "kubernetes.io/service-account-token"


@dataclass
class Token:
    """Recorded state of a Secret."""

    uid: str
    created: datetime
    #: Since when its account lists it and no pod mounts it.
    idle_since: datetime | None = None
    used: date | None = None
    invalid: date | None = None

    def due(self, tracked: datetime) -> datetime | None:
        """Return when the next step is allowed; ``tracked``: since when uses are recorded."""
        if self.idle_since is None:
            return None
        days = [_after(day) for day in (self.used, self.invalid) if day is not None]
        return max(self.created + PERIOD, self.idle_since, tracked + PERIOD, *days)


class Legacytokens(Scenario):
    """Users create tokens, mount them in pods and use them; days pass."""

    controllers = ("legacy-serviceaccount-token-cleaner-controller",)
    options = {"legacy_service_account_token_clean_up_period_seconds": PERIOD.total_seconds()}

    def __init__(self) -> None:
        self._tokens: dict[str, Token] = {}
        self._tracked = datetime.max.replace(tzinfo=UTC)
        self._listed: set[str] = set()
        self._mounted: set[str] = set()
        self._fault = ""
        self._is_a_day_later = False

    async def prepare(self, world: World) -> None:
        metadata = {"name": "robot", "namespace": NAMESPACE}
        await world.client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        await self._track(world, world.clock.now() - PERIOD)

    async def edit(self, world: World) -> None:
        """Check the cleaner's writes before each edit."""
        await self._observe(world)
        edits = [self.make, self.make, self.make, self.list_it, self.list_it, self.unlist, self.mount, self.unmount,
                 self.use, self.revive, self.remove, self.restart_tracking, *[self.wait] * 8]  # fmt: skip
        await world.dice.choice(edits)(world, world.dice.choice(NAMES))

    async def make(self, world: World, name: str) -> None:
        metadata = {"name": name, "annotations": {"kubernetes.io/service-account.name": "robot"}}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": TYPE}
        created = await world.client.create(body, namespace=NAMESPACE)
        self._tokens[name] = Token(created["metadata"]["uid"], world.clock.now())
        self._see_idle(world)
        if world.dice.random() < 0.7:
            await self.list_it(world, name)

    async def list_it(self, world: World, name: str) -> None:
        await self._list(world, self._listed | {name})

    async def unlist(self, world: World, name: str) -> None:
        await self._list(world, self._listed - {name})

    async def _list(self, world: World, names: set[str]) -> None:
        patch = {"secrets": [{"name": name} for name in sorted(names)]}
        await world.client.patch(ServiceAccount, "robot", patch, namespace=NAMESPACE)
        self._listed = names
        await self._settle(world)

    async def mount(self, world: World, name: str) -> None:
        container = {"name": "c", "image": "image"}
        spec = {"containers": [container], "volumes": [{"name": "v", "secret": {"secretName": name}}]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        await world.client.create(body, namespace=NAMESPACE)
        self._mounted.add(name)
        await self._settle(world)

    async def unmount(self, world: World, name: str) -> None:
        await world.client.delete(Pod, name, namespace=NAMESPACE, grace_period_seconds=0)
        self._mounted.discard(name)
        await self._settle(world)

    async def use(self, world: World, name: str) -> None:
        """Record a use as the API server does."""
        today = world.clock.now().date()
        await self._label(world, name, {LAST_USED: today.isoformat()})
        self._tokens[name].used = today

    async def revive(self, world: World, name: str) -> None:
        await self._label(world, name, {INVALID_SINCE: None})
        self._tokens[name].invalid = None

    async def _label(self, world: World, name: str, labels: dict[str, Any]) -> None:
        await world.client.patch(Secret, name, {"metadata": {"labels": labels}}, namespace=NAMESPACE)

    async def remove(self, world: World, name: str) -> None:
        await world.client.delete(Secret, name, namespace=NAMESPACE)
        self._tokens.pop(name, None)

    async def restart_tracking(self, world: World, name: str) -> None:
        """Delete the start of the tracking period; the API server records another one."""
        await world.client.delete(ConfigMap, TRACKING, namespace="kube-system")
        await world.advance(1)
        await self._track(world, world.clock.now())

    async def _track(self, world: World, since: datetime) -> None:
        patch = {"data": {"since": f"{since:%Y-%m-%d}"}}
        await world.client.patch(ConfigMap, TRACKING, patch, namespace="kube-system")
        self._tracked = since.replace(hour=0, minute=0, second=0, microsecond=0)

    async def wait(self, world: World, name: str) -> None:
        await world.clock.jump(world.dice.choice([0.5, 1, 1, 2]) * DAY.total_seconds())
        await world.advance(10)

    async def _settle(self, world: World) -> None:
        """Let the caches observe pods and accounts; actions of the cleaner meanwhile may have been correct."""
        await world.advance(120)
        await self._observe(world, is_strict=False)
        self._see_idle(world)

    def _see_idle(self, world: World) -> None:
        for name, token in self._tokens.items():
            is_idle = name in self._listed and name not in self._mounted
            token.idle_since = (token.idle_since or world.clock.now()) if is_idle else None

    async def _observe(self, world: World, *, is_strict: bool = True) -> None:
        """Check the cleaner's writes since the last check, and whether they were permitted."""
        by_name = {name_of(item): item for item in await world.client.list(Secret, namespace=NAMESPACE)}
        for name, token in list(self._tokens.items()):
            secret, due, before = by_name.get(name), token.due(self._tracked), token.invalid
            if secret is None:
                del self._tokens[name]
            else:
                assert uid_of(secret) == token.uid
                token.invalid = _day(labels_of(secret).get(INVALID_SINCE))
            has_acted = secret is None or (before is None and token.invalid is not None)
            is_early = due is None or due > world.clock.now() or (secret is None and before is None)
            if is_strict and has_acted and is_early:
                outcome = "deleted" if secret is None else "marked"
                self._fault = f"{name} was {outcome} at {world.clock.now()}: {token}, tracked since {self._tracked}"

    async def wrong(self, world: World) -> str:
        if not self._is_a_day_later:
            await world.clock.jump(DAY.total_seconds())
            await world.advance(300)
            self._is_a_day_later = True
        await self._observe(world)
        late = [(name, token) for name, token in self._tokens.items() if self._is_late(token, world.clock.now())]
        return self._fault or (f"nothing was done about {late} until {world.clock.now()}" if late else "")

    def _is_late(self, token: Token, now: datetime) -> bool:
        due = token.due(self._tracked)
        return due is not None and due + LOOKS_WITHIN < now


def _after(day: date) -> datetime:
    """Return the end of the period that begins with the end of a day."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + DAY + PERIOD


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None
