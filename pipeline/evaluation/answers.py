"""Reading the answer of a model: from its text to a checked answer, or to the reason why there is none.

The steps, in order; the first that gives a valid answer wins and is stored with it:

1. ``as_is``: the text, without thinking, is a JSON object;
2. ``fenced``: a code block holds it;
3. ``first_object``: it stands somewhere in the text;
4. ``repaired``: it is there but broken, and repair gives a valid one; or the text names one candidate and no object.

``reasked`` is the harness's: the same steps on the answer to one more question. Nothing is guessed: a label is never
mapped to a similar one, a short ranking is not filled up, two different answers are none, and the answer that a limit
of tokens cut off is not repaired.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, ValidationInfo, create_model
from pydantic_core import PydanticCustomError

from pipeline.evaluation.outcomes import ParseStep
from pipeline.store import Json

__all__ = [
    "RANKED",
    "Answer",
    "Expected",
    "Reading",
    "Reason",
    "json_objects",
    "read_answer",
    "read_object",
    "without_thinking",
]

T = TypeVar("T")

RANKED: Mapping[str, str] = {"rpp": "labels", "stp": "targets", "ssp": "strategies"}
"""Task to the key of its ranking."""

_PLACES = 3
"""Places of a ranking that count; more are cut off."""


class Reason(StrEnum):
    """Why an answer is invalid."""

    REFUSED = "refused"
    RAN_OUT_OF_TOKENS = "ran_out_of_tokens"
    NO_ANSWER = "no_answer"
    """Nothing but blanks or thinking."""
    INVALID_FORMAT = "invalid_response_format"
    NOT_A_CANDIDATE = "not_a_candidate"
    SEVERAL_ANSWERS = "several_answers"
    """The text holds valid answers that differ."""


@dataclass(frozen=True)
class Expected:
    """What a valid answer must fit."""

    task: str
    candidates: tuple[str, ...] = ()
    """RPP, STP, SSP: the names that may stand in the ranking."""


@dataclass(frozen=True)
class Answer:
    """A valid answer; only the fields of its task are set."""

    ranking: tuple[str, ...] | None = None
    """ITP ``yes`` or ``no``; RPP, STP, SSP at most three candidates, best first, repeats as given."""
    emotion: str | None = None
    intensity: float | None = None
    """0 to 10."""
    viewpoints: tuple[Mapping[str, str | None], ...] | None = None


@dataclass(frozen=True)
class Reading(Generic[T]):
    """What came of reading a text: an answer with the step that won, or a reason with what is wrong."""

    answer: T | None = None
    step: ParseStep | None = None
    reason: Reason | None = None
    detail: str = ""
    """What is wrong, as a sentence for the one further question. It may quote the answer."""


def read_answer(text: str, expected: Expected, *, truncated: bool = False, refused: bool = False) -> Reading[Answer]:
    """Read one answer.

    Args:
        text: What the model wrote, its thinking included or not.
        expected: Task and candidates.
        truncated: The server says that the limit of tokens ended the answer.
        refused: The server says that the model, or a filter, refused.
    """
    reading = read_object(text, partial(_validated, expected=expected), truncated=truncated, refused=refused)
    if reading.reason is Reason.INVALID_FORMAT and "{" not in (visible := without_thinking(text)):
        named = _named(visible, ("yes", "no") if expected.task == "itp" else expected.candidates)
        if named is not None:
            return Reading(answer=Answer(ranking=(named,)), step=ParseStep.REPAIRED)
    return reading


def read_object(
    text: str, validate: Callable[[Json], T], *, truncated: bool = False, refused: bool = False
) -> Reading[T]:
    """Read an answer that is one JSON object, by the same steps as the answers of tasks.

    Args:
        text: What the model wrote, its thinking included or not.
        validate: Makes the answer of an object, or raises a pydantic ``ValidationError``.
        truncated: The server says that the limit of tokens ended the answer.
        refused: The server says that the model, or a filter, refused.
    """
    if refused:
        return Reading(reason=Reason.REFUSED, detail="The request was refused.")
    whole = _object(text)
    if whole is not None:
        return _decided([whole], ParseStep.AS_IS, validate) or _failed(whole, validate)
    visible = without_thinking(text)
    if not visible:
        reason = Reason.RAN_OUT_OF_TOKENS if truncated else Reason.NO_ANSWER
        return Reading(reason=reason, detail="There was no answer, only thinking or nothing.")
    return _read_visible(visible, validate, truncated=truncated)


def _read_visible(visible: str, validate: Callable[[Json], T], *, truncated: bool) -> Reading[T]:
    first: Json = None
    for step, found in _steps(visible, repair=not truncated):
        reading = _decided(found, step, validate)
        if reading is not None:
            return reading
        first = found[0] if first is None and found else first
    if truncated:
        return Reading(reason=Reason.RAN_OUT_OF_TOKENS, detail="The answer was cut off.")
    if _REFUSAL.search(visible[:300]):
        return Reading(reason=Reason.REFUSED, detail="The request was refused.")
    if first is not None:
        return _failed(first, validate)
    return Reading(reason=Reason.INVALID_FORMAT, detail="There was no JSON object in the answer.")


def _steps(visible: str, *, repair: bool) -> Iterator[tuple[ParseStep, list[Json]]]:
    whole = _object(visible)
    yield ParseStep.AS_IS, [] if whole is None else [whole]
    blocks = [block.strip() for block in _FENCE.findall(visible)]
    yield ParseStep.FENCED, [found for block in blocks if (found := _object(block)) is not None]
    yield ParseStep.FIRST_OBJECT, list(json_objects(visible))
    if repair:
        yield ParseStep.REPAIRED, _repaired(blocks[0] if len(blocks) == 1 else visible)


def _decided(found: Sequence[Json], step: ParseStep, validate: Callable[[Json], T]) -> Reading[T] | None:
    """The reading of the objects of a step; None if none of them is valid."""
    answers: list[T] = []
    for item in found:
        try:
            answer = validate(item)
        except ValidationError:
            continue
        if answer not in answers:
            answers.append(answer)
    if len(answers) > 1:
        return Reading(reason=Reason.SEVERAL_ANSWERS, detail="There were several different answers.")
    return Reading(answer=answers[0], step=step) if answers else None


def _failed(found: Json, validate: Callable[[Json], T]) -> Reading[T]:
    try:
        validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        reason = Reason.NOT_A_CANDIDATE if first["type"] == Reason.NOT_A_CANDIDATE else Reason.INVALID_FORMAT
        return Reading(reason=reason, detail=f"{place}: {first['msg']}.")
    raise AssertionError("only called for objects that are not valid")


# --- from text to objects -------------------------------------------------------------------------------------------

_FENCE = re.compile(r"(?:```|~~~)[^\S\n]*[\w-]*[^\S\n]*\n?(.*?)(?:```|~~~)", re.DOTALL)
_TAG = r"(?:think|thinking|thought|reasoning|analysis|scratchpad)"
_OPEN = re.compile(rf"[<\[◁]{_TAG}(?:\s[^>\]▷]*)?[>\]▷]", re.IGNORECASE)
_CLOSE = re.compile(rf"[<\[◁]/{_TAG}[>\]▷]", re.IGNORECASE)
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_REFUSAL = re.compile(
    r"\bI(?:'m| am)\s+(?:sorry|unable|not able)\b|\bI\s+(?:cannot|can't|can not|won't|will not|must decline)\b"
    r"|\b(?:cannot|can't|unable to)\s+(?:assist|help|comply|continue|provide)\b",
    re.IGNORECASE,
)


def _object(text: str) -> dict[str, Json] | None:
    """The text as one JSON object; None if it is anything else, or says a key twice."""
    try:
        found = json.loads(text.strip().lstrip("\ufeff"), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        msg = "a key is given twice"
        raise ValueError(msg)
    return found


def json_objects(text: str) -> Iterator[dict[str, Json]]:
    """The outermost whole objects in a text, in order."""
    decoder = json.JSONDecoder(object_pairs_hook=_once)
    at = text.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield found
        at = text.find("{", end)


def _repaired(text: str) -> list[Json]:
    from json_repair import repair_json  # noqa: PLC0415 - comes with the extra `evaluate`

    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        return []
    # Without a closing brace the end of the text is the end of the object: only a bracket was forgotten.
    broken = text[start : end + 1] if end > start else text[start:]
    if re.search(r'"([^"\n]*)"\s*:.*"\1"\s*:', broken, re.DOTALL) and broken.count("{") == 1:
        return []  # repair would choose between two values of one key
    try:
        found = repair_json(broken, return_objects=True)
    except (ValueError, RecursionError):
        return []
    return [found] if isinstance(found, dict) and found else []


def without_thinking(text: str) -> str:
    """The text outside thinking; empty where a thinking block never ends."""
    if "<|channel|>" in text:
        _, _, text = text.rpartition(_FINAL_CHANNEL) if _FINAL_CHANNEL in text else ("", "", "")
        text = re.sub(r"<\|\w+\|>", "", text)
    while (close := _CLOSE.search(text)) is not None:
        opened = list(_OPEN.finditer(text, 0, close.start()))
        # A block without its opening tag began with the text: chat templates swallow the tag.
        text = (text[: opened[-1].start()] if opened else "") + text[close.end() :]
    return "" if _OPEN.search(text) else text.strip()


# --- from objects to answers ----------------------------------------------------------------------------------------

_CUE = r"(?:\b(?:is|be|choose|pick|answer|label|strategy|target|pattern)\b\s*:?|[:=])\s*[\"'`*_(]*"


_AROUND = "*`\"'\u201c\u201d\u2018\u2019_.,;:!()[] \n\t"


def _plain(text: str) -> str:
    """Without case, quotes, markdown and final points; blanks and hyphens as underscores."""
    text = unicodedata.normalize("NFKC", text).strip().strip(_AROUND)
    return re.sub(r"[\s\-_\u2010-\u2015]+", "_", text).casefold()


def _named(text: str, candidates: Sequence[str]) -> str | None:
    """The one candidate that a text is, or says that the answer is; None if there is none, or more than one."""
    if text in candidates:
        return text
    same = [candidate for candidate in candidates if _plain(candidate) == _plain(text)]
    if not same and len(text.split()) >= 3:
        same = [candidate for candidate in candidates if _said(candidate, text)]
    return same[0] if len(same) == 1 else None


def _said(candidate: str, text: str) -> bool:
    words = r"[\s_-]+".join(re.escape(word) for word in re.split(r"[\s_-]+", candidate))
    return re.search(rf"{_CUE}{words}(?![\w-])", text, re.IGNORECASE) is not None


def _label(value: object, info: ValidationInfo) -> str:
    found = _named(value, info.context["candidates"]) if isinstance(value, str) and info.context else None
    if found is None:
        raise PydanticCustomError(
            Reason.NOT_A_CANDIDATE, "{value} is not one of the candidates", {"value": repr(value)}
        )
    return found


def _ranking(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _decision(value: object) -> object:
    """A truth value or the word for it; a number is none."""
    if isinstance(value, bool):
        return value
    word = _plain(value) if isinstance(value, str) else ""
    if word in ("yes", "true", "no", "false"):
        return word in ("yes", "true")
    raise PydanticCustomError("decision", "should be true or false")


def _number(value: object) -> float:
    """A number, or a text that is one, alone or out of ten."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    found = _SCALE.fullmatch(value.strip(" *`")) if isinstance(value, str) else None
    if found is None:
        raise PydanticCustomError("number", "should be a number from 0 to 10")
    return float(found[1])


_SCALE = re.compile(r"(\d+(?:\.\d+)?)(?:\s*(?:/|out of)\s*10)?")
_Label = Annotated[str, BeforeValidator(_label)]
_Text = Annotated[str, Field(min_length=1, pattern=r"\S")]


class _Decision(BaseModel):
    should_speak: Annotated[bool, BeforeValidator(_decision)]


class _Emotion(BaseModel):
    emotion: _Text
    intensity: Annotated[float, BeforeValidator(_number), Field(ge=0, le=10)]


class _View(BaseModel):
    source: _Text
    target: _Text
    viewpoint: _Text
    attitude: str | None = None


class _Views(BaseModel):
    viewpoints: list[_View]


_Ranking = Annotated[list[_Label], BeforeValidator(_ranking), Field(min_length=1)]
_RANKINGS = {task: create_model(f"_{task.upper()}", **{key: (_Ranking, ...)}) for task, key in RANKED.items()}  # type: ignore[call-overload]


def _validated(found: Json, *, expected: Expected) -> Answer:
    """The answer that an object holds.

    Raises:
        ValidationError: If it holds none.
    """
    task = expected.task
    if task == "itp":
        return Answer(ranking=("yes" if _Decision.model_validate(found).should_speak else "no",))
    if task == "er":
        emotion = _Emotion.model_validate(found)
        return Answer(emotion=emotion.emotion.strip(), intensity=emotion.intensity)
    if task == "vp":
        return Answer(viewpoints=tuple(view.model_dump() for view in _Views.model_validate(found).viewpoints))
    ranked = _RANKINGS[task].model_validate(found, context={"candidates": expected.candidates})
    return Answer(ranking=tuple(getattr(ranked, RANKED[task])[:_PLACES]))
