"""How well an annotation fits its recording, row by row and as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rapidfuzz.distance import Levenshtein

from pipeline.annotation.model import Row
from pipeline.join.match import Alignment, HeardWord, RowMatch, tokens
from pipeline.join.speakers import SpeakerMap
from pipeline.store import Json
from pipeline.times import Seconds, round_time

__all__ = ["EMPTY_COLUMNS", "join_columns", "report"]

_FAR = 1.0
"""Seconds between annotated and recognised edge from which a row is flagged."""

EMPTY_COLUMNS: Mapping[str, Any] = {
    "machine_start": None,
    "machine_end": None,
    "machine_speaker": None,
    "machine_participant": None,
    "speaker_agrees": None,
    "matched_share": None,
    "text_error_rate": None,
    "start_offset": None,
    "end_offset": None,
    "words": None,
    "join_flags": None,
}
"""What a row gets where there is no recording."""


def join_columns(row: Row, match: RowMatch, alignment: Alignment, speakers: SpeakerMap) -> dict[str, Any]:
    """The columns that the join adds to a row."""
    words = alignment.words_of(match)
    flags = []
    if not match.tokens:
        flags.append("no_text")
    elif not words:
        flags.append("not_recognised")
    elif match.share < 0.5:
        flags.append("poorly_recognised")
    columns: dict[str, Any] = {**EMPTY_COLUMNS, "matched_share": round(match.share, 4), "words": []}
    if words:
        label = _speaker(words)
        person = speakers.participant.get(label) if label else None
        start, end = words[0].start, max(word.end for word in words)
        columns |= {
            "machine_start": round_time(start),
            "machine_end": round_time(end),
            "machine_speaker": label,
            "machine_participant": person,
            "speaker_agrees": None if person is None else person == row.primary_speaker,
            "text_error_rate": _error_rate(row, match, alignment),
            "start_offset": round_time(start - row.start_time),
            "end_offset": round_time(end - row.end_time),
            "words": [_word(word) for word in words],
        }
        if columns["speaker_agrees"] is False:
            flags.append("speaker_differs")
        if _far(row.start_time, start, alignment) or _far(row.end_time, end, alignment):
            flags.append("time_differs")
    return {**columns, "join_flags": flags}


def report(
    rows: Sequence[Row], columns: Sequence[Mapping[str, Any]], alignment: Alignment, speakers: SpeakerMap
) -> dict[str, Json]:
    """The content of ``join.json``: figures for the conversation, and the rows to look at first."""
    said = sum(match.tokens for match in alignment.rows)
    matched = sum(len(match.pairs) for match in alignment.rows)
    agreeing = [column["speaker_agrees"] for column in columns if column["speaker_agrees"] is not None]
    time_map = alignment.time_map
    flagged = [
        {"row_index": row.row_index, "flags": column["join_flags"]}
        for row, column in zip(rows, columns, strict=True)
        if column["join_flags"]
    ]
    return {
        "rows": len(rows),
        "row_words": said,
        "heard_words": len(alignment.words),
        "matched_words": matched,
        "matched_share": round(matched / said, 4) if said else None,
        "heard_words_without_row": len(alignment.words) - matched,
        "offset": time_map.offset if time_map.trusted else None,
        "drift_percent": round(time_map.drift * 100, 3) if time_map.trusted else None,
        "anchors": time_map.anchors,
        "spread": time_map.spread,
        "speaker_agreement": round(sum(agreeing) / len(agreeing), 4) if agreeing else None,
        "speakers": speakers.to_json(),
        "flags": dict(sorted(Counter(flag for item in flagged for flag in item["flags"]).items())),
        "look_first": sorted(flagged, key=lambda item: (-len(item["flags"]), item["row_index"])),
    }


def _speaker(words: Sequence[HeardWord]) -> str | None:
    """The label of most of the words; of equals the one that comes first."""
    labels = Counter(word.speaker for word in words if word.speaker)
    return labels.most_common(1)[0][0] if labels else None


def _error_rate(row: Row, match: RowMatch, alignment: Alignment) -> float | None:
    """Word error rate of what was recognised, from the first to the last matched word, against the annotated text.

    Words in between that other rows have are theirs and do not count.
    """
    positions = [position for _, position in match.pairs]
    taken = {position for other in alignment.rows if other is not match for _, position in other.pairs}
    heard = [
        token
        for position in range(positions[0], positions[-1] + 1)
        if position not in taken
        for token in tokens(alignment.words[position].text)
    ]
    said = tokens(row.dialogue_cleaned)
    return round(Levenshtein.distance(said, heard) / len(said), 4) if said else None


def _far(annotated: Seconds, heard: Seconds, alignment: Alignment) -> bool:
    time_map = alignment.time_map
    expected = time_map.heard(annotated) if time_map.trusted else annotated
    return abs(heard - expected) > _FAR


def _word(word: HeardWord) -> dict[str, Any]:
    return {
        "word_index": word.word_index,
        "text": word.text,
        "start": word.start,
        "end": word.end,
        "confidence": word.confidence,
    }
