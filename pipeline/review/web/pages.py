"""The pages: one shell without data for every address."""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from pipeline import __version__

__all__ = ["router"]

router = APIRouter()


@cache
def _shell() -> str:
    templates = Environment(
        autoescape=True, loader=PackageLoader("pipeline.review"), undefined=StrictUndefined, trim_blocks=True
    )
    return templates.get_template("app.html").render(version=__version__)


@router.get("/")
@router.get("/sign-in")
@router.get("/work/{_}")
@router.get("/adjudicate/{_}")
@router.get("/rate")
@router.get("/rate/{_}")
@router.get("/admin")
def page() -> HTMLResponse:
    """The shell."""
    return HTMLResponse(_shell())
