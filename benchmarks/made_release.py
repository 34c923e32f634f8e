"""A made release of the published size, with the quirks that were seen in the published one.

The text is nonsense of the right shape. What counts is the structure: sizes, shares, where labels stand, what is odd.
The same seed gives the same bytes.

    python -m benchmarks.made_release --out release.jsonl
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["made_release"]

THERAPIST = "Therapist"


@dataclass(frozen=True)
class Kind:
    """Size and vocabulary of one scenario, from the published tables."""

    name: str
    samples: int
    rows: int
    minutes: float
    therapist_share: float
    people: int
    patterns: tuple[str, ...]
    pattern_weights: tuple[float, ...]
    strategies: tuple[str, ...]
    strategy_weights: tuple[float, ...]


COUPLE = Kind(
    name="couple",
    samples=174,
    rows=5875,
    minutes=824.9,
    therapist_share=0.354,
    people=2,
    patterns=(
        "pursue_withdraw",
        "attack_attack",
        "withdraw_withdraw",
        "repair_softening",
        "constructive_alignment",
        "mixed_transition",
    ),
    pattern_weights=(38.7, 12, 5, 27, 12.9, 4.4),
    strategies=(
        "track",
        "reframe",
        "evoke",
        "enact",
        "join",
        "detach",
        "repair",
        "counterbalance",
        "safeguard",
        "goal_align",
    ),
    strategy_weights=(18, 25, 20, 5, 5, 3, 3, 4, 3, 14),
)
FAMILY = Kind(
    name="family",
    samples=17,
    rows=1204,
    minutes=239.9,
    therapist_share=0.471,
    people=3,
    patterns=(
        "escalation_conflict",
        "pursue_withdraw",
        "mutual_disengagement",
        "cross_generational_coalition",
        "boundary_hierarchy_strain",
        "repair_softening",
        "cooperative_family_alliance",
        "mixed_transition",
    ),
    pattern_weights=(12, 10, 5, 8, 10, 10, 41.9, 3.1),
    strategies=("join", "track", "counterbalance", "enact", "boundary", "reframe", "repair", "safeguard"),
    strategy_weights=(22, 16, 18, 6, 14, 20, 2, 2),
)

NAMES = ("Ada", "Bo", "Cleo", "Dara", "Eli", "Fay", "Gus", "Hana", "Ivo", "Jun", "Kit", "Lou")
WORDS = (
    "I you we it that this when then because never always feel want need hear stop talk night work home kids sorry"
    " maybe tired angry alone try listen again really think know said left came back door phone money"
).split()
TYPES = ("accusation", "defense", "disclosure", "request", "recollection", "reflection", "repair", "withdrawal")
EMOTIONS = ("hurt", "lonely and tired", "angry", "afraid of losing her", "ashamed", "relieved", "numb")


def made_release(seed: int, copies: int = 1) -> Iterator[dict[str, Any]]:
    """One dict a sample, as a line of the published file holds it.

    Args:
        seed: The same seed gives the same samples.
        copies: How many times the published size; each copy has its own ids, groups and content.

    Yields:
        ``{sample_id, scenario, participants, source_file, rows}``; 174 couple and 17 family samples a copy, with 5,875
        and 1,204 rows.
    """
    for copy in range(copies):
        randomness = random.Random(f"{seed}/{copy}")
        for kind in (COUPLE, FAMILY):
            sizes = _spread(kind.rows, kind.samples, randomness)
            for number, size in enumerate(sizes):
                yield _sample(kind, number, size, copy, randomness)


def _spread(total: int, parts: int, randomness: random.Random) -> list[int]:
    """Whole numbers of at least 6 that vary as scenes do and sum to the total."""
    weights = [randomness.lognormvariate(0, 0.5) for _ in range(parts)]
    room = total - 6 * parts
    sizes = [6 + math.floor(room * weight / sum(weights)) for weight in weights]
    for position in range(total - sum(sizes)):
        sizes[position % parts] += 1
    return sizes


def _sample(kind: Kind, number: int, size: int, copy: int, randomness: random.Random) -> dict[str, Any]:
    if kind is COUPLE:
        group = f"couple{copy * 1000 + number // 6:04d}"
        sample_id = f"{group}/{number:03d}_s{1 + number % 4}e{1 + number % 9}_ct{number % 5}_segment{number % 7:02d}"
    else:
        sample_id = f"family_therapy/{copy * 1000 + number:04d}/scene {number} — part"
    people = list(randomness.sample(NAMES, kind.people + (1 if kind is FAMILY and number % 3 == 0 else 0)))
    rows = _rows(kind, people, number, size, randomness)
    listed = people[:]
    randomness.shuffle(listed)
    if number % 10 == 7:
        listed.pop()  # someone who speaks is not listed
    return {
        "sample_id": sample_id,
        "scenario": kind.name,
        "participants": listed,
        "source_file": f"{sample_id.replace('/', '_')}.json",
        "rows": rows,
    }


def _rows(kind: Kind, people: Sequence[str], number: int, size: int, randomness: random.Random) -> list[dict[str, Any]]:
    seconds = kind.minutes * 60 / kind.rows
    # Which of the two relation fields holds the labels, sample by sample, as seen in the published file.
    doubled = number % 12 == 5
    cycles_everywhere = kind is FAMILY and number % 2 == 0
    rows: list[dict[str, Any]] = []
    clock = round(randomness.uniform(0.2, 2.0), 2)
    previous = THERAPIST
    pattern = randomness.choices(kind.patterns, kind.pattern_weights)[0]
    for index in range(1, size + 1):
        therapist = randomness.random() < kind.therapist_share
        speaker = THERAPIST if therapist else _next_speaker(people, previous, randomness)
        length = round(randomness.uniform(0.4, 1.6) * seconds, 2)
        row = _row(kind, people, speaker, index, clock, clock + length, randomness)
        if randomness.random() < 0.3:
            pattern = randomness.choices(kind.patterns, kind.pattern_weights)[0]
        _relation(row, kind, pattern, index, randomness, cycles_everywhere=cycles_everywhere)
        if doubled and therapist and rows and rows[-1]["primary_speaker"] != THERAPIST:
            rows[-1]["relation_pattern"] = row["relation_cycle_state"]
        rows.append(row)
        # Rows may overlap or start together; starts never decrease.
        step = 0.0 if randomness.random() < 0.02 else length * randomness.choice((0.8, 1.0, 1.0, 1.1))
        clock = round(clock + step, 2)
        previous = speaker
    if number % 15 == 3:
        rows[-1]["end_time"] = round(rows[-1]["start_time"] + 0.01, 2)
    return rows


def _next_speaker(people: Sequence[str], previous: str, randomness: random.Random) -> str:
    others = [person for person in people if person != previous]
    return randomness.choice(others)


def _text(randomness: random.Random, words: int) -> str:
    return " ".join(randomness.choice(WORDS) for _ in range(words)).capitalize() + "."


def _row(
    kind: Kind, people: Sequence[str], speaker: str, index: int, start: float, end: float, randomness: random.Random
) -> dict[str, Any]:
    therapist = speaker == THERAPIST
    others = [person for person in (*people, THERAPIST) if person != speaker]
    target = [randomness.choice(others)]
    if therapist and randomness.random() < 0.15:
        target = [kind.name.capitalize()]
    elif randomness.random() < 0.05 and len(others) > 1:
        target = randomness.sample(others, 2)
    dialogue = _text(randomness, randomness.randint(1, 24))
    oddity = randomness.random()
    if oddity < 0.02:
        dialogue = dialogue.replace("I", "I\u00e2\u20ac\u2122m", 1)  # a mojibake apostrophe
    elif oddity < 0.04:
        dialogue = f"\u201c{dialogue}\u201d [CHUCKLES]"
    row: dict[str, Any] = {
        "row_index": index,
        "start_time": start,
        "end_time": round(end, 2),
        "primary_speaker": speaker,
        "target": target,
        "dialogue_cleaned": dialogue,
        "utterance_type": "" if therapist else randomness.choice(TYPES),
        "background_dialogue": [],
        "tone_of_voice": randomness.choice(("low and flat", "sharp", "warm", "")),
        "body_posture": [{"person": speaker, "description": "leans forward"}] if randomness.random() < 0.4 else [],
        "facial_expressions": [{"person": speaker, "description": "frowns"}] if randomness.random() < 0.4 else [],
        "self_directed_behavior": [],
        "interaction_behavior": [],
        "internal_emotion": [],
        "viewpoints_attitudes": [],
        "support_strategy": [],
        "relation_pattern": None,
        "relation_pattern_reason": None,
        "relation_pattern_evidence_rows": [],
        "relation_cycle_state": None,
        "relation_cycle_reason": None,
        "relation_cycle_evidence_rows": [],
    }
    if randomness.random() < 0.05:
        row["background_dialogue"] = [{"speaker": others[0], "target": [speaker], "content": _text(randomness, 3)}]
    if randomness.random() < 0.1:
        row["interaction_behavior"] = [{"initiator": speaker, "target": [others[0]], "description": "takes the hand"}]
    if not therapist and randomness.random() < 0.85:
        row["internal_emotion"].append(_emotion(speaker, randomness))
    if randomness.random() < 0.06:
        row["internal_emotion"].append(_emotion(randomness.choice(others), randomness))
    if not therapist and randomness.random() < 0.5:
        about = randomness.choice(others)  # at times the therapist, against the guidelines
        row["viewpoints_attitudes"] = [
            {"source": speaker, "target": about, "viewpoint": _text(randomness, 6), "attitude": "critical"}
        ]
    if therapist and randomness.random() < 0.62:
        row["support_strategy"] = [_strategy(kind, people, randomness)]
        if randomness.random() < 0.1:
            row["support_strategy"].append(_strategy(kind, people, randomness))
    return row


def _emotion(person: str, randomness: random.Random) -> dict[str, Any]:
    return {
        "person": person,
        "emotion_description": randomness.choice(EMOTIONS),
        "intensity": randomness.choice((2, 3, 4, 5, 6, 6.5, 7, 8, 9)),
    }


def _strategy(kind: Kind, people: Sequence[str], randomness: random.Random) -> dict[str, Any]:
    chance = randomness.random()
    if chance < 0.15:
        target = [kind.name.capitalize()]
    elif chance < 0.2:
        target = randomness.sample(list(people), 2)
    elif chance < 0.23:
        target = []  # resolved from the row's own target
    else:
        target = [randomness.choice(people)]
    return {
        "provider": THERAPIST,
        "target": target,
        "strategy_type": randomness.choices(kind.strategies, kind.strategy_weights)[0],
        "strategy_content": _text(randomness, 8),
    }


def _relation(
    row: dict[str, Any], kind: Kind, pattern: str, index: int, randomness: random.Random, *, cycles_everywhere: bool
) -> None:
    therapist = row["primary_speaker"] == THERAPIST
    label = "" if randomness.random() < 0.2 else pattern
    reason = _text(randomness, 7) if label else ""
    # Evidence may point to later rows.
    evidence = sorted({max(1, index + shift) for shift in randomness.sample(range(-4, 2), 2)}) if label else []
    if kind is COUPLE:
        if therapist:
            row.update(relation_cycle_state=label, relation_cycle_reason=reason, relation_cycle_evidence_rows=evidence)
        return
    if therapist:
        row.update(relation_pattern=label, relation_pattern_reason=reason, relation_pattern_evidence_rows=evidence)
    if cycles_everywhere:
        cycle = "" if randomness.random() < 0.3 else label
        row.update(relation_cycle_state=cycle, relation_cycle_reason=reason if cycle else "")


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--copies", type=int, default=1)
    arguments = parser.parse_args()
    with arguments.out.open("w", encoding="utf-8", newline="\n") as opened:
        for sample in made_release(arguments.seed, arguments.copies):
            opened.write(json.dumps(sample, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    _main()
