"""VP, viewpoint: what does the client think of the other people in this row?"""

from __future__ import annotations

from pipeline.annotation.model import Annotation, Row
from pipeline.tasks.base import Built, TaskOptions, context_before, instance, is_client, sample

__all__ = ["build"]


def build(annotation: Annotation, options: TaskOptions) -> Built:
    """Client rows with a viewpoint of their speaker, thinned evenly; nothing is cut at the start."""
    built = Built()
    candidates: list[tuple[Row, list[dict[str, str]]]] = []
    for row in annotation.rows:
        if not is_client(row.primary_speaker):
            built.excluded["not a client's row"] += 1
        elif not (viewpoints := _viewpoints(row)):
            built.excluded["no viewpoint of the speaker"] += 1
        else:
            candidates.append((row, viewpoints))
    kept = sample(candidates, options.max_per_conversation)
    built.excluded["thinned"] += len(candidates) - len(kept)
    for row, viewpoints in kept:
        context = context_before(row.row_index, options)
        built.instances.append(instance("vp", annotation, row, context, viewpoints=viewpoints))
    return built


def _viewpoints(row: Row) -> list[dict[str, str]]:
    return [
        view.model_dump()
        for view in row.viewpoints_attitudes
        if view.source == row.primary_speaker and view.target.strip() and view.viewpoint.strip()
    ]
