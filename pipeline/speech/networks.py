"""The two embedded networks as pyannote models. Needs torch: import it inside functions only."""

from __future__ import annotations

import collections
import typing
from pathlib import Path
from typing import Any

import omegaconf
import torch
import torchaudio
from pyannote.audio.core import model as pyannote_model
from pyannote.audio.core import task as pyannote_task
from pyannote.audio.core.plda import PLDA
from pyannote.audio.models.segmentation.PyanNet import PyanNet
from torch import Tensor, nn
from torch.nn import functional
from torch.torch_version import TorchVersion

__all__ = ["NoPlda", "VoiceEncoder", "load_segmentation", "load_voice_encoder"]

SAMPLE_RATE = 16_000
_HOP = 160
"""Samples a spectrogram frame: 10 ms."""
_PART = 160
"""Frames of the stretches on which the encoder was trained: 1.6 s."""
_STEP = _PART // 2
_LOUDNESS = 10 ** (-30 / 20)
"""Root mean square to which quiet speech is raised: -30 dB relative to full scale, as in training."""

# What the checkpoint of the segmentation network holds besides tensors; nothing else may be unpickled.
_CHECKPOINT_TYPES: list[Any] = [
    TorchVersion,
    collections.defaultdict,
    dict,
    int,
    list,
    omegaconf.base.ContainerMetadata,
    omegaconf.base.Metadata,
    omegaconf.listconfig.ListConfig,
    omegaconf.nodes.AnyNode,
    pyannote_model.Introspection,
    pyannote_task.Problem,
    pyannote_task.Resolution,
    pyannote_task.Specifications,
    typing.Any,
]


def load_segmentation(path: Path) -> PyanNet:
    """The pyannote segmentation network from its checkpoint, ready to run.

    Built here rather than by ``Model.from_pretrained``, which unpickles any code a checkpoint holds and reads it twice.
    """
    with torch.serialization.safe_globals(_CHECKPOINT_TYPES):
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    network = PyanNet(**checkpoint["hyper_parameters"])
    network.specifications = checkpoint["pyannote.audio"]["specifications"]
    network.build()  # type: ignore[no-untyped-call]  # pyannote is typed in part
    network.load_state_dict(checkpoint["state_dict"])
    return network.eval()


def load_voice_encoder(path: Path) -> VoiceEncoder:
    """The GE2E voice encoder from Resemblyzer's weights, ready to run."""
    weights = torch.load(path, map_location="cpu", weights_only=True)["model_state"]
    encoder = VoiceEncoder()
    own = encoder.state_dict()
    # The two similarity weights serve training only; the spectrogram's own buffers are computed.
    encoder.load_state_dict({name: weights.get(name, value) for name, value in own.items()})
    missing = {name for name in own if not name.startswith("mel.")} - weights.keys()
    if missing:
        msg = f"{path.name} lacks the weights {sorted(missing)}"
        raise ValueError(msg)
    return encoder.eval()


class VoiceEncoder(pyannote_model.Model):
    """Speaker embedding by GE2E as a pyannote model.

    An LSTM reads mel spectrograms of 1.6 s; the embedding of a longer stretch is the mean over windows of 1.6 s with
    half overlap, scaled to length 1 (Wan et al., Generalized End-to-End Loss for Speaker Verification, 2018). The
    network and its input are those of Resemblyzer. Two things are decided here: the frames of one voice are joined
    before they are cut into windows, and speech shorter than a window is repeated to fill it, since padding with
    silence would draw all short stretches together.
    """

    dimension = 256

    def __init__(self) -> None:
        super().__init__(sample_rate=SAMPLE_RATE)
        self.mel = torchaudio.transforms.MelSpectrogram(
            SAMPLE_RATE, n_fft=400, hop_length=_HOP, n_mels=40, norm="slaney", mel_scale="slaney", pad_mode="constant"
        )
        self.lstm = nn.LSTM(40, 256, 3, batch_first=True)
        self.linear = nn.Linear(256, 256)

    def forward(self, waveforms: Tensor, weights: Tensor | None = None) -> Tensor:  # type: ignore[override]
        """Embeddings of a batch.

        Args:
            waveforms: (batch, 1, samples) at 16 kHz.
            weights: (batch, frames) of any frame rate; frames above 0.5 count as the voice's. Default: all.

        Returns:
            (batch, 256), of length 1; NaN where no frame is the voice's.
        """
        samples = waveforms[:, 0]
        frames = samples.shape[1] // _HOP
        mel = self.mel(samples).transpose(1, 2)[:, :frames]
        power = samples[:, : frames * _HOP].reshape(len(samples), frames, _HOP).square().mean(2)
        if weights is None:
            weights = torch.ones(len(samples), frames, device=samples.device)
        voiced = functional.interpolate(weights[:, None], size=frames, mode="nearest")[:, 0] > 0.5
        parts: list[Tensor] = []
        owners: list[int] = []
        for item in range(len(samples)):
            if voiced[item].any():
                cut = _cut(_levelled(mel[item][voiced[item]], power[item][voiced[item]]))
                parts.extend(cut)
                owners.extend([item] * len(cut))
        embeddings = torch.full((len(samples), self.dimension), float("nan"), device=samples.device)
        if parts:
            owner = torch.tensor(owners, device=samples.device)
            sums = torch.zeros_like(embeddings).index_add_(0, owner, self.embed(torch.stack(parts)))
            found = torch.tensor(sorted(set(owners)), device=samples.device)
            embeddings[found] = functional.normalize(sums[found], dim=1)
        return embeddings

    def embed(self, parts: Tensor) -> Tensor:
        """Embeddings (n, 256) of spectrogram windows (n, 160, 40)."""
        _, (hidden, _) = self.lstm(parts)
        return functional.normalize(functional.relu(self.linear(hidden[-1])), dim=1)


class NoPlda(PLDA):
    """Stands for the model that pyannote's pipeline asks for but agglomerative clustering does not use."""

    def __init__(self) -> None:
        """Holds nothing."""


def _levelled(mel: Tensor, power: Tensor) -> Tensor:
    gain: Tensor = (_LOUDNESS / power.mean().sqrt().clamp_min(1e-8)).clamp_min(1.0)
    return mel * gain.square()


def _cut(mel: Tensor) -> list[Tensor]:
    if len(mel) < _PART:
        return [mel.repeat(-(-_PART // len(mel)), 1)[:_PART]]
    last = len(mel) - _PART
    starts = list(range(0, last + 1, _STEP))
    if last - starts[-1] >= _STEP // 2:
        starts.append(last)
    return [mel[start : start + _PART] for start in starts]
