"""Routes of the people who rate answers of models."""

from __future__ import annotations

from fastapi import APIRouter, Request

from pipeline.review.rating import Ratings, Value
from pipeline.review.web.access import Person
from pipeline.review.web.work import Id
from pipeline.store import Json

__all__ = ["router"]

router = APIRouter(prefix="/api/ratings")


def _ratings(request: Request) -> Ratings:
    found: Ratings = request.app.state.ratings
    return found


@router.get("")
def batches(request: Request, user: Person) -> Json:
    """The person's batches."""
    return {"batches": _ratings(request).of(user)}


@router.get("/{batch}")
def batch(request: Request, user: Person, batch: Id) -> Json:
    """The answers of a batch."""
    return _ratings(request).batch(user, batch)


@router.put("/{batch}/items/{item}")
def rate(request: Request, user: Person, batch: Id, item: Id, body: Value) -> Json:
    """Rate an answer."""
    return _ratings(request).rate(user, batch, item, body)
