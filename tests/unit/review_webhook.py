"""Webhook of a test: an HTTP server that answers posted reviews, and the kubeconfig that names it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.unit.listening import listening

#: Returns the status of the review of a spec, or a whole answer.
Answer = Callable[[dict[str, Any]], dict[str, Any] | bytes]


def kubeconfig(folder: Path, server: str) -> Path:
    """Write a kubeconfig of a server."""
    file = folder / "webhook.kubeconfig"
    config = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(json.dumps(config))
    return file


class ReviewWebhook:
    """Webhook with the reviews that it received."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.reviews: list[dict[str, Any]] = []

    @property
    def specs(self) -> list[dict[str, Any]]:
        """Specs of the reviews."""
        return [review["spec"] for review in self.reviews]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer all requests of a connection."""
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = next(line for line in head.splitlines() if line.startswith("content-length: "))
            review = json.loads(await reader.readexactly(int(length[16:])))
            self.reviews.append(review)
            answer = self.answer(review["spec"])
            if isinstance(answer, dict):
                body = json.dumps({**review, "status": answer}).encode()
                length_line = f"content-length: {len(body)}"
                answer = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{length_line}\r\n\r\n".encode() + body
            writer.write(answer)
            await writer.drain()


@asynccontextmanager
async def review_webhook(folder: Path, answer: Answer) -> AsyncIterator[tuple[ReviewWebhook, Path]]:
    """Serve a webhook; yield it and its kubeconfig."""
    webhook = ReviewWebhook(answer)
    async with listening(webhook.serve) as port:
        yield webhook, kubeconfig(folder, f"http://127.0.0.1:{port}/review")
