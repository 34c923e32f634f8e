"""A publication loads everywhere, shows what its policy allows, and names nobody."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import mlcroissant
import pyarrow.parquet as pq
import pytest
from datasets import Features, load_dataset
from fsspec.implementations.local import LocalFileSystem
from huggingface_hub import DatasetCard

from pipeline.build import find_workspaces
from pipeline.dataset.build import TABLES, build_dataset
from pipeline.dataset.card import features
from pipeline.dataset.policy import Policy, published_schema
from pipeline.dataset.pseudonyms import Pseudonyms, names_in
from pipeline.dataset.publish import breaking_changes, publish, publish_configured
from pipeline.errors import InputError, UsageError
from pipeline.settings import PublicationSettings, Settings
from pipeline.store import digest_file
from tests.dataset.made import project, run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = project(tmp_path_factory.mktemp("project"))
    build_dataset(find_workspaces(settings).workspaces, settings)
    return settings


@pytest.fixture(scope="module")
def published(made: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("published") / "set"
    publish(made, str(target), policy=Policy.TEXT)
    return target


def names_of(settings: Settings) -> set[str]:
    names: set[str] = set()
    for row in pq.read_table(settings.benchmark_dir / "rows" / "test.parquet").to_pylist():
        names |= {row["primary_speaker"], *row["target"]}
    return names - {"Therapist", "Couple", "Family"}


# These conversations have no media, so no turns: a table without rows is left out.
FILLED = [table for table in TABLES if table != "turns"]


@pytest.mark.parametrize("config", FILLED)
def test_datasets_loads_every_table_offline(published: Path, config: str, tmp_path: Path) -> None:
    loaded = load_dataset(str(published), config, cache_dir=str(tmp_path))
    assert loaded["test"].num_rows == pq.read_metadata(published / config / "test.parquet").num_rows


def test_the_features_of_the_card_are_those_that_datasets_sees() -> None:
    for table, schema in TABLES.items():
        for policy in Policy:
            kept = published_schema(table, schema, policy)
            assert features(kept) == Features.from_arrow_schema(kept)._to_yaml_list()


def test_the_card_and_croissant_are_valid(published: Path) -> None:
    card = DatasetCard.load(published / "README.md")
    assert card.data.license == "other"
    assert {config["config_name"] for config in card.data.configs} == set(FILLED)
    described = mlcroissant.Dataset(str(published / "croissant.json"))
    assert len(described.metadata.record_sets) == len(FILLED)
    record = next(iter(described.records("rpp-test")))
    assert record["rpp-test/task"] == b"rpp"


def test_checksums_are_right_and_cover_everything(published: Path) -> None:
    lines = (published / "SHA256SUMS").read_text().splitlines()
    listed = {line[66:]: line[:64] for line in lines}
    files = {str(path.relative_to(published)) for path in published.rglob("*") if path.is_file()} - {"SHA256SUMS"}
    assert set(listed) == files
    for name, digest in listed.items():
        assert hashlib.sha256((published / name).read_bytes()).hexdigest() == digest


def everything(folder: Path) -> str:
    """All text of a publication, tables included."""
    parts = []
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            parts.append(json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False))
        elif path.suffix == ".png":  # its SVG twin shows what it says; here only what a program may add
            assert b"tEXt" not in path.read_bytes()
        elif path.is_file():
            parts.append(path.read_text("utf-8"))
    return "\n".join(parts)


def test_nobody_is_named_and_no_path_is_shown(made: Settings, published: Path) -> None:
    text = everything(published)
    for name in names_of(made):
        assert not re.search(rf"\b{name}\b", text), name
    for workspace in find_workspaces(made).workspaces:
        assert workspace.conversation.id not in text
        assert workspace.conversation.group_id not in text
    assert str(made.data.parent) not in text
    assert "Person 1" in text


def test_the_least_policy_shows_no_free_text(made: Settings, tmp_path: Path) -> None:
    publish(made, str(tmp_path / "set"))
    text = everything(tmp_path / "set")
    rows = pq.read_table(made.benchmark_dir / "rows" / "test.parquet").to_pylist()
    said = [row["dialogue_cleaned"] for row in rows if len(row["dialogue_cleaned"]) > 20]
    written = [view["viewpoint"] for row in rows for view in row["viewpoints_attitudes"]]
    felt = [emotion["emotion_description"] for row in rows for emotion in row["internal_emotion"]]
    for part in [*said, *written, "lonely and tired", "afraid of losing her"]:
        assert part not in text
    assert felt
    schema = pq.read_schema(tmp_path / "set" / "rows" / "test.parquet")
    assert "relation_label" in schema.names
    assert "dialogue_cleaned" not in schema.names


@pytest.mark.parametrize("policy", list(Policy))
def test_a_new_column_is_private_until_someone_allows_it(policy: Policy) -> None:
    schema = TABLES["rows"].append(TABLES["rows"].field("tone_of_voice").with_name("diagnosis"))
    assert ("diagnosis" in published_schema("rows", schema, policy).names) == (policy is Policy.FULL)


def test_the_same_data_publishes_nothing_new_and_a_change_is_told_by_row(tmp_path: Path) -> None:
    settings = project(tmp_path, samples=3)
    build_dataset(find_workspaces(settings).workspaces, settings)
    target = tmp_path / "set"
    first = publish(settings, str(target), policy=Policy.TEXT, pseudonymise=False)
    before = {path: path.stat().st_mtime_ns for path in target.rglob("*")}
    again = publish(settings, str(target), policy=Policy.TEXT, pseudonymise=False)
    assert (first.version, first.changed, again.version, again.changed) == ("1", True, "1", False)
    assert {path: path.stat().st_mtime_ns for path in target.rglob("*")} == before
    (target / "note.txt").write_text("the user's own")
    victim = find_workspaces(settings).workspaces[0]
    path = victim.raw / "annotations.json"
    path.write_text(path.read_text("utf-8").replace('"tone_of_voice": "', '"tone_of_voice": "very ', 1), "utf-8")
    run(settings)
    build_dataset(find_workspaces(settings).workspaces, settings)
    second = publish(settings, str(target), policy=Policy.TEXT, pseudonymise=False)
    assert second.version == "2"
    [((name, row), columns)] = second.changes.changed
    assert (name, columns) == (victim.conversation.id, ("tone_of_voice",))
    changes = (target / "CHANGES.md").read_text("utf-8")
    assert f"Changed row {row} of `{name}`: tone_of_voice" in changes
    assert changes.index("Version 2") < changes.index("Version 1")
    assert (target / "note.txt").exists()


def test_a_policy_with_fewer_tables_or_columns_leaves_nothing_of_the_wider_one(made: Settings, tmp_path: Path) -> None:
    target = tmp_path / "set"
    publish(made, str(target), policy=Policy.FULL, pseudonymise=False)
    publish(made, str(target), policy=Policy.ANNOTATIONS_ONLY)
    text = everything(target)
    assert "Chang" in text
    for workspace in find_workspaces(made).workspaces:
        assert workspace.conversation.id not in text


def test_a_folder_with_other_things_is_not_written_to(made: Settings, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="no publication"):
        publish(made, str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_fsspec_address(made: Settings) -> None:
    import fsspec

    publish(made, "memory://shared/set")
    assert fsspec.filesystem("memory").exists("/shared/set/rows/test.parquet")


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("Anna, listen. ANNA! anna's coat", "Person 1, listen. Person 1! Person 1's coat"),
        ("Annabel and Hannah", "Annabel and Hannah"),
        ("Mary Ann Lee called; Lee was late", "Person 2 called; Person 2 was late"),
        ("Therapist and Couple", "Therapist and Couple"),
        ("Zoë spoke", "Person 3 spoke"),
    ],
)
def test_names_in_text(text: str, replaced: str) -> None:
    pseudonyms = Pseudonyms(b"k", {"g": ["Anna", "Mary Ann Lee", "Therapist", "Zoë"]}, {})
    row: dict[str, Any] = {"group_id": "g", "conversation_id": "c", "dialogue_cleaned": text}
    assert pseudonyms.row(row)["dialogue_cleaned"] == replaced
    assert pseudonyms.row({**row, "dialogue_cleaned": None})["dialogue_cleaned"] is None


def test_a_folder_with_checksums_of_other_things_is_left_alone(made: Settings, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"mine")
    (tmp_path / "SHA256SUMS").write_text("0" * 64 + "  photo.jpg\n")
    with pytest.raises(InputError, match="no publication"):
        publish(made, str(tmp_path))
    assert (tmp_path / "photo.jpg").read_bytes() == b"mine"


def test_an_interrupted_publication_is_finished_by_the_next_call(
    made: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut short in the middle of the wider policy, then published under the narrower one: nothing wider stays."""
    target = tmp_path / "set"
    publish(made, str(target))
    put, calls = LocalFileSystem.put_file, []

    def breaks(self: Any, *args: Any, **kwargs: Any) -> None:
        calls.append(args)
        if len(calls) > 12:
            raise KeyboardInterrupt
        put(self, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(LocalFileSystem, "put_file", breaks)
        with pytest.raises(KeyboardInterrupt):
            publish(made, str(target), policy=Policy.TEXT)
    again = publish(made, str(target))
    assert again.changed
    fresh = tmp_path / "fresh"
    publish(made, str(fresh))
    for table in TABLES:
        for file in sorted((fresh / table).glob("*")):
            assert (target / table / file.name).read_bytes() == file.read_bytes()
    for line in (target / "SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        assert digest_file(target / name) == digest
    assert not publish(made, str(target)).changed


def test_what_is_not_whole_or_no_longer_there_is_not_published(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    settings = project(tmp_path / "p", samples=3)
    build_dataset(find_workspaces(settings).workspaces, settings)
    victim = find_workspaces(settings).workspaces[0]
    victim.raw.rename(tmp_path / "away")
    with pytest.raises(InputError, match="no longer there"):
        publish(settings, str(tmp_path / "set"))
    (tmp_path / "away").rename(victim.raw)
    (settings.benchmark_dir / "provenance.json").unlink()
    with pytest.raises(InputError, match="cut short"):
        publish(settings, str(tmp_path / "set"))


def test_turns_are_published_and_ids_of_instances_cannot_be_guessed(made: Settings, published: Path) -> None:
    replace = Pseudonyms(b"k" * 32, {"g": ["Anna"]}, {"c": "g"})
    assert replace.row({"conversation_id": "c", "speaker": "SPEAKER_00", "text": "Anna?"})["text"] == "Person 1?"
    real = set(pq.read_table(made.benchmark_dir / "itp" / "test.parquet")["instance_id"].to_pylist())
    shown = set(pq.read_table(published / "itp" / "test.parquet")["instance_id"].to_pylist())
    assert len(shown) == len(real)
    assert not shown & real


@pytest.mark.parametrize(
    ("name", "text"),
    [("Strauß", "Herr Strauß, STRAUSS"), ("Zoé", "Zoe\u0301 came"), ("美咲", "美咲さん")],
)
def test_names_of_all_scripts_and_spellings(name: str, text: str) -> None:
    replaced = Pseudonyms(b"k" * 32, {"g": [name]}, {}).text("g", text)
    assert "Person 1" in replaced
    assert name not in replaced
    assert "STRAUSS" not in replaced


def test_everybody_who_is_named_anywhere_gets_a_pseudonym() -> None:
    row = {
        "participants": ["Anna"],
        "background_dialogue": [{"speaker": "Olga", "target": ["Mirjam"], "content": "hi"}],
        "internal_emotion": [{"person": "Katrin", "emotion_description": "sad"}],
        "support_strategy": [{"provider": "Therapist", "target": ["Piotr"]}],
        "dialogue_cleaned": "Boris",
    }
    assert set(names_in(row)) == {"Anna", "Olga", "Mirjam", "Katrin", "Therapist", "Piotr"}


def test_labels_are_labels_also_where_somebody_is_called_like_one(made: Settings, published: Path) -> None:
    for task, column in (("rpp", "label"), ("ssp", "strategy")):
        real = pq.read_table(made.benchmark_dir / task / "test.parquet")
        shown = pq.read_table(published / task / "test.parquet")
        for name in (column, "candidates"):
            assert shown[name] == real[name]
    for name in ("utterance_type", "relation_label", "scenario"):
        assert (
            pq.read_table(published / "rows" / "test.parquet")[name]
            == pq.read_table(made.benchmark_dir / "rows" / "test.parquet")[name]
        )
    replace = Pseudonyms(b"k" * 32, {"g": ["Join", "Anna"]}, {})
    row = {"group_id": "g", "task": "ssp", "strategy": "join", "candidates": ["join"], "support_target": "Join"}
    told = replace.row({**row, "instance_id": "x"})
    assert (told["strategy"], told["candidates"], told["support_target"]) == ("join", ["join"], "Person 1")
    nested = replace.row({"group_id": "g", "support_strategy": [{"strategy_type": "join", "strategy_content": "Join"}]})
    assert nested["support_strategy"] == [{"strategy_type": "join", "strategy_content": "Person 1"}]


def test_a_column_that_goes_or_changes_breaks_readers_and_a_new_one_does_not(published: Path, tmp_path: Path) -> None:
    target = tmp_path / "set"
    shutil.copytree(published, target)
    chosen = PublicationSettings(to=str(target), policy=Policy.TEXT)
    assert breaking_changes(chosen) == []
    table = pq.read_table(target / "rpp" / "test.parquet")
    older = table.drop_columns(["label"]).append_column("mood", table["label"])
    number = older.schema.get_field_index("row_index")
    pq.write_table(
        older.set_column(number, "row_index", older["row_index"].cast("string")), target / "rpp/test.parquet"
    )
    assert breaking_changes(chosen) == ["rpp: column row_index was string, is int32", "rpp: column mood is gone"]
    # Less text than before is a break too: who read it misses it.
    assert "rows: column dialogue_cleaned is gone" in (breaking_changes(PublicationSettings(to=str(target))) or [])


def test_where_nothing_is_published_nothing_can_break(tmp_path: Path) -> None:
    assert breaking_changes(PublicationSettings()) is None
    assert breaking_changes(PublicationSettings(to=str(tmp_path / "new"))) is None


def test_without_a_target_nothing_is_published(made: Settings) -> None:
    with pytest.raises(UsageError, match="nothing says where to publish"):
        publish_configured(made, PublicationSettings())
