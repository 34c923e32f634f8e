"""Annotations for hypothesis, and small helpers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from pipeline.annotation.formats import FormatMapping
from pipeline.annotation.formats.transfer import Taken, take
from pipeline.annotation.io import annotation_of
from pipeline.annotation.model import Annotation
from pipeline.conversation import Conversation

CONVERSATION = Conversation.model_validate({"id": "a", "scenario": "couple", "participants": ["Anna", "Ben"]})
EVERYONE = ("Anna", "Ben", "Therapist")

# What no text format can hold (control characters, halves of characters) is a stated loss with a test of its own.
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], include_characters="\n\t"), max_size=40)
_awkward = st.sampled_from(
    ['"', '""', '""""', "=1+1", "'=x", "-5", "@a", 'item [1]: "IntervalTier"', "intervals [2]:", "a;b", "[x]", "{y}",
     "NA", "null", "none", "-->", "<b>hi</b>", "&amp;", "xmin = 3 ", "line\nline", "\u2028", "12", "Look: it rains"]
)  # fmt: skip
said = texts | _awkward
names = st.sampled_from(EVERYONE)
targets = st.lists(st.sampled_from(["Anna", "Ben", "Therapist", "Couple"]), max_size=3, unique=True)
described = st.lists(st.fixed_dictionaries({"person": names, "description": said}), max_size=2)
intensities = st.none() | st.floats(0, 10, allow_nan=False)
strategies = st.sampled_from(["track", "reframe", "evoke"])
numbers = st.none() | st.lists(st.integers(1, 40), max_size=3)


@st.composite
def annotations(draw: st.DrawFn) -> Annotation:
    """Any valid annotation: rows in time order that may overlap, every field filled or not."""
    starts = sorted(draw(st.lists(st.integers(0, 3_600_000), min_size=1, max_size=5)))
    rows: list[dict[str, Any]] = []
    for index, start in enumerate(starts, start=1):
        rows.append(
            {
                "row_index": index,
                "start_time": start / 1000,
                "end_time": (start + draw(st.integers(1, 60_000))) / 1000,
                "primary_speaker": draw(names),
                "target": draw(targets),
                "dialogue_cleaned": draw(said),
                "utterance_type": draw(st.none() | st.sampled_from(["", "request", "repair"])),
                "background_dialogue": draw(
                    st.lists(st.fixed_dictionaries({"speaker": names, "target": targets, "content": said}), max_size=2)
                ),
                "tone_of_voice": draw(st.none() | said),
                "body_posture": draw(described),
                "facial_expressions": draw(described),
                "self_directed_behavior": draw(described),
                "interaction_behavior": draw(
                    st.lists(
                        st.fixed_dictionaries({"initiator": names, "target": targets, "description": said}), max_size=2
                    )
                ),
                "internal_emotion": draw(
                    st.lists(
                        st.fixed_dictionaries({"person": names, "emotion_description": said, "intensity": intensities}),
                        max_size=2,
                    )
                ),
                "viewpoints_attitudes": draw(
                    st.lists(
                        st.fixed_dictionaries({"source": names, "target": names, "viewpoint": said, "attitude": said}),
                        max_size=2,
                    )
                ),
                "support_strategy": draw(
                    st.lists(
                        st.fixed_dictionaries(
                            {
                                "provider": st.just("Therapist"),
                                "target": targets,
                                "strategy_type": strategies,
                                "strategy_content": said,
                            }
                        ),
                        max_size=2,
                    )
                ),
                "relation_pattern": draw(st.none() | st.sampled_from(["", "attack_attack"])),
                "relation_pattern_reason": draw(st.none() | said),
                "relation_pattern_evidence_rows": draw(numbers),
                "relation_cycle_state": draw(st.none() | st.sampled_from(["", "pursue_withdraw"])),
                "relation_cycle_reason": draw(st.none() | said),
                "relation_cycle_evidence_rows": draw(numbers),
            }
        )
    return annotation_of({"rows": rows}, CONVERSATION).annotation


def taken(path: Path, content: bytes | str, conversation: Conversation = CONVERSATION, **mapping: Any) -> Taken:
    """What comes out of a file of this content; keywords are the mapping."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return take(path, conversation, mapping=FormatMapping.model_validate(mapping) if mapping else None)


def rows(found: Taken) -> list[tuple[float, float, str, str]]:
    """The rows of a file, briefly."""
    return [
        (row.start_time, row.end_time, row.primary_speaker, row.dialogue_cleaned)
        for row in found.loaded.annotation.rows
    ]
