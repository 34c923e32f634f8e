"""What every request passes before any route: host, origin, size; and what every answer bears."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection
from traceback import extract_tb

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.review.errors import Refused

__all__ = ["MAX_BODY", "Guard"]

logger = logging.getLogger(__name__)

MAX_BODY = 1024 * 1024
"""Bytes of a request."""

_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-robots-tag": "noindex, nofollow",
}
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]+)?")
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Guard:
    """Refuses requests that did not come from our own page, and sets the headers of every answer.

    Args:
        app: What comes after.
        hosts: Names by which this server may be addressed. A page of somebody else whose name points here is refused by
            them.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.casefold() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        guarded = _dressed(send, secure=scope["scheme"] == "https")
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(guarded, refusal)
            return
        try:
            await self._app(scope, _limited(receive), guarded)
        except Exception as error:  # noqa: BLE001 - the last place where it can become an answer
            # Where it broke, without any value: what people wrote must not stand in a log.
            frames = "".join(f"\n  {frame.filename}:{frame.lineno}" for frame in extract_tb(error.__traceback__)[-8:])
            logger.error("%s %s broke: %s%s", scope["method"], _route(scope), type(error).__name__, frames)  # noqa: TRY400
            await _answer(guarded, Refused(500, "failed", "this is a fault of the program", hint="tell who runs it"))

    def _refusal(self, scope: Scope, headers: Headers) -> Refused | None:
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or _name_of(host) not in self._hosts:
            hint = "add the name to review.host_names in the settings"
            return Refused(400, "bad_request", "this server has another name", hint=hint)
        if scope["method"] in _CHANGING:
            # Browsers say where a request comes from; other programs need not.
            origin = headers.get("origin")
            site = headers.get("sec-fetch-site", "same-origin")
            if (origin is not None and origin.partition("://")[2] != host) or site not in ("same-origin", "none"):
                return Refused(400, "bad_request", "the request came from another page")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            return _too_large()
        return None


def _name_of(host: str) -> str:
    """The name in a ``Host`` header, in the form in which names are listed; empty if it is no such header."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


def _route(scope: Scope) -> str:
    """The pattern of the address, without ids."""
    return str(getattr(scope.get("route"), "path", "a page"))


def _too_large() -> Refused:
    return Refused(413, "too_large", "the request is over 1 MiB", hint="save in smaller parts")


def _limited(receive: Receive) -> Receive:
    """The request, cut off where it is longer than it said."""
    left = MAX_BODY

    async def limited() -> Message:
        nonlocal left
        message = await receive()
        if message["type"] == "http.request":
            left -= len(message.get("body", b""))
            if left < 0:
                raise _too_large()
        return message

    return limited


def _dressed(send: Send, *, secure: bool) -> Send:
    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
            if secure:
                headers["strict-transport-security"] = "max-age=31536000"
        await send(message)

    return dressed


async def _answer(send: Send, refusal: Refused) -> None:
    body = json.dumps(refusal.to_json()).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
