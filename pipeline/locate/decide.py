"""Where a scene is, how sure that is, and why not where it is not sure enough. It refuses rather than guesses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from pipeline.locate.align import MANY_ANCHORS, Fit, fit, united
from pipeline.locate.candidates import Candidate, candidates
from pipeline.locate.index import WordIndex
from pipeline.locate.order import file_tag, natural, out_of_order, scene_tag
from pipeline.locate.scene import Scene
from pipeline.times import Interval, format_clock

__all__ = ["FEWEST_WORDS", "Status", "Verdict", "confirm", "locate_scene", "place_name"]

FEWEST_WORDS = 15
"""A scene with fewer words could lie in too many places."""
_LIKELY = 0.2
"""Share of a scene from which it is taken as heard, on its own."""
_POSSIBLE = 0.1
"""The same where season, episode and order of the names say so too."""
_RIVAL = 0.5
"""Share of the best place's score that the next one may have."""
_CLOSE_RIVAL = 0.75
"""The same where the names decide between the two."""
_COVERAGE = 0.5
"""Of the quarters of a scene, the part in which something must be heard: a recap has only one."""
_WIDE = 1.0
"""Median distance of the anchors from the line, in seconds, from which a place is no place."""
_FULL_SHARE = 0.5
"""Share at which the recogniser has done all that can be asked of it."""
_TAKEN = 0.3
"""Part of the shorter of two scenes that both may claim."""


class Status(StrEnum):
    """What became of a scene."""

    LOCATED = "located"
    POSSIBLE = "possible"
    """Only while `confirm` has not decided."""
    REFUSED = "refused"


@dataclass(frozen=True)
class Verdict:
    """What was decided of one scene."""

    scene: Scene
    status: Status
    best: Fit | None = None
    runner_up: Fit | None = None
    """The best place elsewhere."""
    reason: str | None = None
    """Why it is refused."""
    notes: tuple[str, ...] = ()
    """What is odd about a scene that is located."""

    @property
    def confidence(self) -> float:
        """0 to 1: the product of three shares.

        What is heard of the scene, where a half counts as all; how far the next place is behind it; and the part of
        the scene over which it is heard.
        """
        if self.best is None or not self.best.share:
            return 0.0
        margin = max(0.0, 1 - (self.runner_up.share if self.runner_up else 0.0) / self.best.share)
        return round(min(1.0, self.best.share / _FULL_SHARE) * margin * self.best.coverage, 3)

    def refused(self, reason: str) -> Verdict:
        """The same scene, refused."""
        return replace(self, status=Status.REFUSED, reason=reason)


def place_name(found: Fit, index: WordIndex) -> str:
    """Episode and time of a place, for people."""
    return f"{index.episodes[found.episode].name} at {format_clock(max(0.0, found.offset))}"


def locate_scene(scene: Scene, index: WordIndex) -> Verdict:
    """Decide on one scene by its words alone.

    What is not sure, but would be if the names of scene and episode say the same, stays ``possible`` for `confirm`.
    """
    if len(scene.words) < FEWEST_WORDS:
        return Verdict(scene, Status.REFUSED, reason=f"too few words: {len(scene.words)}, at least {FEWEST_WORDS}")
    places = candidates(index.find(scene), scene.end)
    if not places:
        return Verdict(scene, Status.REFUSED, reason="none of its phrases is heard in any episode")
    fits = [found for place in places if (found := fit(scene, place, index)) is not None]
    fits += united(fits, scene)
    if not fits:
        where = f"{index.episodes[places[0].episode].name} near {format_clock(max(0.0, places[0].offset))}"
        return Verdict(
            scene, Status.REFUSED, reason=f"its phrases are scattered: most are in {where}, but not at its times"
        )
    best = max(fits, key=lambda found: (found.share, -found.spread))
    runner_up = max((other for other in fits if _elsewhere(other, best, scene)), key=_share, default=None)
    return _judged(Verdict(scene, Status.LOCATED, best, runner_up), index)


def _judged(verdict: Verdict, index: WordIndex) -> Verdict:
    """The same, refused or only possible where the words do not say enough."""
    best, runner_up = verdict.best, verdict.runner_up
    assert best is not None
    rival = runner_up.share / best.share if runner_up and best.share else 0.0
    if best.share < _POSSIBLE or best.spread > _WIDE:
        return verdict.refused(_too_little(verdict, index))
    if best.coverage < _COVERAGE:
        return verdict.refused(f"{_too_little(verdict, index)}, and in one part of the scene only: a recap?")
    if rival > _CLOSE_RIVAL:
        assert runner_up is not None
        return verdict.refused(f"it fits {place_name(best, index)} and {place_name(runner_up, index)} alike")
    if best.share < _LIKELY or rival > _RIVAL:
        return replace(verdict, status=Status.POSSIBLE)
    return verdict


def confirm(verdicts: Iterable[Verdict], index: WordIndex) -> list[Verdict]:
    """Hold the places of all scenes against each other and against season and episode in the names.

    Names never overrule what is clearly heard: then they give a note. They decide where the words alone do not.
    """
    listed = [_by_tag(verdict, index) for verdict in _at_one_speed(list(verdicts), index)]
    listed = _one_place_each(listed, index)
    return _in_order(listed, index)


def _at_one_speed(verdicts: Sequence[Verdict], index: WordIndex) -> list[Verdict]:
    """An episode has one speed: scenes that show it well lend it to those that are too short or too poorly heard."""
    shown: dict[int, Counter[Fraction]] = defaultdict(Counter)
    for verdict in verdicts:
        if verdict.status is Status.LOCATED and verdict.best and verdict.best.anchors >= MANY_ANCHORS:
            shown[verdict.best.episode][verdict.best.speed] += verdict.best.anchors
    settled = []
    for verdict in verdicts:
        best = verdict.best
        speed = shown[best.episode].most_common(1)[0][0] if best and shown.get(best.episode) else None
        if best is None or speed is None or best.speed == speed or len(best.parts) > 1:
            settled.append(verdict)
            continue
        middle = verdict.scene.end / 2
        offset = best.heard(middle) - middle / float(speed)
        again = fit(verdict.scene, Candidate(best.episode, offset, float(speed), 0.0), index, speed=speed)
        settled.append(
            _judged(replace(verdict, status=Status.LOCATED, reason=None, best=again), index) if again else verdict
        )
    return settled


def _by_tag(verdict: Verdict, index: WordIndex) -> Verdict:
    if verdict.status is Status.REFUSED or verdict.best is None:
        return verdict
    said = scene_tag(verdict.scene.conversation_id)
    found = file_tag(index.episodes[verdict.best.episode].name)
    if said and found and said != found:
        if verdict.status is Status.POSSIBLE:
            return verdict.refused(f"{_too_little(verdict, index)}, while its id says {said}")
        return replace(verdict, notes=(*verdict.notes, f"the file says {found}, the id {said}"))
    if verdict.status is Status.POSSIBLE and not (said and found):
        return verdict.refused(f"{_too_little(verdict, index)}, and no name says that it is this episode")
    return verdict


def _one_place_each(verdicts: Sequence[Verdict], index: WordIndex) -> list[Verdict]:
    """Of scenes that claim the same stretch of an episode, the surer one keeps it."""
    settled = list(verdicts)
    by_episode = defaultdict(list)
    for number, verdict in enumerate(verdicts):
        if verdict.status is not Status.REFUSED and verdict.best is not None:
            by_episode[verdict.best.episode].append(number)
    for numbers in by_episode.values():
        kept: list[int] = []
        for number in sorted(numbers, key=lambda number: -verdicts[number].confidence):
            rival = next((other for other in kept if _overlaps(verdicts[number], verdicts[other])), None)
            if rival is None:
                kept.append(number)
                continue
            best = verdicts[number].best
            assert best is not None
            name = verdicts[rival].scene.conversation_id
            settled[number] = verdicts[number].refused(f"{name} lies at the same place, {place_name(best, index)}")
    return settled


def _in_order(verdicts: Sequence[Verdict], index: WordIndex) -> list[Verdict]:
    """Scenes of one group and episode should lie in the order of their ids."""
    settled = list(verdicts)
    by_tag = defaultdict(list)
    for number, verdict in enumerate(verdicts):
        tag = scene_tag(verdict.scene.conversation_id)
        if tag and verdict.status is not Status.REFUSED and verdict.best is not None:
            group = verdict.scene.conversation_id.rpartition("/")[0]
            by_tag[group, tag, verdict.best.episode].append(number)
    for numbers in by_tag.values():
        numbers.sort(key=lambda number: natural(verdicts[number].scene.conversation_id))
        odd = {numbers[position] for position in out_of_order([_offset(verdicts[number]) for number in numbers])}
        for number in numbers:
            verdict = verdicts[number]
            if number in odd and verdict.status is Status.POSSIBLE:
                settled[number] = verdict.refused(f"{_too_little(verdict, index)}, and out of order")
            elif number in odd:
                settled[number] = replace(verdict, notes=(*verdict.notes, "out of order within its episode"))
            elif verdict.status is Status.POSSIBLE:
                note = "by season, episode and order of the names: the words alone do not decide"
                settled[number] = replace(verdict, status=Status.LOCATED, notes=(*verdict.notes, note))
    return settled


def _too_little(verdict: Verdict, index: WordIndex) -> str:
    best, runner_up = verdict.best, verdict.runner_up
    assert best is not None
    text = f"{best.share:.0%} of it is heard in {place_name(best, index)}"
    if runner_up and runner_up.share > _RIVAL * best.share:
        text += f", {runner_up.share:.0%} in {place_name(runner_up, index)}"
    return text


def _elsewhere(one: Fit, best: Fit, scene: Scene) -> bool:
    """Whether it is another place; the halves of a scene in two parts are the same one."""
    if one.episode != best.episode:
        return True
    span = _span(one, scene.end)
    return all(
        span.overlap(Interval(part.offset, part.offset + scene.end / float(best.speed))) < _TAKEN * span.duration
        for part in best.parts
    )


def _overlaps(one: Verdict, other: Verdict) -> bool:
    assert one.best is not None
    assert other.best is not None
    first, second = _span(one.best, one.scene.end), _span(other.best, other.scene.end)
    return first.overlap(second) > _TAKEN * min(first.duration, second.duration)


def _span(found: Fit, end: float) -> Interval:
    return Interval(found.heard(0.0), found.heard(end))


def _share(found: Fit) -> float:
    return found.share


def _offset(verdict: Verdict) -> float:
    return verdict.best.offset if verdict.best else 0.0
