"""The application put together: parts, routes, and the one form of every error."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import timedelta
from importlib.resources import files

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.staticfiles import StaticFiles

from pipeline.errors import RescueError
from pipeline.review.database import Database
from pipeline.review.desk import Desk
from pipeline.review.errors import NotFound, Refused
from pipeline.review.library import Library
from pipeline.review.office import Office
from pipeline.review.rating import Ratings
from pipeline.review.web import administer, pages, rate, session, work
from pipeline.review.web.access import Access, read_secret
from pipeline.review.web.guard import Guard
from pipeline.settings import Settings

__all__ = ["LOOPBACK", "create_app"]

logger = logging.getLogger(__name__)

LOOPBACK = ("127.0.0.1", "localhost", "::1")


_NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""FastAPI can hand requests, with all that is in them, to exporters that environment variables name."""


def create_app(settings: Settings, database: Database, *, hosts: Collection[str] = ()) -> FastAPI:
    """The application.

    Args:
        settings: Where the data lie.
        database: The store.
        hosts: Names by which it may be addressed, besides this machine's own and those of the settings.
    """
    app = FastAPI(
        docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, telemetry=_NO_TELEMETRY
    )  # fmt: skip
    library = Library(settings)
    app.state.database = database
    app.state.access = Access(
        database, read_secret(settings.review_dir), timedelta(hours=settings.review.idle_hours)
    )  # fmt: skip
    app.state.one_time_life = timedelta(days=settings.review.one_time_password_days)
    app.state.desk = Desk(database, library)
    app.state.office = Office(database, library)
    app.state.ratings = Ratings(database, settings)
    for router in (pages.router, session.router, work.router, rate.router, administer.router):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=str(files("pipeline.review") / "static")))
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RescueError, _expected)
    app.add_exception_handler(RequestValidationError, _misshapen)
    app.add_exception_handler(HTTPException, _of_the_server)
    app.add_exception_handler(DataError, _unstorable)
    app.add_exception_handler(DBAPIError, _busy)
    app.add_exception_handler(PoolTimeout, _busy)
    app.add_middleware(Guard, hosts=(*LOOPBACK, *settings.review.host_names, *hosts))
    return app


def _json(refusal: Refused) -> JSONResponse:
    headers = {"retry-after": str(refusal.more["retry_after"])} if "retry_after" in refusal.more else None
    return JSONResponse(refusal.to_json(), refusal.status, headers)


async def _refused(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001 - the framework's form
    assert isinstance(error, Refused)
    return _json(error)


async def _expected(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    assert isinstance(error, RescueError)
    where = ", ".join(part for part in (error.conversation, error.file, error.place) if part)
    text = f"{where}: {error.message}" if where else error.message
    return _json(Refused(422, "invalid", text, hint=error.hint, places=[]))


async def _misshapen(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    assert isinstance(error, RequestValidationError)
    places = []
    for one in error.errors():
        kind, *rest = one["loc"]
        if kind == "path":  # an id that can be none is one that does not exist
            return _json(NotFound())
        if one["type"] == "json_invalid":
            return _json(Refused(400, "bad_request", "the request is no JSON"))
        places.append({"place": ".".join(str(part) for part in rest) or "body", "message": one["msg"]})
    first = places[0]
    return _json(Refused(422, "invalid", f"{first['place']}: {first['message']}", places=places))


async def _of_the_server(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    assert isinstance(error, HTTPException)
    if error.status_code in (404, 405):
        return _json(NotFound())
    return _json(Refused(error.status_code, "bad_request", str(error.detail)))


async def _unstorable(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    return _json(Refused(422, "invalid", "a value cannot be stored", hint="delete odd characters", places=[]))


async def _busy(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    logger.error("the store did not answer: %s", type(getattr(error, "orig", error)).__name__)
    return _json(Refused(503, "busy", "the store did not answer in time", hint="the same change can be sent again"))
