"""A server on this machine that speaks the chat protocol of OpenAI, with the faults of real ones.

What it does is told by words of the prompt or by a plan: a function from the request's text and the number of times it
was seen to a `Behaviour`. It counts every request, so that a test can say which call was repeated.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

__all__ = ["Behaviour", "Loopback", "good_answer", "loopback"]


@dataclass(frozen=True)
class Behaviour:
    """What happens to one request."""

    text: str | Callable[[dict[str, Any]], str] | None = None
    """The answer, or what makes it of the request; a right one in form without it."""
    status: int = 200
    delay: float = 0.0
    finish: str = "stop"
    hang: bool = False
    """Say nothing, for good."""
    refusal: str | None = None
    reasoning: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


Plan = Callable[[str, int], Behaviour]


def good_answer(body: dict[str, Any]) -> str:
    """An answer that fits the schema of a request."""
    properties = body["response_format"]["json_schema"]["schema"]["properties"]
    answer: dict[str, Any] = {}
    for name, schema in properties.items():
        if schema["type"] == "boolean":
            answer[name] = True
        elif schema["type"] == "integer":
            answer[name] = 5
        elif schema["type"] == "string":
            answer[name] = "hurt and lonely"
        elif "enum" in schema["items"]:
            answer[name] = schema["items"]["enum"][:3]
        else:
            answer[name] = [{"source": "Anna", "target": "Ben", "viewpoint": "He hides.", "attitude": "bitter"}]
    return json.dumps(answer)


@dataclass
class Loopback:
    """The server and what it saw."""

    plan: Plan = lambda _text, _seen: Behaviour()
    seen: Counter[str] = field(default_factory=Counter)
    """Text of the last user message to number of requests."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    """What stood in the header ``Authorization``."""
    keep_bodies: bool = True
    url: str = ""
    most_at_once: int = 0
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server ends: what hangs may go."""
    _at_once: int = 0

    @property
    def calls(self) -> int:
        """Requests in all."""
        return self.seen.total()

    async def chat(self, request: web.Request) -> web.Response:
        """``POST /v1/chat/completions``."""
        body = await request.json()
        content = body["messages"][-1]["content"]
        text = content if isinstance(content, str) else next(part["text"] for part in content if part["type"] == "text")
        behaviour = self.plan(text, self.seen[text])
        self.seen[text] += 1
        self.keys.add(request.headers.get("Authorization", ""))
        if self.keep_bodies:
            self.bodies.append(body)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await (self.closing.wait() if behaviour.hang else asyncio.sleep(behaviour.delay))
        finally:
            self._at_once -= 1
        if behaviour.status != 200:
            error = {"error": {"message": "no", "type": "error", "code": str(behaviour.status)}}
            return web.json_response(error, status=behaviour.status, headers=behaviour.headers)
        text = behaviour.text(body) if callable(behaviour.text) else behaviour.text
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if behaviour.refusal:
            message["refusal"] = behaviour.refusal
        elif behaviour.text is None:
            message["content"] = good_answer(body)
        if behaviour.reasoning:
            message["reasoning_content"] = behaviour.reasoning
        return web.json_response(
            {
                "id": f"chat-{self.calls}",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": behaviour.finish}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
            }
        )


@contextmanager
def loopback(plan: Plan | None = None, **options: Any) -> Iterator[Loopback]:
    """A server in a thread of its own, at ``url``, while the block runs."""
    server = Loopback(plan or (lambda _text, _seen: Behaviour()), **options)
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    application = web.Application(client_max_size=64 * 2**20)
    application.router.add_post("/v1/chat/completions", server.chat)
    runner = web.AppRunner(application, shutdown_timeout=0)

    async def start() -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        server.url = f"http://127.0.0.1:{port}/v1"
        ready.set()

    def serve() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(start())
        loop.run_forever()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    ready.wait(30)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(server.closing.set)
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
