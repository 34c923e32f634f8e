"""Answers that need no model: the floor that models must clear.

``random``       seeded by instance.
``majority``     what is most common in the other groups; the order of the candidates where there are none.
``repeat-last``  what was annotated last before: the last label, strategy, target, emotion, viewpoint.
``rules``        a few rules a reader would try first: who spoke last, questions, words of blame and of repair.
``learned``      TF-IDF of the last three visible rows with logistic regression, from the other groups only.

Each gives its answer as a model does, as JSON text, and is read, validated and measured like one. Where a baseline has
nothing to say it answers as ``majority`` does. All but ``repeat-last`` see no annotation of the conversation itself.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from statistics import median
from typing import Any

from pipeline.conversation import THERAPIST
from pipeline.errors import UsageError
from pipeline.evaluation.answers import RANKED
from pipeline.evaluation.collect import gold_of
from pipeline.evaluation.instances import Request
from pipeline.store import Json
from pipeline.tasks.base import is_client

__all__ = ["BASELINES", "Predictor", "check_baseline"]

BASELINES = ("random", "majority", "repeat-last", "rules", "learned")

_FEELINGS = ("hurt", "angry", "sad", "afraid", "lonely", "relieved", "ashamed", "hopeful")
_STAND = {"viewpoint": "does not see what I need", "attitude": "disappointed"}


def check_baseline(name: str) -> None:
    """Refuse a name that is none of `BASELINES`.

    Raises:
        UsageError: If there is no such baseline.
    """
    if name not in BASELINES:
        msg = f"there is no baseline {name!r}"
        raise UsageError(msg, hint=f"there are: {', '.join(BASELINES)}")


class Predictor:
    """A baseline for the instances of one task.

    Args:
        name: One of `BASELINES`.
        population: All instances of the task. What is learned for an instance comes from the other groups of it.
        seed: Of ``random``.

    Raises:
        UsageError: If there is no such baseline.
    """

    def __init__(self, name: str, population: Sequence[Request], seed: int = 0) -> None:
        check_baseline(name)
        self._name = name
        self._population = population
        self._seed = seed
        self._known: dict[tuple[str, str], list[Request]] = {}

    def answer(self, request: Request) -> str:
        """The answer to an instance, as JSON text."""
        found = {
            "random": self._random,
            "majority": self._majority,
            "repeat-last": self._repeat_last,
            "rules": self._rules,
            "learned": self._learned,
        }[self._name](request)
        return json.dumps(found if found is not None else self._majority(request), ensure_ascii=False)

    def _random(self, request: Request) -> Json:
        # Reproducible on purpose, no secret depends on it.
        chance = random.Random(f"{self._seed}/{request.id}")  # noqa: S311
        ranking = list(request.expected.candidates or ("yes", "no"))
        chance.shuffle(ranking)
        feeling = {"emotion": chance.choice(_FEELINGS), "intensity": chance.randint(0, 10)}
        others = [name for name in _clients(request.rows) if name != _speaker(request)] or [THERAPIST]
        return _shaped(request, ranking, feeling, {"target": chance.choice(others), **_STAND})

    def _majority(self, request: Request) -> Json:
        known = self._others(request)
        counts = Counter(str(gold_of(other.instance)["gold_label"]) for other in known)
        candidates = request.expected.candidates or ("yes", "no")
        # A target is a name of the conversation: only its part, first client and so on, carries over.
        if request.task == "stp":
            counts = Counter(_part(other, other.instance["target"]) for other in known)
            ranking = sorted(candidates, key=lambda name: -counts[_part(request, name)])
        else:
            ranking = sorted(candidates, key=lambda name: -counts[name])
        feeling = None
        if request.task == "er":
            levels = [float(other.instance["intensity"]) for other in known]
            feeling = {
                "emotion": _most_common(counts.elements(), _FEELINGS[0]),
                "intensity": median(levels) if levels else 5,
            }
        view = None
        if request.task == "vp":
            texts = [(one["viewpoint"], one["attitude"]) for other in known for one in other.instance["viewpoints"]]
            viewpoint, attitude = _most_common(texts, (_STAND["viewpoint"], _STAND["attitude"]))
            view = {"target": _addressee(request), "viewpoint": viewpoint, "attitude": attitude or ""}
        return _shaped(request, ranking, feeling, view)

    def _repeat_last(self, request: Request) -> Json | None:
        earlier = [row for row in request.rows if row["row_index"] < request.instance["row_index"]][::-1]
        if request.task == "itp":
            # Whether the therapist took the floor after the client row before this one.
            rows = [row for row in request.rows if row["row_index"] <= request.instance["row_index"]]
            boundary = next((at for at in range(len(rows) - 2, -1, -1) if _is_client(rows[at])), None)
            return None if boundary is None else {"should_speak": not _is_client(rows[boundary + 1])}
        if request.task in RANKED:
            labels = [label for row in earlier if (label := _annotated(request, row))]
            candidates = request.expected.candidates
            ranking = [label for label in dict.fromkeys(labels) if label in candidates][:3]
            return {RANKED[request.task]: ranking} if ranking else None
        speaker = _speaker(request)
        for row in earlier:
            for one in row["internal_emotion"] if request.task == "er" else ():
                if one["person"] == speaker and one["emotion_description"] and one["intensity"] is not None:
                    return {"emotion": one["emotion_description"], "intensity": one["intensity"]}
            views = [one for one in row["viewpoints_attitudes"] if request.task == "vp" and one["source"] == speaker]
            if views and all(one["target"] and one["viewpoint"] for one in views):
                return {"viewpoints": [dict(one) for one in views]}
        return None

    def _rules(self, request: Request) -> Json | None:
        rows = _visible(request)
        if not rows:
            return None
        last, text = rows[-1], _words(rows[-1])
        if request.task == "itp":
            waits_for_partner = "?" in text and any(is_client(name) for name in last["target"])
            return {"should_speak": THERAPIST in last["target"] or (not waits_for_partner and len(text.split()) > 12)}
        if request.task == "stp":
            spoke = [row["primary_speaker"] for row in reversed(rows) if _is_client(row)]
            ranking = list(dict.fromkeys([*spoke, *request.expected.candidates]))
            return {"targets": [name for name in ranking if name in request.expected.candidates][:3]}
        recent = " ".join(_words(row) for row in rows[-4:]).casefold()
        if request.task in ("rpp", "ssp"):
            hits = {label: len(pattern.findall(recent)) for label, pattern in _SIGNS.items()}
            ranking = sorted(request.expected.candidates, key=lambda label: -hits.get(label, 0))
            return {RANKED[request.task]: ranking[:3]} if any(hits.get(name) for name in ranking) else None
        if request.task == "er":
            feeling = next((name for name, pattern in _TONES.items() if pattern.search(text.casefold())), "sad")
            return {"emotion": feeling, "intensity": min(10, 5 + text.count("!") + ("never" in text.casefold()))}
        about = re.search(r"[^.?!]*\byou\b[^.?!]*", text, re.IGNORECASE)
        view = about[0].strip() if about else text.strip()
        return _shaped(request, (), None, {"target": _addressee(request), "viewpoint": view, "attitude": "critical"})

    def _learned(self, request: Request) -> Json | None:
        return self._out_of_fold.get(request.id)

    @cached_property
    def _out_of_fold(self) -> dict[str, Json]:
        from pipeline.evaluation.learned import out_of_fold  # noqa: PLC0415 - scikit-learn is an extra

        population = self._population
        golds = [_class(request) for request in population]
        ranked, nearest = out_of_fold(
            [_features(request) for request in population],
            golds,
            [str(request.instance["group_id"]) for request in population],
        )
        found: dict[str, Json] = {}
        for at, request in enumerate(population):
            if at in nearest and request.task in ("er", "vp"):
                found[request.id] = _like(request, population[nearest[at]])
            elif at in ranked and request.task not in ("er", "vp"):
                order = {label: place for place, label in enumerate(ranked[at])}
                part = (lambda name, of=request: _part(of, name)) if request.task == "stp" else str
                candidates = request.expected.candidates or ("yes", "no")
                ranking = sorted(candidates, key=lambda name: order.get(part(name), len(order)))
                found[request.id] = _shaped(request, ranking, None, None)
        return found

    def _others(self, request: Request) -> list[Request]:
        group, scenario = request.instance["group_id"], request.instance["scenario"]
        if (scenario, group) not in self._known:
            self._known[scenario, group] = [
                other
                for other in self._population
                if other.instance["group_id"] != group and other.instance["scenario"] == scenario
            ]
        return self._known[scenario, group]


def _shaped(request: Request, ranking: Sequence[str], feeling: Json, view: Mapping[str, str] | None) -> Json:
    """The answer of a task in the form that models are asked for."""
    if request.task == "itp":
        return {"should_speak": ranking[0] == "yes"}
    if request.task == "er":
        return feeling
    if request.task == "vp":
        return {"viewpoints": [{"source": _speaker(request), **(view or {})}]}
    return {RANKED[request.task]: list(ranking[:3])}


def _like(request: Request, other: Request) -> Json:
    """The gold of another instance, said of the people of this one."""
    if request.task == "er":
        return {"emotion": other.instance["emotion"], "intensity": other.instance["intensity"]}
    view = other.instance["viewpoints"][0]
    stand = {"viewpoint": view["viewpoint"], "attitude": view["attitude"] or ""}
    return _shaped(request, (), None, {"target": _addressee(request), **stand})


def _annotated(request: Request, row: Mapping[str, Any]) -> str | None:
    """What a row is annotated with, for a task."""
    if request.task == "rpp":
        label: str | None = row["relation_label"]
        return label
    strategy = next(iter(row["support_strategy"]), None)
    if strategy is None or request.task == "ssp":
        return strategy and strategy["strategy_type"]
    targets = [name for name in strategy["target"] if name != THERAPIST]
    group = next((name for name in request.expected.candidates if not is_client(name)), None)
    return targets[0] if len(targets) == 1 else group


def _class(request: Request) -> str | None:
    """What is learned of an instance; None for free text."""
    if request.task in ("er", "vp"):
        return None
    return (
        _part(request, request.instance["target"]) if request.task == "stp" else gold_of(request.instance)["gold_label"]
    )


def _part(request: Request, name: str) -> str:
    """The part that a name plays at this point: who spoke last, who before, the group, another."""
    if not is_client(name):
        return "group"
    spoke = dict.fromkeys(row["primary_speaker"] for row in reversed(_visible(request)) if _is_client(row))
    order = {speaker: place for place, speaker in enumerate(spoke)}
    return f"speaker {order[name]}" if name in order else "silent"


def _features(request: Request) -> str:
    """The last visible rows as text, speakers by their part: names do not carry over to other groups."""
    rows = _visible(request)
    own = [row for row in request.rows if row["row_index"] == request.instance["row_index"]]
    shown = [*rows[-3:], *(own if request.task in ("er", "vp") else ())]
    told = [
        f"said_by_{'therapist' if not _is_client(row) else 'client'} "
        f"said_to_{'therapist' if THERAPIST in row['target'] else 'client'} {_words(row)}"
        for row in shown
    ]
    return " ".join([f"in_{request.instance['scenario']}", f"tenth_{request.tenth}", *told])


def _visible(request: Request) -> list[Mapping[str, Any]]:
    """The rows that the prompt's longest context may show."""
    context = request.instance["context_rows"]
    first, last = (context["first"], context["last"]) if context else (1, 0)
    return [row for row in request.rows if first <= row["row_index"] <= last]


def _speaker(request: Request) -> str:
    at = request.instance["row_index"]
    return next(str(row["primary_speaker"]) for row in request.rows if row["row_index"] == at)


def _addressee(request: Request) -> str:
    """Whom the speaker speaks to or of: the addressee if that is a client, else the first other client."""
    speaker, at = _speaker(request), request.instance["row_index"]
    row = next(row for row in request.rows if row["row_index"] == at)
    others = [name for name in (*row["target"], *_clients(request.rows)) if is_client(name) and name != speaker]
    return others[0] if others else THERAPIST


def _clients(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["primary_speaker"] for row in rows if _is_client(row)))


def _is_client(row: Mapping[str, Any]) -> bool:
    return is_client(row["primary_speaker"])


def _words(row: Mapping[str, Any]) -> str:
    return str(row["dialogue_cleaned"])


def _most_common(items: Iterable[Any], otherwise: Any) -> Any:
    """The most common item; of equally common ones the first in order of text."""
    counts = Counter(items)
    return min(counts, key=lambda item: (-counts[item], str(item)), default=otherwise)


def _signs(**words: str) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(rf"\b(?:{found})\b") for name, found in words.items()}


_SIGNS = _signs(
    attack_attack="your fault|you always|you never|how dare|shut up",
    pursue_withdraw="you never|talk to me|why don't you|answer me|walk away|leave me alone|don't know",
    withdraw_withdraw="don't know|whatever|nothing|fine|leave it",
    repair_softening="sorry|i love|thank you|i miss|i understand|forgive|scared|afraid",
    constructive_alignment="we can|let's|together|agree|both of us",
    mixed_transition="but now|on the other hand|at the same time",
    escalation_conflict="your fault|you always|you never|stop it|shut up",
    mutual_disengagement="whatever|nothing|don't care|leave it",
    cross_generational_coalition="your mother|your father|mom says|dad says|takes? (?:her|his) side",
    boundary_hierarchy_strain="not your job|i'm the parent|in charge|rules?|grown up",
    cooperative_family_alliance="we can|let's|together|agree|all of us",
    evoke="feel|feeling|scared|afraid|hurt|cry|lonely",
    reframe="because|your fault|always|never|blame",
    track="then|every time|again|when",
    goal_align="want|plan|try|next|change|goal",
    repair="sorry|apologi[sz]e|forgive",
    enact="tell (?:him|her|them)|say it",
    join="love|thank|understand",
    counterbalance="quiet|interrupt|let me finish|listen",
    safeguard="stupid|shame|ashamed|attack|shut up",
    boundary="parent|rules?|in charge|grown up",
    detach="pattern|fight|arguments?",
)
_TONES = _signs(
    angry="hate|angry|mad|always|sick of|fed up",
    hurt="hurt|never|alone|don't care",
    afraid="afraid|scared|worr(?:y|ied)|anxious",
    hopeful="hope|better|love|thank",
    ashamed="sorry|ashamed|my fault",
    tired="tired|exhausted|enough",
)
