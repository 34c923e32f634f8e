"""Batches that become smaller when the memory of a device runs out."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from pipeline.conversation import Conversation
from pipeline.errors import PrerequisiteError
from pipeline.media.stations import AudioStation, SourceStation
from pipeline.provenance import DigestCache
from pipeline.settings import DiarizationSettings, RecognitionSettings, Settings
from pipeline.speech.diarize import diarize
from pipeline.speech.memory import SMALLER_BATCH, Batch
from pipeline.speech.models import Models
from pipeline.speech.recognize import recognize
from pipeline.speech.stations import SpeakersStation, WordsStation
from pipeline.station import State, Workspace

CTRANSLATE2 = "CUDA failed with error out of memory"


def fitting(limit: int, error: Exception, sizes: list[int]):
    """Work that runs out of memory above a batch of ``limit``, and notes what it was asked for."""

    def work(size: int) -> int:
        sizes.append(size)
        if size > limit:
            raise error
        return size

    return work


@pytest.mark.parametrize(("configured", "limit", "tried"), [(8, 8, [8]), (8, 3, [8, 4, 2]), (5, 1, [5, 2, 1])])
def test_the_batch_is_halved_until_it_fits_and_stays_so(configured, limit, tried, caplog):
    caplog.set_level(logging.WARNING)
    batch, sizes = Batch(configured), []
    assert batch.run(fitting(limit, RuntimeError(CTRANSLATE2), sizes)) == tried[-1]
    assert batch.run(fitting(limit, RuntimeError(CTRANSLATE2), sizes)) == tried[-1]
    assert sizes == [*tried, tried[-1]]
    assert batch.flags == ((SMALLER_BATCH,) if len(tried) > 1 else ())
    assert [record.getMessage() for record in caplog.records] == [
        f"out of memory: going on with a batch of {size} (configured: {configured})" for size in tried[1:]
    ]


def test_torch_and_cublas_say_it_in_their_own_way():
    torch = pytest.importorskip("torch")
    for error in (
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("cuBLAS failed with status CUBLAS_STATUS_ALLOC_FAILED"),
    ):
        assert Batch(4).run(fitting(2, error, [])) == 2


def test_one_window_that_does_not_fit_is_an_error_with_a_way_out():
    batch, sizes = Batch(2), []
    with pytest.raises(PrerequisiteError, match=r"not enough memory for one window: CUDA failed.*RESCUE_DEVICE=cpu"):
        batch.run(fitting(0, RuntimeError(CTRANSLATE2), sizes))
    assert sizes == [2, 1]
    assert batch.size == 1


def test_other_errors_pass_at_once():
    sizes: list[int] = []
    with pytest.raises(RuntimeError, match="illegal memory access"):
        Batch(8).run(fitting(0, RuntimeError("CUDA error: an illegal memory access was encountered"), sizes))
    assert sizes == [8]


def small_device(monkeypatch, models: Models, *, recognition: int, diarization: int) -> None:
    """The real networks, which raise what the libraries raise for batches above a size."""
    import torch

    recognizer, segmentation = models.recognizer(), models.diarizer()._segmentation
    encode, infer = recognizer.encode, segmentation.infer

    def encoded(features):
        if len(features) > recognition:
            raise RuntimeError(CTRANSLATE2)
        return encode(features)

    def inferred(windows):
        if len(windows) > diarization:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
        return infer(windows)

    monkeypatch.setattr(recognizer, "encode", encoded)
    monkeypatch.setattr(segmentation, "infer", inferred)


@pytest.fixture(scope="module")
def models():
    pytest.importorskip("pyannote.audio")
    return Models(Settings())


@pytest.mark.slow
def test_recognition_goes_on_with_smaller_batches(models, media, monkeypatch):
    from faster_whisper.audio import decode_audio

    settings = RecognitionSettings()
    sound = np.concatenate([decode_audio(str(media / "audio" / "katiesteve_mono.wav"))] * 4)
    expected = recognize(models.recognizer(), sound, settings, language="en")
    small_device(monkeypatch, models, recognition=1, diarization=64)
    batch = Batch(settings.batch_size)
    found = recognize(models.recognizer(), sound, settings, language="en", batch=batch)
    assert (batch.size, batch.flags) == (1, (SMALLER_BATCH,))
    assert [word.text for word in found.words] == [word.text for word in expected.words]


@pytest.mark.slow
def test_diarization_goes_on_with_smaller_batches(models, media, monkeypatch):
    from faster_whisper.audio import decode_audio

    sound = decode_audio(str(media / "audio" / "katiesteve_mono.wav"))
    expected = diarize(models.diarizer(), sound, None, batch=Batch(32))
    small_device(monkeypatch, models, recognition=64, diarization=5)
    batch = Batch(32)
    assert diarize(models.diarizer(), sound, None, batch=batch).turns == expected.turns
    assert batch.size == 4


@pytest.mark.slow
def test_the_record_says_so_and_another_batch_size_makes_nothing_stale(tmp_path, models, media, monkeypatch):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "talk.wav").symlink_to((media / "audio" / "katiesteve_mono.wav").absolute())
    conversation = Conversation(id="a/b", media="talk.wav")
    settings = Settings(data=tmp_path / "data", raw=tmp_path / "raw")
    workspace = Workspace.of(conversation, tmp_path / "raw", settings)
    small_device(monkeypatch, models, recognition=64, diarization=16)
    stations = (SourceStation(), AudioStation(), WordsStation(models), SpeakersStation(models))
    with workspace.locked() as digests:
        *_, words, speakers = [station.process(workspace, digests) for station in stations]
    assert words.record.summary["batch_size"] == 8
    assert SMALLER_BATCH not in words.record.summary["flags"]
    assert (speakers.state, speakers.record.summary["batch_size"]) == (State.DONE, 16)
    assert SMALLER_BATCH in speakers.record.summary["flags"]
    other = settings.model_copy(
        update={
            "recognition": RecognitionSettings(batch_size=2),
            "diarization": DiarizationSettings(batch_size=4),
        }
    )
    workspace = Workspace.of(conversation, tmp_path / "raw", other)
    digests = DigestCache(workspace.data / ".digests.json")
    for station, outcome in zip(stations[2:], (words, speakers), strict=True):
        assert station.is_current(workspace, outcome.record, digests)
