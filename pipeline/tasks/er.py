"""ER, emotion: what does the client feel in this row, and how strongly?"""

from __future__ import annotations

import math
import re

from pipeline.annotation.model import Annotation, Row
from pipeline.tasks.base import Built, TaskOptions, context_before, instance, is_client, thin

__all__ = ["build"]

_WORD = re.compile(r"[A-Za-z0-9']+")


def build(annotation: Annotation, options: TaskOptions) -> Built:
    """Client rows with an emotion of their speaker; the first rows are left out, the rest is thinned evenly."""
    built = Built()
    count = len(annotation.rows)
    first = min(math.ceil(options.er_early_cut * count), count - 1)
    candidates: list[tuple[Row, str, int]] = []
    for row in annotation.rows:
        if not is_client(row.primary_speaker, annotation.scenario):
            built.excluded["not a client's row"] += 1
        elif (found := _emotion(row)) is None:
            built.excluded["no emotion of the speaker with an intensity"] += 1
        elif len(_WORD.findall(row.dialogue_cleaned)) < options.er_min_words:
            built.excluded["too few words"] += 1
        elif row.row_index <= first:
            built.excluded["too early in the conversation"] += 1
        else:
            candidates.append((row, *found))
    kept = _thinned(candidates, options.max_per_conversation)
    built.excluded["thinned"] += len(candidates) - len(kept)
    for row, emotion, intensity in kept:
        context = context_before(row.row_index, options)
        built.instances.append(instance("er", annotation, row, context, emotion=emotion, intensity=intensity))
    return built


def _thinned(candidates: list[tuple[Row, str, int]], keep: int) -> list[tuple[Row, str, int]]:
    # The published script keeps the first item, not the middle one, when it keeps one.
    return candidates[:1] if keep == 1 else thin(candidates, keep)


def _emotion(row: Row) -> tuple[str, int] | None:
    """The first emotion of the speaker that has words and an intensity that rounds to 0..10."""
    for emotion in row.internal_emotion:
        text = emotion.emotion_description.strip()
        if emotion.person == row.primary_speaker and text and emotion.intensity is not None:
            intensity = round(emotion.intensity)
            if 0 <= intensity <= 10:
                return text, intensity
    return None
