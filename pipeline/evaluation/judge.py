"""Judging answers of ER and VP by a language model: what a judge is shown, and how its answer is read.

A judge sees the gold and the answer, nothing else: not the dialogue, not the model, not the scores of others. What is
no matter of meaning never reaches it: viewpoints are put in one order, and case, blanks, quotes, list marks and final
points are made the same. Which of the two texts comes first changes from one repeat to the next, so that a judge with a
leaning for the first or the last place leans both ways.

A judgement that cannot be read has no score. It is kept and counted, never guessed.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from pipeline.evaluation.answers import json_objects, without_thinking
from pipeline.evaluation.outcomes import Status
from pipeline.store import Json

__all__ = [
    "JUDGED",
    "JudgePrompt",
    "JudgeRequest",
    "Judgement",
    "judge_prompt",
    "judge_requests",
    "on_five",
    "read_judgement",
    "rubric_digest",
]

JUDGED = ("er", "vp")
"""Tasks whose answers are judged."""

Viewpoints = Sequence[Mapping[str, str | None]]


class JudgePrompt(NamedTuple):
    """What is sent to a judge."""

    system: str
    """The rubric."""
    user: str
    schema: Json
    """JSON Schema of the answer."""


@dataclass(frozen=True)
class JudgeRequest:
    """One question to a judge."""

    instance_id: str
    task: str
    repeat: int
    """From 0."""
    prompt: JudgePrompt


@dataclass(frozen=True)
class Judgement:
    """What a judge said; every score is None where its answer could not be read."""

    score: float | None = None
    """ER 1 to 5; VP 0 to 6, the sum of its two parts."""
    pairing: float | None = None
    """VP 0 to 2."""
    viewpoint: float | None = None
    """VP 0 to 4."""
    reason: str | None = None
    """The judge's, or why the answer could not be read."""

    def row(self, judge: str, repeat: int) -> dict[str, Any]:
        """As the column ``judgements`` of the outcomes table holds it."""
        return {"judge": judge, "repeat": repeat, **vars(self)}


def on_five(score: float) -> float:
    """A VP score of 0 to 6 on the scale of 1 to 5, linearly: ``1 + 4 * score / 6``."""
    return 1 + 4 * score / 6


@cache
def rubric_digest(task: str) -> str:
    """SHA-256 of the rubric of a task: the version of its wording."""
    return hashlib.sha256(_rubric(task).encode()).hexdigest()


def judge_prompt(task: str, gold: str | Viewpoints, answer: str | Viewpoints, *, repeat: int = 0) -> JudgePrompt:
    """What a judge is asked about one answer.

    Args:
        task: ``er`` or ``vp``.
        gold: ER the emotion; VP the viewpoints.
        answer: The same of the model.
        repeat: From 0. Even ones show the reference first, odd ones the answer.
    """
    shown = [f"Reference:\n{_shown(task, gold)}", f"Answer:\n{_shown(task, answer)}"]
    return JudgePrompt(_rubric(task), "\n\n".join(shown[::-1] if repeat % 2 else shown), _SCHEMAS[task])


def judge_requests(rows: Iterable[Mapping[str, Any]], repeats: int = 1) -> Iterator[JudgeRequest]:
    """What a judge is to be asked about the rows of an outcomes table.

    Rows without a valid answer are left out: their score is fixed by rule.
    """
    for row in rows:
        if row["task"] not in JUDGED or row["status"] != Status.SCORED:
            continue
        gold, answer = (
            (row["gold_label"], row["answer_emotion"])
            if row["task"] == "er"
            else (row["gold_viewpoints"], row["answer_viewpoints"])
        )
        for repeat in range(repeats):
            prompt = judge_prompt(row["task"], gold, answer or (), repeat=repeat)
            yield JudgeRequest(row["instance_id"], row["task"], repeat, prompt)


def read_judgement(text: str, task: str) -> Judgement:
    """Read what a judge said.

    Scores count where they are labelled: in a JSON object, else as ``score: 4`` in the text; for ER the text may also
    be the number alone. ``4/5`` and ``4 out of 5`` are 4; over another top it is no score, nor is a fraction, a number
    off the scale, or two different scores.
    """
    visible = without_thinking(text)
    found: list[BaseModel] = []
    objects = list(json_objects(visible))
    for values in objects or [_labelled(visible, task)]:
        try:
            one = _MODELS[task].model_validate(values)
        except ValidationError:
            continue
        if not any(one.model_dump(exclude={"reason"}) == other.model_dump(exclude={"reason"}) for other in found):
            found.append(one)
    if len(found) != 1:
        return Judgement(reason="unreadable: several scores" if found else "unreadable: no valid score")
    values = found[0].model_dump()
    score = values["score"] if task == "er" else values["pairing"] + values["viewpoint"]
    return Judgement(score, values.get("pairing"), values.get("viewpoint"), values["reason"] or None)


# --- what is shown --------------------------------------------------------------------------------------------------


@cache
def _rubric(task: str) -> str:
    return (files("annotation_schema") / "prompts" / f"judge_{task}.md").read_text("utf-8").strip()


def _shown(task: str, content: str | Viewpoints) -> str:
    """As JSON, so that no text can pass for a heading or an instruction of ours."""
    if task == "er":
        return json.dumps(_plain(str(content or "")), ensure_ascii=False)
    views: list[dict[str, str]] = []
    for view in content:
        assert isinstance(view, Mapping)
        given = {name: _plain(view.get(name) or "") for name in ("source", "target", "viewpoint", "attitude")}
        views.append({name: value for name, value in given.items() if value})
    ordered = sorted(json.dumps(view, ensure_ascii=False) for view in views)
    return "[\n" + ",\n".join(ordered) + "\n]" if ordered else "[]"


_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"})


def _plain(text: str) -> str:
    """A text without what is style alone."""
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold()
    text = re.sub(r"[*_`#\"]+", "", text)
    text = re.sub(r"^\s*(?:[-\u2022]|\d+[.)])\s+", "", text)
    return " ".join(text.split()).strip(" .,;:!")


# --- what is read ---------------------------------------------------------------------------------------------------

_NUMBER = r"(-?\d+(?:\.\d+)?)"
_OF = re.compile(rf"{_NUMBER}\s*(?:/|\(?\s*out\s+of)\s*(\d+(?:\.\d+)?)\s*\)?", re.IGNORECASE)


def _whole(top: int) -> BeforeValidator:
    """Reads ``4``, ``4.0``, ``"4"`` and ``"4/5"``; leaves anything else to be refused."""

    def read(value: Any) -> Any:
        if isinstance(value, bool):
            msg = "not a number"
            raise ValueError(msg)  # noqa: TRY004 - pydantic reports only ValueError
        if isinstance(value, str):
            over = _OF.fullmatch(value.strip())
            value = over[1] if over and float(over[2]) == top else value.strip()
            value = float(value)
        if isinstance(value, float) and (not math.isfinite(value) or value != int(value)):
            msg = "not a whole number"
            raise ValueError(msg)
        return value

    return BeforeValidator(read)


class _Emotion(BaseModel):
    score: Annotated[int, _whole(5), Field(ge=1, le=5)]
    reason: str = ""


class _Views(BaseModel):
    pairing: Annotated[int, _whole(2), Field(ge=0, le=2)]
    viewpoint: Annotated[int, _whole(4), Field(ge=0, le=4)]
    reason: str = ""


_MODELS: Mapping[str, type[BaseModel]] = {"er": _Emotion, "vp": _Views}
_PARTS: Mapping[str, tuple[str, ...]] = {"er": ("score",), "vp": ("pairing", "viewpoint")}


def _labelled(text: str, task: str) -> dict[str, str]:
    """The scores that a text without an object names, by label; none of a label that has two values."""
    text = re.sub(r"[*_`]+", "", text)
    if task == "er" and re.fullmatch(rf"{_NUMBER}(?:\s*/\s*\d+)?", text.strip(" .\n")):
        return {"score": text.strip(" .\n")}
    found = {}
    for name in _PARTS[task]:
        label = (
            rf"\b{name}\b\s*(?:\bis\b|[:=])?\s*({_NUMBER}(?:\s*(?:/|\(?\s*out\s+of)\s*\d+\)?)?)(?!\s*[-\u2013]\s*\d)"
        )
        values = {match[0] for match in re.findall(label, text, re.IGNORECASE)}
        if len(values) == 1:
            found[name] = values.pop()
    return found


def _answer_schema(task: str) -> Json:
    tops = {"score": (1, 5), "pairing": (0, 2), "viewpoint": (0, 4)}
    scores = {name: {"type": "integer", "minimum": tops[name][0], "maximum": tops[name][1]} for name in _PARTS[task]}
    return {
        "type": "object",
        # The reason comes first: it is to lead to the score, not to defend it.
        "properties": {"reason": {"type": "string"}, **scores},
        "required": ["reason", *scores],
        "additionalProperties": False,
    }


_SCHEMAS: Mapping[str, Json] = {task: _answer_schema(task) for task in JUDGED}
