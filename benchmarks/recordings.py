"""The recordings with a reference, and how each is scored."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pipeline.scoring import Score, Transcript, read_reference, score
from pipeline.speech.nist import read_uem
from pipeline.times import Interval

__all__ = ["Recording", "recordings"]


@dataclass(frozen=True)
class Recording:
    """A recording and its reference."""

    name: str
    media: Path
    rttm: Path
    stm: Path
    uem: Path | None = None
    text_speaker: str | None = None
    """The only speaker whose words the reference is sure of; words count between this speaker's first and last."""

    @property
    def reference(self) -> Transcript:
        """Who spoke when, and what."""
        return read_reference(self.rttm, self.stm)

    @property
    def speaker_count(self) -> int:
        """How many people speak in the reference."""
        return len({turn.speaker for turn in self.reference.speech})

    def score(self, hypothesis: Transcript, duration: float) -> Score:
        """The errors of a transcript, inside the parts that the reference covers."""
        reference = self.reference
        uem = read_uem(self.uem) if self.uem else [Interval(0.0, duration)]
        found = score(hypothesis, reference, uem=uem)
        if self.text_speaker is None:
            return found
        sure = [part for part in reference.text if part.speaker == self.text_speaker]
        span = Interval(min(part.start for part in sure), max(part.end for part in sure))
        text = score(hypothesis, reference, uem=[span])
        return Score(found.der, found.der_single, text.wer, text.cpwer)


def recordings(media: Path) -> list[Recording]:
    """All recordings with a reference: those of the shared folder, and the sample inside pyannote.audio."""
    found = [
        Recording(
            name,
            media / "audio" / "ami_debug" / f"{name}.wav",
            media / "audio" / "ami_debug" / f"{name}.words.rttm",
            media / "audio" / "ami_debug" / f"{name}.stm",
        )
        for name in ("dev00", "dev01", "trñ00", "trn08")
    ]
    for file, speaker in (
        ("audio/commercial_mono.wav", None),
        ("audio/katiesteve_mono.wav", None),
        ("audio/multi_en_es.wav", None),
        ("audio/stereo_two_talkers.wav", None),
        ("video/friday.mp4", None),
        ("video/googlework_short.mp4", "CARLO"),
        ("video/grid_two_faces.mp4", None),
    ):
        path = media / file
        uem = path.with_suffix(".uem")
        found.append(
            Recording(
                path.stem,
                path,
                path.with_suffix(".rttm"),
                path.with_suffix(".stm"),
                uem if uem.is_file() else None,
                speaker,
            )
        )
    return [*found, _pyannote_sample()]


def _pyannote_sample() -> Recording:
    spec = find_spec("pyannote.audio")
    assert spec is not None
    assert spec.origin is not None
    sample = Path(spec.origin).parent / "sample" / "sample.wav"
    return Recording("pyannote_sample", sample, sample.with_suffix(".rttm"), sample.with_suffix(".stm"))
