"""Operator: each ``Website`` gets a ConfigMap with its page, and a status that reports it.

The plan is pure: objects in, intended actions out. The controller reads caches, computes the plan and applies it.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.models.core_v1 import ConfigMap
from lightkube.models.meta_v1 import Condition, ObjectMeta

from steersman.apimachinery.errors import is_already_exists
from steersman.apimachinery.timestamps import format_time
from steersman.client import connect, custom, tree
from steersman.client.objects import namespace_of
from steersman.runtime import Controller, Manager
from steersman.runtime.conditions import with_condition
from steersman.runtime.finalizers import has_finalizer, is_being_deleted, with_finalizer, without_finalizer
from steersman.runtime.owners import controller_of, controller_reference, is_controlled_by

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.client import Client
    from steersman.runtime import ControllerContext

FINALIZER = "example.com/goodbye"


# The API: a custom resource as a struct


class WebsiteSpec(msgspec.Struct, omit_defaults=True):
    title: str = ""
    body: str = ""


class WebsiteStatus(msgspec.Struct, omit_defaults=True):
    observedGeneration: int = 0  # noqa: N815 — as on the wire
    conditions: list[Condition] = msgspec.field(default_factory=list)


class Website(msgspec.Struct, omit_defaults=True):
    metadata: ObjectMeta
    spec: WebsiteSpec = msgspec.field(default_factory=WebsiteSpec)
    status: WebsiteStatus = msgspec.field(default_factory=WebsiteStatus)
    apiVersion: str = "example.com/v1"  # noqa: N815 — as on the wire
    kind: str = "Website"


WEBSITES = custom("example.com/v1", "Website", plural="websites", model=Website)

DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "websites.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Website", "plural": "websites", "singular": "website"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"title": {"type": "string"}, "body": {"type": "string"}},
                            },
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


# The plan


@dataclass(frozen=True)
class Plan:
    """Intended actions for one website."""

    #: Written unchanged, or None: nothing.
    website: Website | None = None
    create: ConfigMap | None = None
    update: ConfigMap | None = None
    status: Website | None = None


def plan_website(website: Website, page: ConfigMap | None, *, now: str) -> Plan:
    """Return the actions for a website; ``page`` is the ConfigMap of its name, owned by the website or not."""
    if is_being_deleted(website):  # the owner reference deletes its page; only the event is left to record
        return Plan(website=without_finalizer(website, FINALIZER) if has_finalizer(website, FINALIZER) else None)
    if not has_finalizer(website, FINALIZER):
        return Plan(website=with_finalizer(website, FINALIZER))
    data = {"index.html": f"<h1>{website.spec.title}</h1>\n{website.spec.body}\n"}
    if page is None:
        return Plan(create=_page_of(website, data))
    if not is_controlled_by(page, website):
        return Plan(status=_with_status(website, "False", "NameTaken", "the ConfigMap has another owner", now))
    if page.data != data:
        return Plan(update=msgspec.structs.replace(page, data=data))
    return Plan(status=_with_status(website, "True", "Published", "the page is up to date", now))


def _page_of(website: Website, data: dict[str, str]) -> ConfigMap:
    owner = controller_reference(website, api_version=website.apiVersion, kind=website.kind)
    meta = website.metadata
    return ConfigMap(
        metadata=ObjectMeta(name=meta.name, namespace=meta.namespace, ownerReferences=[owner.typed()]), data=data
    )


def _with_status(website: Website, status: str, reason: str, message: str, now: str) -> Website | None:
    """Return the website with a new status; None if unchanged."""
    condition = Condition(type="Ready", status=status, reason=reason, message=message, lastTransitionTime="")
    fresh = WebsiteStatus(
        observedGeneration=website.metadata.generation or 0,
        conditions=with_condition(website.status.conditions, condition, now=now),
    )
    return None if fresh == website.status else msgspec.structs.replace(website, status=fresh)


# The shell


class WebsiteOperator(Controller):
    """Controller of Websites and their ConfigMaps."""

    name = "website-operator"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=2)
        self.websites = self.watch(WEBSITES)
        self.pages = self.watch(ConfigMap, keys=_website_keys)

    async def reconcile(self, key: str) -> None:
        website = self.websites.lister.by_key(key)
        if website is None:
            return
        plan = plan_website(website, self.pages.lister.by_key(key), now=format_time(self.clock.now()))
        if plan.website is not None:
            self.own_writes.note(key, self.websites, await self.client.update(plan.website))
        if plan.create is not None:
            self.own_writes.note(key, self.pages, await self.client.create(plan.create))
            self.recorder.event(website, "Normal", "Published", "the page was made")
        if plan.update is not None:
            self.own_writes.note(key, self.pages, await self.client.update(plan.update))
            self.recorder.event(website, "Normal", "Updated", "the page was changed")
        if plan.status is not None:
            self.own_writes.note(key, self.websites, await self.client.update_status(plan.status))


def _website_keys(page: ConfigMap) -> Iterable[str]:
    owner = controller_of(page)
    if owner is not None and (owner.group, owner.kind) == ("example.com", "Website"):
        yield f"{namespace_of(page)}/{owner.name}"


async def ensure_definition(client: Client) -> None:
    """Create the CustomResourceDefinition, and wait until it is served."""
    definitions = tree("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    name = DEFINITION["metadata"]["name"]
    try:
        await client.create(DEFINITION)
    except Exception as error:
        if not is_already_exists(error):
            raise
    async with client.watch(definitions, field_selector=f"metadata.name={name}", bookmarks=False) as events:
        async for event in events:
            conditions = event.object.get("status", {}).get("conditions") or []
            if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
                return


async def main() -> None:
    logging.basicConfig(level=logging.INFO)
    async with connect() as client:
        await ensure_definition(client)
        manager = Manager(client, health_port=0)
        manager.add(WebsiteOperator(manager.context))
        manager.stop_on_signals()
        await manager.run()


if __name__ == "__main__":
    asyncio.run(main())
