"""ER, emotion: what does the client feel in this row, and how strongly?"""

from __future__ import annotations

import math
import re

from pipeline.annotation.model import Annotation, Row
from pipeline.tasks.base import Built, TaskOptions, context_before, instance, is_client, sample

__all__ = ["build"]

_WORD = re.compile(r"[A-Za-z0-9']+")


def build(annotation: Annotation, options: TaskOptions) -> Built:
    """Client rows with an emotion of their speaker; the first rows are left out, the rest is thinned evenly."""
    built = Built()
    count = len(annotation.rows)
    first = min(math.ceil(options.er_early_cut * count), count - 1)
    candidates: list[tuple[Row, str, float]] = []
    for row in annotation.rows:
        if not is_client(row.primary_speaker):
            built.excluded["not a client's row"] += 1
        elif (found := _emotion(row)) is None:
            built.excluded["no emotion of the speaker with an intensity"] += 1
        elif len(_WORD.findall(row.dialogue_cleaned)) < options.er_min_words:
            built.excluded["too few words"] += 1
        elif row.row_index <= first:
            built.excluded["too early in the conversation"] += 1
        else:
            candidates.append((row, *found))
    kept = sample(candidates, options.max_per_conversation)
    built.excluded["thinned"] += len(candidates) - len(kept)
    for row, emotion, intensity in kept:
        context = context_before(row.row_index, options)
        built.instances.append(instance("er", annotation, row, context, emotion=emotion, intensity=intensity))
    return built


def _emotion(row: Row) -> tuple[str, float] | None:
    """The first emotion of the speaker that has words and an intensity that rounds to 0..10, as annotated."""
    for emotion in row.internal_emotion:
        text = emotion.emotion_description.strip()
        if emotion.person != row.primary_speaker or not text or emotion.intensity is None:
            continue
        if 0 <= round(emotion.intensity) <= 10:
            return text, emotion.intensity
    return None
