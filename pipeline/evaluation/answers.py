"""Reading the answer of a model: from its text to a checked answer, or to the reason why there is none.

All objects of a text are read before one counts. The first of these steps that gives the answer is stored with it:

1. ``as_is``: the text, without thinking, is a JSON object;
2. ``fenced``: a code block holds it;
3. ``first_object``: it stands somewhere in the text;
4. ``repaired``: it is there but broken, and repair gives a valid one; or the text names one candidate and no object.

``reasked`` is the harness's: the same steps on the answer to one more question. Nothing is guessed: a label is never
mapped to a similar one, a short ranking is not filled up, two different answers are none, whole or broken, and the
answer that a limit of tokens cut off is not repaired. No object inside a broken one is taken for the answer.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import islice
from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError, ValidationInfo, create_model
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
_MOST_OBJECTS = 100
"""Objects of one text that are read; a text with more is a model gone round in circles, and no answer."""
_MOST_REPAIRED = 50_000
"""Characters of broken objects in one text that are repaired: repair of degenerate text takes more than linear time."""


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
    visible = without_thinking(text)
    if refused or reading.reason not in (Reason.INVALID_FORMAT, Reason.REFUSED) or "{" in visible:
        return reading
    candidates = ("yes", "no") if expected.task == "itp" else expected.candidates
    named = _named(visible, candidates)
    if named is not None:
        return Reading(answer=Answer(ranking=(named,)), step=ParseStep.REPAIRED)
    if reading.reason is Reason.REFUSED and any(_mentions(visible, one) for one in expected.candidates):
        return Reading(reason=Reason.INVALID_FORMAT, detail=_NO_OBJECT)  # who weighs the candidates does not refuse
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
        return _decided([(whole, ParseStep.AS_IS)], validate) or _failed(whole, validate)
    visible = without_thinking(text)
    if not visible:
        reason = Reason.RAN_OUT_OF_TOKENS if truncated else Reason.NO_ANSWER
        return Reading(reason=reason, detail="There was no answer, only thinking or nothing.")
    return _read_visible(visible, validate, truncated=truncated)


def _read_visible(visible: str, validate: Callable[[Json], T], *, truncated: bool) -> Reading[T]:
    whole = _object(visible)
    if whole is not None:
        return _decided([(whole, ParseStep.AS_IS)], validate) or _failed(whole, validate)
    pieces = list(islice(_pieces(visible), _MOST_OBJECTS + 1))
    if len(pieces) > _MOST_OBJECTS:
        return Reading(reason=Reason.INVALID_FORMAT, detail="There were too many objects in the answer.")
    broken = [piece.text for piece in pieces if piece.found is None and ":" in piece.text]
    repaired = [None for _ in broken] if truncated else _repaired(broken)
    found = [(piece.found, piece.step) for piece in pieces if piece.found is not None]
    found += [(one, ParseStep.REPAIRED) for one in repaired if one is not None]
    reading = _decided(found, validate)
    unread = None in repaired
    # What a broken object says that cannot be repaired is not known: it may be another answer.
    if reading is not None and (reading.answer is None or not unread):
        return reading
    if truncated:
        return Reading(reason=Reason.RAN_OUT_OF_TOKENS, detail="The answer was cut off.")
    if found and not unread:
        return _failed(found[0][0], validate)
    return _without_object(visible, broken=unread)


def _without_object(visible: str, *, broken: bool) -> Reading[T]:
    if broken:
        return Reading(reason=Reason.INVALID_FORMAT, detail="An object in the answer is broken.")
    if _REFUSAL.match(_QUOTED.sub("", visible)):
        return Reading(reason=Reason.REFUSED, detail="The request was refused.")
    return Reading(reason=Reason.INVALID_FORMAT, detail=_NO_OBJECT)


def _decided(found: Iterable[tuple[Json, ParseStep]], validate: Callable[[Json], T]) -> Reading[T] | None:
    """The reading of objects; None if none of them is valid. The step is the earliest that gives the answer."""
    answer: T | None = None
    steps: list[ParseStep] = []
    for item, step in found:
        try:
            one = validate(item)
        except ValidationError:
            continue
        if steps and one != answer:
            return Reading(reason=Reason.SEVERAL_ANSWERS, detail="There were several different answers.")
        answer = one
        steps.append(step)
    return Reading(answer=answer, step=min(steps, key=list(ParseStep).index)) if steps else None


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
_TAGS = re.compile(rf"[<\[◁](/?){_TAG}(?:\s[^>\]▷]{{0,200}})?[>\]▷]", re.IGNORECASE)
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_QUOTED = re.compile(
    r"\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d|\u2018[^\u2019\n]*\u2019(?!\w)|(?<!\w)'[^'\n]*'(?!\w)|^\s*>.*$",
    re.MULTILINE,
)
"""What somebody in the conversation said."""
_REFUSAL = re.compile(
    r"[\W_]*+(?:(?:unfortunately|sorry|apologies|i apologi[sz]e|as an ai)\b[^.!?\n]{0,60}?[,.!]?\s*(?:but\s+)?)?"
    r"(?:i(?:'m| am)\s+(?:sorry|unable|not able)\b"
    r"|i\s+(?:cannot|can't|can not|won't|will not|must decline)\b(?!\s+(?:be|say|tell|decide|choose|see|hear)\b)"
    r"|(?:cannot|can't|unable to)\s+(?:assist|help|comply|continue|provide)\b)",
    re.IGNORECASE,
)
_NO_OBJECT = "There was no JSON object in the answer."


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
    """The outermost whole objects in a text, in order; none of a text with more than a hundred objects."""
    pieces = list(islice(_pieces(text), _MOST_OBJECTS + 1))
    if len(pieces) <= _MOST_OBJECTS:
        yield from (piece.found for piece in pieces if piece.found is not None)


@dataclass(frozen=True)
class _Piece:
    """Where an outermost object stands in a text."""

    start: int
    text: str
    found: dict[str, Json] | None
    """None where it is broken."""
    step: ParseStep


def _pieces(text: str) -> Iterator[_Piece]:
    """The outermost objects of a text, whole or broken, in order."""
    at = 0
    while (start := _START.search(text, at)) is not None:
        at = start.start()
        block = _FENCE.match(text, at)
        if block is not None and "{" in block[1]:
            step = ParseStep.FENCED if _object(block[1]) is not None else ParseStep.FIRST_OBJECT
            yield from _pieces_within(text, block.start(1), block.end(1), step)
        if text[at] == "{":
            piece = _piece(text, at, ParseStep.FIRST_OBJECT)
            yield piece
            at += len(piece.text)
        else:
            at = start.end() if block is None else block.end()


def _pieces_within(text: str, at: int, end: int, step: ParseStep) -> Iterator[_Piece]:
    text = text[:end]
    while (at := text.find("{", at)) >= 0:
        piece = _piece(text, at, step)
        yield piece
        at += len(piece.text)


def _piece(text: str, at: int, step: ParseStep) -> _Piece:
    try:
        found, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return _Piece(at, text[at : _end_of_broken(text, at)], None, step)
    return _Piece(at, text[at:end], found, step)


def _end_of_broken(text: str, at: int) -> int:
    """Where the braces are even again; else the next code block, or the end of the text: the last brace is missing."""
    depth = 0
    for token in _BRACES.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0 and token[0] == "}":
            return token.end()
    block = _FENCE.search(text, at)
    return block.start() if block is not None and "{" in block[1] else len(text)


_DECODER = json.JSONDecoder(object_pairs_hook=_once)
_START = re.compile(r"\{|```|~~~")
_BRACES = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}]', re.DOTALL)
_INNER = re.compile(r"(?<![:\[,}{(\s])\s*\{")


def _repaired(broken: Sequence[str]) -> list[dict[str, Json] | None]:
    """Each broken object as repair reads it; None where repair would have to choose."""
    if sum(map(len, broken)) > _MOST_REPAIRED:
        return [None for _ in broken]
    return [_repair(one) for one in broken]


def _repair(text: str) -> dict[str, Json] | None:
    from json_repair import repair_json  # noqa: PLC0415 - comes with the extra `evaluate`

    if _INNER.search(_BRACES.sub(lambda token: token[0] if token[0] in "{}" else '""', text), 1):
        return None  # a second object starts where no value can stand
    # Without a closing brace the end of the text is the end of the object: only a bracket was forgotten.
    text = text[: text.rfind("}") + 1] or text
    try:
        found = repair_json(text, return_objects=True)
        kept = _words(json.dumps(found, ensure_ascii=False))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not found:
        return None
    # Of a key given twice repair keeps one value: then the text says the key more often than what is left of it.
    lost = _words(text) - kept
    return None if any(word in lost for key in _keys(found) for word in _words(key)) else found


def _words(text: str) -> Counter[str]:
    plain = re.sub(r"\\u([0-9a-fA-F]{4})|\\.", lambda found: chr(int(found[1], 16)) if found[1] else " ", text)
    return Counter(re.findall(r"\w+", plain))


def _keys(found: Json) -> Iterator[str]:
    if isinstance(found, Mapping):
        yield from found
        found = list(found.values())
    if isinstance(found, list):
        for item in found:
            yield from _keys(item)


def without_thinking(text: str) -> str:
    """The text outside thinking; empty where a thinking block never ends. A tag within a whole object is text."""
    if "<|channel|>" in text:
        _, _, text = text.rpartition(_FINAL_CHANNEL) if _FINAL_CHANNEL in text else ("", "", "")
        text = re.sub(r"<\|\w+\|>", "", text)
    hidden = [(piece.start, piece.start + len(piece.text)) for piece in _whole(text)] if _TAGS.search(text) else []
    outside: list[str] = []
    opened: list[int] = []
    """How much of the text outside stood before each thinking block that is still open."""
    at = 0
    for tag in _TAGS.finditer(text):
        if any(start <= tag.start() < end for start, end in hidden):
            continue
        outside.append(text[at : tag.start()])
        at = tag.end()
        if not tag[1]:
            opened.append(len(outside))
        else:
            # A block without its opening tag began with the text: chat templates swallow the tag.
            del outside[opened.pop() if opened else 0 :]
    return "" if opened else "".join([*outside, text[at:]]).strip()


def _whole(text: str) -> list[_Piece]:
    return [piece for piece in islice(_pieces(text), _MOST_OBJECTS) if piece.found is not None]


# --- from objects to answers ----------------------------------------------------------------------------------------

_CUE = r"\b(?:answer|choice|decision|label|pattern|strategy|target)\s*(?:\bis\b\s*:?|[:=])\s*[\"'`*_(\u201c\u2018]*"
_END = r"(?=[\"'`*_)\u201d\u2019]*\s*(?:\Z|[.,;!:]|because\b))"
_DOUBT = re.compile(
    r"\b(?:not|no|never|none|neither|nor|cannot|without|hardly|doubt\w*|wrong|or|rather|instead|if|unless|maybe|perhaps"
    r"|might|may|could)\b|n['\u2019]t\b|\?",
    re.IGNORECASE,
)


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
    same = same or [candidate for candidate in candidates if _said(candidate, text, candidates)]
    return same[0] if len(same) == 1 else None


def _said(candidate: str, text: str, candidates: Sequence[str]) -> bool:
    """Whether a text says that the answer is this one, names no other, and neither denies nor doubts it."""
    said = re.search(rf"{_CUE}{_spelled(candidate)}{_END}", text, re.IGNORECASE)
    if said is None or any(_mentions(text, other) for other in candidates if other != candidate):
        return False
    after = re.split(r"\bbecause\b", text[said.end() :], maxsplit=1, flags=re.IGNORECASE)[0]
    return not (_DOUBT.search(text[: said.start()]) or _DOUBT.search(after))


def _mentions(text: str, candidate: str) -> bool:
    return re.search(rf"(?<!\w){_spelled(candidate)}(?!\w)", text, re.IGNORECASE) is not None


def _spelled(candidate: str) -> str:
    return r"[\s_-]+".join(re.escape(word) for word in re.split(r"[\s_-]+", candidate))


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
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_INTENSE:
        return float(value)
    found = _SCALE.fullmatch(value.strip(" *`")) if isinstance(value, str) else None
    if found is None:
        raise PydanticCustomError("number", "should be a number from 0 to 10")
    return float(found[1])


_MOST_INTENSE = 10


def _seen(value: str) -> str:
    """A text with something to read in it: not only blanks, control characters or such as have no width."""
    if all(unicodedata.category(character)[0] in "CMZ" for character in value):
        raise PydanticCustomError("text", "should be a text with words")
    return value


def _whole_characters(value: str) -> str:
    """A text on one line, without half a surrogate pair: JSON can escape one, but no file can hold it."""
    if any(unicodedata.category(character) == "Cs" for character in value):
        raise PydanticCustomError("text", "holds half of a character")
    # Control characters mean nothing in an answer, and some programs end a text at one.
    return " ".join("".join(" " if unicodedata.category(one) == "Cc" else one for one in value).split())


_SCALE = re.compile(r"(\d+(?:\.\d+)?)(?:\s*(?:/|out of)\s*10)?")
_Label = Annotated[str, BeforeValidator(_label)]
_Writable = Annotated[str, AfterValidator(_whole_characters)]
_Text = Annotated[_Writable, AfterValidator(_seen)]


class _Decision(BaseModel):
    should_speak: Annotated[bool, BeforeValidator(_decision)]


class _Emotion(BaseModel):
    emotion: _Text
    intensity: Annotated[float, BeforeValidator(_number), Field(ge=0, le=_MOST_INTENSE)]


class _View(BaseModel):
    source: _Text
    target: _Text
    viewpoint: _Text
    attitude: _Writable | None = None


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
