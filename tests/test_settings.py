"""Settings: profile, file, environment, command line, in rising order."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.settings import load_settings


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RESCUE_DATA", "RESCUE_RAW", "RESCUE_PROFILE"):
        monkeypatch.delenv(name, raising=False)


def test_a_profile_is_a_set_of_values_that_every_other_source_overrides(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().recognition.model == "embedded"
    assert load_settings(profile="gpu").recognition.model == "large-v3"
    Path("rescue.yaml").write_text("profile: gpu\nrecognition:\n  beam_size: 2\n  batch_size: 4\n")
    monkeypatch.setenv("RESCUE_RECOGNITION__BATCH_SIZE", "7")
    settings = load_settings(device="cpu")
    assert (settings.recognition.model, settings.recognition.beam_size) == ("large-v3", 2)
    assert settings.recognition.batch_size == 7
    assert settings.device == "cpu"


@pytest.mark.parametrize(
    ("text", "says"),
    [("profil: gpu\n", "profil"), ("turns: {pause: -1}\n", "turns.pause"), ("turns: [\n", "rescue.yaml")],
)
def test_a_wrong_setting_is_named(text: str, says: str) -> None:
    Path("rescue.yaml").write_text(text)
    with pytest.raises(UsageError) as refused:
        load_settings()
    assert says in str(refused.value)
    assert refused.value.exit_code == 2


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(UsageError, match="profile"):
        load_settings(profile="fast")
