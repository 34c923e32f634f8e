"""The rules of an annotation. They return every finding, never only the first.

An error means that a row cannot be used. The oddities that the published release is known to hold are warnings at most:
it must build as it is.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.annotation.findings import Finding, Severity
from pipeline.annotation.labels import LabelSet, label_set
from pipeline.annotation.model import Annotation, Row
from pipeline.conversation import THERAPIST, Scenario
from pipeline.times import Seconds

__all__ = ["validate"]

_LONGEST = 86_400.0
"""Seconds that no conversation lasts: said where the length of the clip is not known."""
_EDGE = 0.05
"""Seconds by which a row may end after the clip: lengths are rounded."""


@dataclass(frozen=True)
class _Found:
    severity: Severity
    rule: str
    field: str | None
    message: str
    suggestion: str | None = None


@dataclass(frozen=True)
class _Context:
    annotation: Annotation
    labels: LabelSet
    duration: Seconds | None
    entities: tuple[str, ...]
    speakers: frozenset[str]
    indexes: frozenset[int]


def validate(annotation: Annotation, *, duration: Seconds | None = None) -> list[Finding]:
    """Check an annotation.

    Args:
        annotation: The rows, after normalisation.
        duration: Length of the clip in seconds; None if there is none.

    Returns:
        All findings, by row.
    """
    scenario = annotation.scenario
    speakers = dict.fromkeys(row.primary_speaker for row in annotation.rows)
    known = dict.fromkeys((*annotation.participants, THERAPIST, scenario.group_label))
    context = _Context(
        annotation=annotation,
        labels=label_set(scenario),
        duration=duration,
        entities=tuple(known),
        speakers=frozenset(speakers),
        indexes=frozenset(row.row_index for row in annotation.rows),
    )
    findings = [_finding(annotation, None, found) for rule in _WHOLE_RULES for found in rule(context, tuple(speakers))]
    for position, row in enumerate(annotation.rows):
        before = annotation.rows[position - 1] if position else None
        findings += [
            _finding(annotation, row.row_index, found) for rule in _ROW_RULES for found in rule(row, before, context)
        ]
    return findings


def _finding(annotation: Annotation, row: int | None, found: _Found) -> Finding:
    return Finding(
        found.severity, found.rule, annotation.conversation_id, row, found.field, found.message, found.suggestion
    )


# --- the conversation as a whole


def _has_rows(context: _Context, speakers: Sequence[str]) -> Iterator[_Found]:
    del speakers
    if not context.annotation.rows:
        yield _Found(Severity.ERROR, "no-rows", "rows", "there is no row", "annotate it, or leave the file out")


def _numbered(context: _Context, speakers: Sequence[str]) -> Iterator[_Found]:
    del speakers
    expected = range(1, len(context.annotation.rows) + 1)
    if [row.row_index for row in context.annotation.rows] != list(expected):
        text = "rows are not numbered 1, 2, 3, ... in order"
        yield _Found(Severity.ERROR, "row-index", "row_index", text, "number them again")


def _listed(context: _Context, speakers: Sequence[str]) -> Iterator[_Found]:
    for name in speakers:
        if name and name not in context.entities:
            near = _near(name, context.entities)
            text = f"{name!r} speaks but is not listed"
            suggestion = f"is it {near!r}?" if near else f"add it to `participants:` ({', '.join(context.entities)})"
            yield _Found(Severity.WARNING, "speaker-not-listed", "participants", text, suggestion)


def _spelt_alike(context: _Context, speakers: Sequence[str]) -> Iterator[_Found]:
    names = dict.fromkeys((*context.annotation.participants, *speakers))
    seen: dict[str, str] = {}
    for name in names:
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().casefold().replace(" ", "")
        if plain in seen:
            text = f"{name!r} and {seen[plain]!r} differ only by spelling"
            yield _Found(Severity.WARNING, "name-spelling", "primary_speaker", text, "use one spelling")
        seen.setdefault(plain, name)


_WHOLE_RULES: tuple[Callable[[_Context, Sequence[str]], Iterator[_Found]], ...] = (
    _has_rows,
    _numbered,
    _listed,
    _spelt_alike,
)


# --- one row


def _times(row: Row, before: Row | None, context: _Context) -> Iterator[_Found]:
    if row.start_time < 0:
        text = f"starts at {row.start_time}, before the clip"
        yield _Found(Severity.ERROR, "time-negative", "start_time", text, "times count from 0")
    if row.end_time <= row.start_time:
        text = f"ends at {row.end_time}, not after its start {row.start_time}"
        yield _Found(Severity.ERROR, "time-order", "end_time", text, "correct start or end")
    if before is not None and row.start_time < before.start_time:
        text = f"starts before row {before.row_index}"
        yield _Found(Severity.WARNING, "row-order", "start_time", text, "put rows in the order of their start")
    if context.duration is not None and row.end_time > context.duration + _EDGE:
        text = f"ends at {row.end_time}, the clip ends at {context.duration}"
        yield _Found(Severity.ERROR, "time-beyond-clip", "end_time", text, _slip(row.end_time, context.duration))
    if context.duration is None and row.end_time > _LONGEST:
        text = f"ends at {row.end_time:g} s, after more than a day"
        yield _Found(Severity.ERROR, "time-beyond-clip", "end_time", text, "are these milliseconds? divide by 1000")
    if 0 < row.end_time - row.start_time < 0.05:
        text = f"lasts {row.end_time - row.start_time:.3f} s"
        yield _Found(Severity.WARNING, "time-short", "end_time", text, "check the end")


def _slip(end: Seconds, duration: Seconds) -> str:
    """The likely mistake behind a time beyond the clip."""
    if end / 1000 <= duration + _EDGE and end > 10 * duration:
        return "are these milliseconds? divide by 1000"
    minutes, seconds = divmod(end, 100)
    if minutes * 60 + seconds <= duration + _EDGE and seconds < 60:
        return f"is it minutes and seconds? {int(minutes)}:{seconds:02.0f} is {minutes * 60 + seconds:g} s"
    return "check the time, and that the annotation belongs to this recording"


def _overlap(row: Row, before: Row | None, context: _Context) -> Iterator[_Found]:
    del context
    if before is None:
        return
    if (row.start_time, row.end_time, row.primary_speaker, row.dialogue_cleaned) == (
        before.start_time,
        before.end_time,
        before.primary_speaker,
        before.dialogue_cleaned,
    ):
        text = f"is the same as row {before.row_index}"
        yield _Found(Severity.WARNING, "duplicate-row", "dialogue_cleaned", text, "delete one of them")
    elif row.primary_speaker == before.primary_speaker and row.start_time < before.end_time - 0.5:
        text = f"the same person speaks in row {before.row_index} until {before.end_time}"
        yield _Found(Severity.INFO, "overlap-same-speaker", "start_time", text, "check where the one ends")


def _speaker(row: Row, before: Row | None, context: _Context) -> Iterator[_Found]:
    del before
    if not row.primary_speaker.strip():
        yield _Found(Severity.ERROR, "no-speaker", "primary_speaker", "nobody speaks", "name the speaker")
    elif row.primary_speaker == context.annotation.scenario.group_label:
        text = f"{row.primary_speaker!r} is the group; one person speaks"
        yield _Found(Severity.ERROR, "group-speaks", "primary_speaker", text, "name the person")


def _target(row: Row, before: Row | None, context: _Context) -> Iterator[_Found]:
    del before, context
    if not row.target:
        yield _Found(Severity.WARNING, "no-target", "target", "nobody is addressed", "name the addressee, or the group")
    if row.primary_speaker in row.target:
        text = f"{row.primary_speaker!r} speaks to themselves"
        yield _Found(Severity.WARNING, "self-target", "target", text, "name the other one")


def _text(row: Row, before: Row | None, context: _Context) -> Iterator[_Found]:
    del before, context
    if not row.dialogue_cleaned.strip():
        text = "nothing is said"
        yield _Found(Severity.WARNING, "no-text", "dialogue_cleaned", text, "write what is said, or merge the row")


def _entities(row: Row, before: Row | None, context: _Context) -> Iterator[_Found]:
    del before
    for field, name in _named(row):
        if name not in context.entities and name not in context.speakers:
            near = _near(name, context.entities)
            suggestion = f"is it {near!r}?" if near else f"use one of {', '.join(context.entities)}"
            yield _Found(
                Severity.WARNING, "unknown-name", field, f"{name!r} is nobody in this conversation", suggestion
            )


def _named(row: Row) -> Iterator[tuple[str, str]]:
    """Every name of a row but the speaker's, with its field."""
    for name in row.target:
        yield "target", name
    for part in row.background_dialogue:
        yield "background_dialogue", part.speaker
        yield from (("background_dialogue", name) for name in part.target)
    for field in ("body_posture", "facial_expressions", "self_directed_behavior"):
        yield from ((field, part.person) for part in getattr(row, field))
    for act in row.interaction_behavior:
        yield "interaction_behavior", act.initiator
        yield from (("interaction_behavior", name) for name in act.target)
    yield from (("internal_emotion", part.person) for part in row.internal_emotion)
    for view in row.viewpoints_attitudes:
        yield "viewpoints_attitudes", view.source
        yield "viewpoints_attitudes", view.target
    for move in row.support_strategy:
        yield from (("support_strategy", name) for name in move.target)


def _actors(row: Row, before: Row | None, context: _Context) -> Iterator[_Found]:
    del before, context
    pairs: list[tuple[str, str, Iterable[str]]] = [
        *(("background_dialogue", part.speaker, part.target) for part in row.background_dialogue),
        *(("interaction_behavior", part.initiator, part.target) for part in row.interaction_behavior),
        *(("viewpoints_attitudes", part.source, (part.target,)) for part in row.viewpoints_attitudes),
    ]
    for field, actor, targets in pairs:
        if actor in targets:
            text = f"{actor!r} is both actor and target"
            yield _Found(Severity.WARNING, "self-target", field, text, "name the other one")


def _utterance_type(row: Row, before: Row | None, context: _Context) -> Iterator[_Found]:
    del before
    known = [label.label for label in context.labels.utterance_types]
    if row.is_therapist:
        if row.utterance_type:
            text = f"the therapist's row has the type {row.utterance_type!r}"
            yield _Found(Severity.WARNING, "therapist-type", "utterance_type", text, "leave it empty")
    elif not row.utterance_type:
        text = "the type of the utterance is missing"
        yield _Found(Severity.WARNING, "no-type", "utterance_type", text, f"one of {', '.join(known)}")
    elif row.utterance_type not in known:
        yield _unknown_label(row.utterance_type, "utterance_type", known)


def _relation(row: Row, before: Row | None, context: _Context) -> Iterator[_Found]:
    del before
    known = [label.label for label in context.labels.relation_patterns]
    other = _other_labels(context, "relation_patterns")
    for field in ("relation_pattern", "relation_cycle_state"):
        label = getattr(row, field)
        if label and label not in known:
            yield _unknown_label(label, field, known, other)
    for field in ("relation_pattern_evidence_rows", "relation_cycle_evidence_rows"):
        for index in getattr(row, field) or ():
            if index not in context.indexes:
                text = f"row {index} does not exist"
                yield _Found(Severity.WARNING, "evidence-row", field, text, "name rows of this conversation")


def _strategy(row: Row, before: Row | None, context: _Context) -> Iterator[_Found]:
    del before
    known = [label.label for label in context.labels.support_strategies]
    other = _other_labels(context, "support_strategies")
    group = context.annotation.scenario.group_label
    if row.support_strategy and not row.is_therapist:
        text = "a client's row holds a support strategy"
        yield _Found(Severity.WARNING, "client-supports", "support_strategy", text, "only the therapist supports")
    for move in row.support_strategy:
        if move.provider != THERAPIST:
            text = f"the provider is {move.provider!r}"
            yield _Found(Severity.WARNING, "provider", "support_strategy", text, f"it is always {THERAPIST!r}")
        if move.strategy_type not in known:
            yield _unknown_label(move.strategy_type, "support_strategy", known, other)
        if not move.target:
            text = "nobody is supported"
            yield _Found(Severity.WARNING, "no-target", "support_strategy", text, "name one person, or the group")
        if group in move.target and len(move.target) > 1:
            text = f"{group!r} stands beside other targets"
            yield _Found(Severity.WARNING, "group-not-alone", "support_strategy", text, f"keep {group!r} alone")
        if THERAPIST in move.target:
            text = "the therapist supports themselves"
            yield _Found(Severity.WARNING, "self-target", "support_strategy", text, "name a client")


def _emotion(row: Row, before: Row | None, context: _Context) -> Iterator[_Found]:
    del before, context
    for emotion in row.internal_emotion:
        if emotion.intensity is None:
            text = f"the emotion of {emotion.person!r} has no intensity"
            yield _Found(Severity.WARNING, "no-intensity", "internal_emotion", text, "0 to 10")
        elif not 0 <= emotion.intensity <= 10:
            text = f"the intensity {emotion.intensity:g} is off the scale"
            yield _Found(Severity.WARNING, "intensity-range", "internal_emotion", text, "0 to 10")
        if not emotion.emotion_description.strip():
            text = f"the emotion of {emotion.person!r} has no words"
            yield _Found(Severity.WARNING, "no-emotion-text", "internal_emotion", text, "name the emotion")


_ROW_RULES: tuple[Callable[[Row, Row | None, _Context], Iterator[_Found]], ...] = (
    _times,
    _overlap,
    _speaker,
    _target,
    _text,
    _entities,
    _actors,
    _utterance_type,
    _relation,
    _strategy,
    _emotion,
)


def _other_labels(context: _Context, kind: str) -> frozenset[str]:
    other = Scenario.FAMILY if context.annotation.scenario is Scenario.COUPLE else Scenario.COUPLE
    return frozenset(item.label for item in getattr(label_set(other), kind))


def _unknown_label(label: str, field: str, known: Sequence[str], other: frozenset[str] = frozenset()) -> _Found:
    if label in other:
        text, rule = f"{label!r} is a label of the other scenario", "label-other-scenario"
    else:
        text, rule = f"{label!r} is no label", "unknown-label"
    near = _near(label, known)
    return _Found(Severity.WARNING, rule, field, text, f"is it {near!r}?" if near else f"one of {', '.join(known)}")


def _near(name: str, known: Iterable[str]) -> str | None:
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return matches[0] if matches else None
