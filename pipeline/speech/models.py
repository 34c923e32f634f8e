"""The models of a run: each is loaded once, when first needed, and serves any number of conversations."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

from pipeline.errors import PrerequisiteError
from pipeline.privacy import go_offline, go_private
from pipeline.settings import EMBEDDED, Settings
from pipeline.speech import weights
from pipeline.speech.align import Aligner, LetterAligner
from pipeline.speech.memory import Batch
from pipeline.speech.phones import LANGUAGE, PhoneAligner
from pipeline.speech.recognize import AUTO

__all__ = ["Models"]

Model: TypeAlias = Any
"""A model of a library without types."""

_INSTALL = "pip install 'rescue-bench[speech]'"


class Models:
    """Loads models lazily and keeps them for the life of the object.

    Args:
        settings: Say which models, on which device, with how many threads.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loaded: dict[str, Model] = {}
        self._lock = Lock()
        self.recognition_batch = Batch(settings.recognition.batch_size)
        self.diarization_batch = Batch(settings.diarization.batch_size)

    @property
    def device(self) -> str:
        """Where models run: ``cpu`` or ``cuda``.

        Raises:
            PrerequisiteError: If the settings ask for a GPU and torch finds none.
        """
        if self._settings.device == "cuda":
            import torch

            if not torch.cuda.is_available():
                msg = "the settings ask for a GPU, but torch finds none"
                raise PrerequisiteError(msg, hint="set RESCUE_DEVICE=cpu, or install a driver that fits this torch")
        return self._settings.device

    @property
    def offline(self) -> bool:
        """Whether the network is off: in every profile but ``gpu``, and where the user says so."""
        return self._settings.profile == "offline" or os.environ.get("HF_HUB_OFFLINE") == "1"

    def recognizer(self) -> Model:
        """The ``faster_whisper.WhisperModel``.

        Raises:
            PrerequisiteError: If the library or the model is missing.
        """
        return self._once("recognizer", self._load_recognizer)

    def aligner(self, language: str) -> Aligner | None:
        """The forced alignment model of a language; None if word times come from attention.

        Raises:
            PrerequisiteError: If the library or the model is missing, or there is none for the language.
        """
        name = self._settings.recognition.alignment
        if not name or (name == EMBEDDED and language != LANGUAGE):
            return None
        aligner: Aligner = self._once(f"aligner {language}", lambda: self._load_aligner(name, language))
        return aligner

    def diarizer(self) -> Model:
        """The ``pyannote.audio`` pipeline.

        Raises:
            PrerequisiteError: If the library or the model is missing, or the model is gated and there is no token.
        """
        return self._once("diarizer", self._load_diarizer)

    def _once(self, role: str, load: Callable[[], Model]) -> Model:
        with self._lock:
            if role not in self._loaded:
                if self.offline:
                    go_offline()
                else:
                    go_private()
                self._loaded[role] = load()
            return self._loaded[role]

    def _load_recognizer(self) -> Model:
        settings = self._settings.recognition
        try:
            import faster_whisper
        except ImportError as error:
            msg = f"speech recognition is not installed: {error}"
            raise PrerequisiteError(msg, hint=_INSTALL) from error
        name = str(weights.embedded_whisper()) if settings.model == EMBEDDED else settings.model
        try:
            return faster_whisper.WhisperModel(
                name,
                device=self.device,
                compute_type=settings.compute_type,
                cpu_threads=self._settings.threads,
                local_files_only=self.offline,
            )
        except (OSError, RuntimeError, ValueError) as error:
            msg = f"the speech recognition model {settings.model!r} cannot be loaded: {error}"
            hint = "name a folder with a CTranslate2 Whisper model, or a model of the local cache, in recognition.model"
            raise PrerequisiteError(msg, hint=hint) from error

    def _load_aligner(self, name: str, language: str) -> Aligner:
        if name == EMBEDDED:
            return PhoneAligner()
        try:
            import torch
            from whisperx.alignment import load_align_model
        except ImportError as error:
            msg = f"forced alignment is not installed: {error}"
            raise PrerequisiteError(msg, hint=_INSTALL) from error
        try:
            network, about = load_align_model(
                language, self.device, model_name=None if name == AUTO else name, model_cache_only=self.offline
            )
        except (OSError, RuntimeError, ValueError) as error:
            msg = f"there is no alignment model {name!r} for the language {language!r}: {error}"
            hint = "name a wav2vec2 model in recognition.alignment, or leave it empty to take times from attention"
            raise PrerequisiteError(msg, hint=hint) from error
        network.eval()

        def emit(samples: Model) -> Model:
            with torch.inference_mode():
                found = network(samples.to(self.device))
                logits = found[0] if isinstance(found, tuple) else found.logits
                return torch.log_softmax(logits[0], dim=-1).cpu()

        alphabet = about["dictionary"]
        blank = next((alphabet[name] for name in ("[pad]", "<pad>", "-") if name in alphabet), 0)
        letters = {letter: column for letter, column in alphabet.items() if len(letter) == 1 and column != blank}
        letters.pop("|", None)  # stands between words
        return LetterAligner(emit, letters, blank)

    def _load_diarizer(self) -> Model:
        settings = self._settings.diarization
        try:
            import torch
            from pyannote.audio import Pipeline

            from pipeline.speech.diarizer import embedded_pipeline
        except ImportError as error:
            msg = f"diarization is not installed: {error}"
            raise PrerequisiteError(msg, hint=_INSTALL) from error
        if settings.model == EMBEDDED:
            on_cpu = self.device == "cpu"
            torch.set_num_threads(1 if on_cpu else self._settings.threads)
            pipeline = embedded_pipeline(settings, workers=self._settings.threads if on_cpu else 1)
        else:
            torch.set_num_threads(self._settings.threads)
            pipeline = _load_hub_pipeline(Pipeline, settings.model)
        return pipeline.to(torch.device(self.device))


def _load_hub_pipeline(loader: Model, name: str) -> Model:
    hint = (
        f"accept the terms at https://huggingface.co/{name} and set HF_TOKEN to your token"
        if not Path(name).exists()
        else "the folder must hold a pyannote pipeline with its config.yaml"
    )
    msg = f"the diarization pipeline {name!r} cannot be loaded"
    try:
        pipeline = loader.from_pretrained(name, token=os.environ.get("HF_TOKEN"))
    except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise PrerequisiteError(f"{msg}: {error}", hint=hint) from error
    if pipeline is None:  # how pyannote says that a gated model was refused
        raise PrerequisiteError(msg, hint=hint)
    return pipeline
