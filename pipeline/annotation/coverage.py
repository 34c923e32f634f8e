"""Rows against the subtitles of a conversation: every spoken cue is accounted for, and every row says what was said.

A cue may give two rows and a row may span several cues, so words are compared, not borders: those of a cue with those
of the rows at its time, and the other way round, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rapidfuzz.distance import LCSseq

from pipeline.annotation.findings import Finding, Severity
from pipeline.annotation.model import Annotation, Row
from pipeline.join.match import tokens
from pipeline.subtitles import Cue
from pipeline.times import Interval, Seconds, format_clock

__all__ = ["check_coverage"]

_SLACK: Seconds = 0.5
"""Rows are anchored to cues by hand: their borders may differ by this much."""
_COVERED = 0.5
"""Share of a cue's words that its rows must hold; below, the cue is not accounted for."""
_FAITHFUL = 0.8
"""Share of a row's words that its cues must hold: disfluencies are cleaned and names are corrected, no more."""
_SHOWN = 6


def check_coverage(annotation: Annotation, cues: Sequence[Cue]) -> list[Finding]:
    """Compare an annotation with the subtitles.

    Args:
        annotation: The rows, after normalisation.
        cues: The subtitles of the conversation.

    Returns:
        A warning for each spoken cue that no row holds, and for each row whose words are not those of its cues. Cues
        that only describe a sound count as silent.
    """
    spoken = [cue for cue in cues if _words(cue.words)]
    if not spoken:
        return []
    rows = [(row, _span(row), _words(_texts(row))) for row in annotation.rows]
    found = [finding for cue in spoken for finding in _uncovered(annotation.conversation_id, cue, rows)]
    texts = [(cue, _words(cue.words)) for cue in spoken]
    for row, span, words in rows:
        said = [word for cue, text in texts if _meet(span, cue.interval) for word in text]
        found += _unfaithful(annotation.conversation_id, row, words, said)
    return found


def _uncovered(conversation_id: str, cue: Cue, rows: Sequence[tuple[Row, Interval, list[str]]]) -> Iterator[Finding]:
    near = [(row, words) for row, span, words in rows if _meet(span, cue.interval)]
    said = _words(cue.words)
    held = [word for _, words in near for word in words]
    if LCSseq.similarity(said, held) >= _COVERED * len(said):
        return
    place = f"{cue.place}, {format_clock(cue.start)} to {format_clock(cue.end)}"
    what = f"{' '.join(cue.words)!r} ({place}) is in no row"
    if near:
        numbers = ", ".join(str(row.row_index) for row, _ in near)
        yield Finding(
            Severity.WARNING, "cue-not-covered", conversation_id, near[0][0].row_index, "dialogue_cleaned", what,
            f"say it in row {numbers}, or give it a row of its own",
        )  # fmt: skip
    else:
        hint = "add a row for it, or correct the times of the rows around it"
        yield Finding(Severity.WARNING, "cue-not-covered", conversation_id, None, "rows", what, hint)


def _unfaithful(conversation_id: str, row: Row, words: list[str], said: list[str]) -> Iterator[Finding]:
    if not words:
        return
    kept = LCSseq.similarity(words, said)
    if kept >= _FAITHFUL * len(words):
        return
    if not said:
        text, hint = "the subtitles are silent here", "correct the times, or take out what nobody says"
    else:
        other = [words[place] for place in _unmatched(words, said)]
        text = f"{len(other)} of {len(words)} words are not in the subtitles: {' '.join(other[:_SHOWN])}"
        hint = "write what is said; clean it, but do not put it in other words"
    yield Finding(
        Severity.WARNING, "text-not-in-subtitles", conversation_id, row.row_index, "dialogue_cleaned", text, hint
    )


def _unmatched(words: list[str], said: list[str]) -> list[int]:
    """Places of the words that have no partner."""
    blocks = LCSseq.editops(words, said).as_matching_blocks()
    matched = {place for block in blocks for place in range(block.a, block.a + block.size)}
    return [place for place in range(len(words)) if place not in matched]


def _texts(row: Row) -> list[str]:
    return [row.dialogue_cleaned, *(spoken.content for spoken in row.background_dialogue)]


def _words(texts: Iterable[str]) -> list[str]:
    return [word for text in texts for word in tokens(text)]


def _span(row: Row) -> Interval:
    # A row with its times the wrong way round has a finding of its own.
    return Interval(min(row.start_time, row.end_time), max(row.start_time, row.end_time))


def _meet(row: Interval, cue: Interval) -> bool:
    return row.start - _SLACK < cue.end and cue.start < row.end + _SLACK
