"""Words from subtitles: the cues say what is said and in which bounds, recognition finds the times inside them.

Each cue is aligned with the recognised words as an annotation row is (`pipeline.join.match`). A word of a cue that was
heard inside the bounds of the cue has the times it was heard at, cut to these bounds; the others share what room is
left between them, by length, where there is voice in the cue, and are flagged. What is left of the recognition is not
kept as words: it is counted, and listed where it has no cue.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import itemgetter
from statistics import median

from rapidfuzz import fuzz

from pipeline.annotation.model import Row
from pipeline.join.match import Alignment, HeardWord, align, tokens
from pipeline.speech.words import INTERPOLATED, RawWord, Word, share_room
from pipeline.store import Json
from pipeline.subtitles import Cue, Subtitles
from pipeline.times import Interval, Seconds, merge, round_time

__all__ = [
    "CUE_WITHOUT_SPEECH",
    "NOT_HEARD",
    "SPEECH_WITHOUT_CUE",
    "SUBTITLES_OFFSET",
    "SUBTITLES_UNLIKE",
    "Timed",
    "Truth",
    "time_cues",
]

NOT_HEARD = "not_heard"
"""Recognition did not find the word inside its cue; its times are shared out there."""
CUE_WITHOUT_SPEECH = "cue_without_speech"
"""No voice was found during the cue."""
SPEECH_WITHOUT_CUE = "speech_without_cue"
"""Flag of a recording: people talk where the subtitles have nothing."""
SUBTITLES_OFFSET = "subtitles_offset"
"""Flag of a recording: the subtitles lie beside the sound, as those of another cut do."""

SUBTITLE = "subtitle"
"""Where the times of a word come from that only its cue has."""
SUBTITLES_UNLIKE = "subtitles_unlike_speech"
"""Flag of a recording: the subtitles say something else than was heard, as those of another language do."""

_MIN_WORDS = 20
_LEAST_HEARD = 0.3
"""Share of the words of the cues that recognition must have too."""
_VOICED_SHARE = 0.1
"""Share of a cue that must be voice."""
_AROUND: Seconds = 0.5
"""Seconds before and after a cue that are still the cue's: subtitles come a little late and go a little early."""
_SHORTEST: Seconds = 0.3
"""A stretch of voice without cue that is shorter is an edge."""
_MOST_OFFSET: Seconds = 0.5
_ALIKE = 60.0
"""Similarity in percent from which a word of the cue counts as one that was misheard."""
_INSIDE = 0.4
"""Share of a recognised word that must lie in a cue to be a word of it."""
_LONGEST_WORD: Seconds = 10.0
_LEAST: Seconds = 0.05
"""A word that was not heard needs this much room."""


@dataclass(frozen=True)
class Timed:
    """The words of one cue."""

    cue: Cue
    words: tuple[Word, ...]
    heard: tuple[str | None, ...]
    """What recognition has for each word; None where it has nothing inside the cue."""
    voiced: bool
    """Whether there is voice during the cue."""

    @property
    def misheard(self) -> list[tuple[str, str]]:
        """Word of the cue and what was recognised, where the two differ."""
        return [
            (word.text, heard)
            for word, heard in zip(self.words, self.heard, strict=True)
            if heard is not None and tokens(heard) != tokens(word.text)
        ]


@dataclass(frozen=True)
class Truth:
    """The words of a recording by its subtitles, and where recognition says something else."""

    cues: tuple[Timed, ...]
    without_cue: tuple[tuple[Interval, str], ...]
    """Stretches of voice without cue in which something was recognised, and what."""
    extra: int
    """Recognised words inside cues that no cue has."""
    offset: Seconds | None
    """Median time from cue to sound; None where too little was found to tell."""
    effects: int
    """Sounds, music and manner that cues describe."""
    left_out: tuple[Mapping[str, Json], ...]
    """Cues that cannot be used, and why."""

    @property
    def words(self) -> list[Word]:
        """All words: cue after cue, in order of time inside each. Cues that overlap are not mixed."""
        return [word for timed in self.cues for word in timed.words]

    @property
    def flags(self) -> list[str]:
        """What a person should look at."""
        words, heard = len(self.words), sum(heard is not None for timed in self.cues for heard in timed.heard)
        found = {
            CUE_WITHOUT_SPEECH: any(not timed.voiced for timed in self.cues),
            SPEECH_WITHOUT_CUE: bool(self.without_cue),
            SUBTITLES_UNLIKE: self.extra >= _MIN_WORDS and words >= _MIN_WORDS and heard < _LEAST_HEARD * words,
            SUBTITLES_OFFSET: self.offset is not None and abs(self.offset) > _MOST_OFFSET,
        }
        return [name for name, given in found.items() if given]

    def counts(self) -> dict[str, Json]:
        """The differences as figures."""
        words = self.words
        return {
            "cues": len(self.cues),
            "words": len(words),
            "heard": sum(heard is not None for timed in self.cues for heard in timed.heard),
            "misheard": sum(len(timed.misheard) for timed in self.cues),
            "not_heard": sum(NOT_HEARD in word.flags for word in words),
            "heard_only": self.extra,
            "cues_without_speech": sum(not timed.voiced for timed in self.cues),
            "speech_without_cue": len(self.without_cue),
            "speech_without_cue_seconds": round(sum(span.duration for span, _ in self.without_cue), 1),
            "sound_effects": self.effects,
            "left_out": len(self.left_out),
            "offset": self.offset,
        }

    def to_json(self) -> dict[str, Json]:
        """The counts, and each difference with its place."""
        return {
            "counts": self.counts(),
            "flags": self.flags,
            "differences": [
                {
                    "cue": timed.cue.place,
                    "start": round_time(timed.cue.start),
                    "end": round_time(timed.cue.end),
                    "text": " ".join(timed.cue.words),
                    "misheard": [list(pair) for pair in timed.misheard],
                    "not_heard": [word.text for word in timed.words if NOT_HEARD in word.flags],
                    "voiced": timed.voiced,
                }
                for timed in self.cues
                if timed.misheard or not timed.voiced or any(NOT_HEARD in word.flags for word in timed.words)
            ],
            "speech_without_cue": [
                {"start": round_time(span.start), "end": round_time(span.end), "heard": heard}
                for span, heard in self.without_cue
            ],
            "left_out": list(self.left_out),
        }


def time_cues(
    subtitles: Subtitles, recognised: Sequence[Word], speech: Sequence[Interval], *, duration: Seconds
) -> Truth:
    """The words of the cues with times.

    Args:
        subtitles: What is said, and in which bounds.
        recognised: Words in order of time.
        speech: Where there is voice.
        duration: Length of the recording; what a cue has after it is listed, not used.
    """
    cues, late = _inside(subtitles.cues, duration)
    spoken = [cue for cue in cues if cue.words]
    voice = _Spans(speech)
    alignment = align(
        [_row(number, cue) for number, cue in enumerate(spoken, start=1)],
        [HeardWord(index, word.text, word.start, word.end, word.confidence) for index, word in enumerate(recognised)],
    )
    matched = _matched(spoken, alignment, recognised)
    timed = tuple(_all_timed(spoken, matched, recognised, voice))
    covered = _Spans(Interval(cue.start - _AROUND, cue.end + _AROUND) for cue in cues)
    used = {index for pairs in matched for index in pairs.values()}
    free = [word for index, word in enumerate(recognised) if index not in used and tokens(word.text)]
    return Truth(
        cues=timed,
        without_cue=tuple(_without_cue(voice, covered, recognised)),
        extra=sum(bool(covered.within(word.interval)) for word in free),
        offset=_offset(spoken, alignment),
        effects=sum(len(cue.effects) for cue in cues),
        left_out=tuple(part.to_json() for part in subtitles.left_out) + tuple(late),
    )


def _offset(cues: Sequence[Cue], alignment: Alignment) -> Seconds | None:
    found = alignment.time_map
    if not found.trusted:
        return None
    return round_time(median(found.heard(cue.interval.middle) - cue.interval.middle for cue in cues))


def _inside(cues: Sequence[Cue], duration: Seconds) -> tuple[list[Cue], list[dict[str, Json]]]:
    """Cues cut to the recording, and those that lie after it."""
    late = [
        {"place": cue.place, "reason": "it lies after the end of the recording", "text": cue.text, "count": 1}
        for cue in cues
        if cue.start >= duration
    ]
    return [replace(cue, end=min(cue.end, duration)) for cue in cues if cue.start < duration], late


def _row(number: int, cue: Cue) -> Row:
    return Row(
        row_index=number,
        start_time=cue.start,
        end_time=cue.end,
        primary_speaker=cue.speaker or "",
        dialogue_cleaned=" ".join(cue.words),
    )


def _matched(spoken: Sequence[Cue], alignment: Alignment, recognised: Sequence[Word]) -> list[dict[int, int]]:
    """For each cue, place of a word among its tokens to the recognised word, all inside the cue's bounds.

    The alignment of all cues at once says which of the same words is meant; where it found nothing, words of the cue go
    to those that sound alike among the ones that were heard during the cue.
    """
    found = [
        {
            place: index
            for place, position in match.pairs
            if _during(recognised[index := alignment.words[position].word_index], cue)
        }
        for cue, match in zip(spoken, alignment.rows, strict=True)
    ]
    used = {index for pairs in found for index in pairs.values()}
    starts = [word.start for word in recognised]
    for cue, pairs in zip(spoken, found, strict=True):
        said = tokens(" ".join(cue.words))
        first, last = bisect_left(starts, cue.start - _LONGEST_WORD), bisect_left(starts, cue.end)
        near = [index for index in range(first, last) if index not in used and _during(recognised[index], cue)]
        for run in _gaps(len(said), pairs):
            before = max((index for place, index in pairs.items() if place < run.start), default=-1)
            after = min((index for place, index in pairs.items() if place >= run.stop), default=len(recognised))
            free = [index for index in near if before < index < after and index not in used]
            heard = ["".join(tokens(recognised[index].text)) for index in free]
            for place, position in _alike(said[run.start : run.stop], heard):
                pairs[run.start + place] = free[position]
                used.add(free[position])
    return found


def _during(word: Word, cue: Cue) -> bool:
    """Whether a word was heard in a cue; one that only touches it belongs to what comes before or after."""
    return word.interval.overlap(cue.interval) > _INSIDE * word.interval.duration


def _gaps(count: int, pairs: Mapping[int, int]) -> list[range]:
    """Runs of places without a pair."""
    borders = [-1, *sorted(pairs), count]
    return [range(left + 1, right) for left, right in pairwise(borders) if right - left > 1]


def _alike(said: Sequence[str], heard: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of words that sound alike, rising in both, with the greatest similarity in all."""
    best: list[list[tuple[float, tuple[tuple[int, int], ...]]]] = [[(0.0, ())] * (len(heard) + 1)]
    for one, text in enumerate(said):
        row: list[tuple[float, tuple[tuple[int, int], ...]]] = [(0.0, ())]
        for two, other in enumerate(heard):
            likeness = fuzz.ratio(text, other)
            total, pairs = best[one][two]
            joined = (total + likeness, (*pairs, (one, two))) if likeness >= _ALIKE else (0.0, ())
            row.append(max(best[one][two + 1], row[two], joined, key=lambda found: found[0]))
        best.append(row)
    return list(best[-1][-1][1])


def _all_timed(
    spoken: Sequence[Cue], matched: Sequence[Mapping[int, int]], recognised: Sequence[Word], voice: _Spans
) -> Iterator[Timed]:
    untimed = [
        _untimed(number, cue, pairs, recognised, voice)
        for number, (cue, pairs) in enumerate(zip(spoken, matched, strict=True))
    ]
    for _, members in groupby(untimed, key=lambda part: part.cue.place):
        group = list(members)
        # People who stand in one cue speak one after the other, unless they were heard at once.
        starts = [word.start for part in group for word in part.words if word.start is not None]
        for together in [group] if starts == sorted(starts) else [[part] for part in group]:
            filled = list(_filled([word for part in together for word in part.words], together[0]))
            for part in together:
                words, filled = filled[: len(part.words)], filled[len(part.words) :]
                yield Timed(part.cue, tuple(words), part.heard, part.voiced)


class _Spans:
    """Stretches of time that do not overlap, found by time."""

    def __init__(self, intervals: Iterable[Interval]) -> None:
        self.all = merge(intervals)
        self._starts = [span.start for span in self.all]
        self._ends = [span.end for span in self.all]

    def within(self, whole: Interval) -> list[Interval]:
        """What lies inside an interval, cut to it."""
        found = self.all[bisect_right(self._ends, whole.start) : bisect_left(self._starts, whole.end)]
        cut = [Interval(max(span.start, whole.start), min(span.end, whole.end)) for span in found]
        return [span for span in cut if span.duration > 0]


@dataclass(frozen=True)
class _Untimed:
    """A cue whose words have the times they were heard at, or none yet."""

    cue: Cue
    words: tuple[RawWord, ...]
    heard: tuple[str | None, ...]
    voice: tuple[Interval, ...]
    """Stretches of voice inside the cue."""

    @property
    def voiced(self) -> bool:
        return sum(part.duration for part in self.voice) >= _VOICED_SHARE * self.cue.interval.duration

    @property
    def bounds(self) -> Interval:
        """From the first to the last voice; the whole cue where there is too little."""
        return Interval(self.voice[0].start, self.voice[-1].end) if self.voiced and self.voice else self.cue.interval


def _untimed(number: int, cue: Cue, pairs: Mapping[int, int], recognised: Sequence[Word], voice: _Spans) -> _Untimed:
    owner = [position for position, word in enumerate(cue.words) for _ in tokens(word)]
    found: dict[int, list[Word]] = {}
    for place in sorted(pairs):
        found.setdefault(owner[place], []).append(recognised[pairs[place]])
    texts = [
        " ".join(word.text for word in found[place]) if place in found else None for place in range(len(cue.words))
    ]
    known = _Untimed(cue, (), tuple(texts), tuple(voice.within(cue.interval)))
    flags = () if known.voiced else (CUE_WITHOUT_SPEECH,)
    words = [
        _heard_word(text, number, cue, found[position], flags)
        if position in found
        else RawWord(text, None, None, number, time_source=SUBTITLE, flags=(*flags, NOT_HEARD))
        for position, text in enumerate(cue.words)
    ]
    return replace(known, words=tuple(words))


def _heard_word(text: str, number: int, cue: Cue, heard: Sequence[Word], flags: tuple[str, ...]) -> RawWord:
    same = [piece for word in heard for piece in tokens(word.text)] == tokens(text)
    known = [word.confidence for word in heard if word.confidence is not None] if same else []
    return RawWord(
        text,
        max(cue.start, heard[0].start),
        min(cue.end, heard[-1].end),
        number,
        sum(known) / len(known) if known else None,
        heard[0].time_source,
        (*flags, *(flag for word in heard for flag in word.flags if not flag.startswith("suspected_"))),
    )


def _filled(words: Sequence[RawWord], cue: _Untimed) -> list[Word]:
    """Words with times: those without share the room up to their neighbours, or up to the bounds of the voice."""
    done: list[Word] = []
    runs = [list(run) for _, run in groupby(words, key=lambda word: word.start is None)]
    for number, run in enumerate(runs):
        if run[0].start is not None:
            for word in run:
                done.append(_after(done[-1].end if done else 0.0, word))
            continue
        following = runs[number + 1] if number + 1 < len(runs) else []
        room = _room(done[-1].end if done else None, following[0].start if following else None, cue)
        if room.duration >= _LEAST * len(run):
            done += _spread(run, room)
        elif done:  # no room: the word before gives of its own
            last = done.pop()
            first, *others = _spread([replace(run[0], text=last.text), *run], Interval(last.start, room.end))
            done += [replace(last, end=first.end), *others]
        elif following:
            last_raw = following[0]
            *others, last = _spread(
                [*run, replace(run[0], text=last_raw.text)], Interval(room.start, float(last_raw.end or room.end))
            )
            done += others
            following[0] = replace(last_raw, start=last.start)
        else:
            done += _spread(run, room)
    return done


def _after(reached: Seconds, word: RawWord) -> Word:
    start = max(float(word.start or 0.0), reached)
    end = max(float(word.end or 0.0), start)
    flags = tuple(sorted(set(word.flags)))
    return Word(word.text, start, end, word.segment, word.confidence, word.time_source, flags)


def _spread(run: Sequence[RawWord], room: Interval) -> list[Word]:
    # They are not between neighbours that recognition found: the cue itself says where they are.
    return [
        replace(word, time_source=SUBTITLE, flags=tuple(flag for flag in word.flags if flag != INTERPOLATED))
        for word in share_room(run, room)
    ]


def _room(before: Seconds | None, after: Seconds | None, cue: _Untimed) -> Interval:
    """Where words without times lie: from the neighbour before to the one after, else within the voice of the cue."""
    voice, whole = cue.bounds, cue.cue.interval
    left = before if before is not None else voice.start if after is None or voice.start < after else whole.start
    right = after if after is not None else voice.end if voice.end > left else whole.end
    return Interval(left, max(left, right))


def _without_cue(voice: _Spans, covered: _Spans, recognised: Sequence[Word]) -> Iterator[tuple[Interval, str]]:
    middles = [word.interval.middle for word in recognised]
    words = sorted(zip(middles, recognised, strict=True), key=itemgetter(0))
    middles.sort()
    for part in voice.all:
        for span in _minus(part, covered.within(part)):
            heard = words[bisect_left(middles, span.start) : bisect_left(middles, span.end)]
            if heard and span.duration >= _SHORTEST:
                yield span, " ".join(word.text for _, word in heard)


def _minus(part: Interval, covered: Sequence[Interval]) -> Iterator[Interval]:
    start = part.start
    for span in covered:
        if span.start > start:
            yield Interval(start, span.start)
        start = span.end
    if start < part.end:
        yield Interval(start, part.end)
