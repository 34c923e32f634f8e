"""A million bytes of damaged real files: every importer either reads them or says what is wrong."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.annotation.formats import FORMATS, FormatMapping
from pipeline.annotation.formats.transfer import export, take
from pipeline.conversation import Conversation
from pipeline.errors import RescueError
from tests.annotation.made import ROW, THERAPIST_ROW, made

_BYTES = 1_000_000
"""For each importer, in at least `_FILES` files."""
_FILES = 2_000
_LARGEST = 20_000
"""Bytes of a file that are mutated: damage is found as well in the first rows of a long one."""
_CONVERSATION = Conversation.model_validate({"id": "a", "scenario": "couple", "participants": ["Anna", "Mary", "CHI"]})
_SUFFIXES = {name: each.suffixes[0] for name, each in FORMATS.items()} | {"labelstudio": ".json"}
_TOKENS = [
    b"",
    b"\0",
    b"\xff\xfe",
    b"-1",
    b"1e999",
    b'"',
    b'""',
    b"<",
    b"&x;",
    b"]",
    b"{",
    b"null",
    b"\r\n",
    b"\xf0\x9f",
    b"99999999999999999999",
]


_VALUES: list[Any] = [
    None, True, 0, -1, 1e300, "", "x", [], {}, [1], [None], {"a": 1}, "1e999", [[]], "Anna", 10**30, "\ud800",
]  # fmt: skip


def _reshaped(value: Any, generator: random.Random) -> Any:
    """JSON with a value of another kind, or without a key, somewhere."""
    result = json.loads(json.dumps(value))
    for _ in range(generator.choice([1, 1, 2])):
        places = [
            (holder, key)
            for holder in _holders(result)
            for key in (holder if isinstance(holder, dict) else range(len(holder)))
        ]
        holder, key = generator.choice(places)
        if isinstance(holder, dict) and generator.random() < 0.2:
            del holder[key]
        else:
            holder[key] = generator.choice(_VALUES)
    return result


def _holders(value: Any) -> Iterator[Any]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if parts:
        yield value
    for part in parts:
        yield from _holders(part)


@pytest.mark.slow
@pytest.mark.media
@pytest.mark.parametrize("name", ["json", "labelstudio"])
@pytest.mark.parametrize("people", [["Anna", "Ben"], []])
def test_no_misshapen_json_crashes(name: str, people: list[str], media: Path, tmp_path: Path) -> None:
    """Damaged bytes are seldom JSON; this is always."""
    generator = random.Random(f"shapes-{name}")
    seeds = [json.loads(export(made(ROW, THERAPIST_ROW), name).data)]
    if name == "labelstudio":
        real = media / "annotations" / "labelstudio_audio_two_annotators.json"
        seeds.append([{**task, "annotations": task["annotations"][:1]} for task in json.loads(real.read_text())])
    conversation = Conversation.model_validate({"id": "a", "scenario": "couple", "participants": people})
    outcomes: Counter[str] = Counter()
    for _ in range(_FILES):
        path = tmp_path / "shaped.json"
        path.write_text(json.dumps(_reshaped(generator.choice(seeds), generator)))
        try:
            take(path, conversation, format_name=name)
            outcomes["read"] += 1
        except RescueError:
            outcomes["refused"] += 1
    assert outcomes["read"]
    assert outcomes["refused"]


def _mutated(data: bytes, generator: random.Random) -> bytes:
    result = bytearray(data)
    for _ in range(generator.choice([1, 1, 2, 4, 16])):
        at = generator.randrange(len(result) + 1)
        length = generator.choice([0, 1, 1, 3, 40])
        kind = generator.randrange(4)
        if kind == 0:
            result[at : at + length] = generator.choice(_TOKENS)
        elif kind == 1:
            result[at : at + length] = generator.randbytes(length)
        elif kind == 2:
            other = generator.randrange(len(result) + 1)
            result[at:at] = result[other : other + length * 5]
        elif generator.randrange(4) == 0:
            del result[at:]
    return bytes(result)


def _shortened(name: str, data: bytes) -> bytes:
    """A long ELAN file with fewer annotations, still whole; others are small."""
    if name != "eaf" or len(data) <= _LARGEST:
        return data[:_LARGEST]
    text = data.decode()
    kept = 0

    def few(match: re.Match[str]) -> str:
        nonlocal kept
        kept += 1
        return match[0] if kept % 60 == 0 else ""

    text = re.sub(r"\s*<ANNOTATION>.*?</ANNOTATION>", few, text, flags=re.DOTALL)
    used = set(re.findall(r'TIME_SLOT_REF\d="([^"]+)"', text))
    text = re.sub(r'\s*<TIME_SLOT TIME_SLOT_ID="([^"]+)"[^>]*/>', lambda slot: slot[0] if slot[1] in used else "", text)
    return text.encode()


@pytest.mark.slow
@pytest.mark.media
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_no_damaged_file_crashes(name: str, media: Path, tmp_path: Path) -> None:
    generator = random.Random(f"formats-{name}")
    folder = media / "annotations"
    seeds = [_shortened(name, file.read_bytes()) for file in sorted(folder.iterdir()) if file.suffix == _SUFFIXES[name]]
    # Real files have one form each; what we write adds every field.
    seeds.append(export(made(ROW, THERAPIST_ROW), name).data)
    fields = {"dialogue_cleaned": ["text", "CHI", "word", "transcription"], "target": ["xds@*", "phone"]}
    mappings = [None, FormatMapping.model_validate({"fields": fields, "speaker": "Anna", "annotator": "1"})]
    outcomes: Counter[str] = Counter()
    done = 0
    path = tmp_path / f"fuzzed{_SUFFIXES[name]}"
    while done < _BYTES or outcomes.total() < 2 * _FILES:
        data = _mutated(generator.choice(seeds), generator)
        path.write_bytes(data)
        done += max(len(data), 1)
        for mapping in mappings:
            try:
                take(path, _CONVERSATION, format_name=name, mapping=mapping)
                outcomes["read"] += 1
            except RescueError:
                outcomes["refused"] += 1
    assert outcomes["refused"]
    assert outcomes["read"]
