"""The embedded diarization pipeline. Needs torch: import it inside functions only.

It is pyannote's ``SpeakerDiarization`` over the embedded networks, with agglomerative clustering, and with two changes:
local speakers that are silent in a window are not embedded, and voices in which no voice is heard are taken out.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pyannote.audio.pipelines import SpeakerDiarization
from pyannote.audio.pipelines.clustering import AgglomerativeClustering
from pyannote.audio.utils.signal import binarize
from pyannote.core import Segment, SlidingWindow, SlidingWindowFeature
from torch import Tensor
from torch.nn import functional

from pipeline.settings import DiarizationSettings
from pipeline.speech import networks, weights
from pipeline.speech.diarize import SOUND, VOICE
from pipeline.speech.sound import Sound
from pipeline.speech.voice import SAMPLE_RATE
from pipeline.times import Interval

__all__ = ["PARAMETERS", "VoiceDiarization", "embedded_pipeline"]

_NOBODY = -2
"""How pyannote marks a local speaker that belongs to no cluster."""
_VOICED_SHARE = 0.5
"""A person's stretches are voice for the greater part; music that the segmentation takes for a speaker is not."""
_CLUSTERED = 4000
"""Voices of windows that are compared with each other: those of about half an hour of talk."""

PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "segmentation": {"threshold": 0.5, "min_duration_off": 0.0},
    "clustering": {"method": "average", "min_cluster_size": 12},
}
"""The pipeline's parameters, without the clustering threshold, which is a setting."""


def embedded_pipeline(settings: DiarizationSettings, *, workers: int = 1) -> VoiceDiarization:
    """The pipeline over the embedded segmentation and voice networks, ready to run."""
    pipeline = VoiceDiarization(
        workers=workers,
        segmentation=networks.load_segmentation(weights.embedded_segmentation()),
        embedding=networks.load_voice_encoder(weights.embedded_voice_embedding()),
        clustering="AgglomerativeClustering",
        plda=networks.NoPlda(),
        segmentation_batch_size=settings.batch_size,
        embedding_batch_size=settings.batch_size,
    )
    clustering = {**PARAMETERS["clustering"], "threshold": settings.clustering_threshold}
    pipeline.instantiate({"segmentation": dict(PARAMETERS["segmentation"]), "clustering": clustering})
    return pipeline


class Activity(SlidingWindowFeature):  # type: ignore[misc]  # pyannote.core has no types
    """Activity of local speakers, 0..1, of which only one byte a frame is kept once it is binarized."""


@binarize.register
def _(scores: Activity, onset: float = 0.5, offset: float | None = None, initial_state: bool | None = None) -> Any:
    # With one threshold for on and off this is what pyannote's own does, in a fortieth of the memory.
    del offset, initial_state
    return SlidingWindowFeature((scores.data > onset).astype(np.uint8), scores.sliding_window)


class Clustered(SlidingWindowFeature):  # type: ignore[misc]  # pyannote.core has no types
    """Activity (windows, frames, clusters) of clusters, each window made when its turn comes.

    A cluster is as active as the most active of its local speakers, as in pyannote's ``reconstruct``, which holds all
    windows at once: for three hours and ten people that is half a gigabyte.
    """

    def __init__(self, segmentations: SlidingWindowFeature, clusters: NDArray[Any]) -> None:
        windows, frames, _ = segmentations.data.shape
        shape = (windows, frames, int(clusters.max()) + 1)
        super().__init__(np.broadcast_to(np.nan, shape), segmentations.sliding_window)
        self._segmentations, self._clusters = segmentations, clusters

    def __iter__(self) -> Iterator[tuple[Segment, NDArray[Any]]]:
        for own, (window, activity) in zip(self._clusters, self._segmentations, strict=True):
            made = np.full(self.data.shape[1:], np.nan)
            for cluster in np.unique(own[own >= 0]):
                made[:, cluster] = activity[:, own == cluster].max(axis=1)
            yield window, made


class VoiceClustering(AgglomerativeClustering):
    """Agglomerative clustering that tells voices from what only looks like one.

    The segmentation network was trained on speech and takes music for a speaker. Such a cluster would use up one of
    the speakers that the caller asked for, so that two people become one. A cluster that the voice detector finds to
    be mostly no voice is taken out, and the rest is clustered again.
    """

    def __call__(  # type: ignore[override]  # pyannote's own annotation of the result is wrong
        self, embeddings: NDArray[Any], segmentations: SlidingWindowFeature, **options: Any
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Cluster as pyannote does; local speakers of a cluster without voice belong to nobody."""
        voice = options["file"].get(VOICE)
        heard = segmentations
        while True:
            with contextlib.redirect_stdout(
                io.StringIO()
            ):  # pyannote prints that there are fewer voices than asked for
                found, soft, centroids = super().__call__(embeddings=embeddings, segmentations=heard, **options)
            active = heard.data.sum(axis=1)
            clusters = np.where(active > 0, found, _NOBODY)
            unvoiced = self._unvoiced(clusters, heard, voice) if voice is not None else []
            kept = np.isin(clusters, [_NOBODY, *unvoiced], invert=True)
            if not kept.any():
                return np.full_like(clusters, _NOBODY), soft, centroids
            if not unvoiced:
                return clusters, soft, centroids
            heard = SlidingWindowFeature(heard.data * kept[:, None, :], heard.sliding_window)

    def filter_embeddings(
        self, embeddings: NDArray[Any], segmentations: Any = None, min_active_ratio: float = 0.2
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """As pyannote's, but no more than `_CLUSTERED`, evenly over the recording; the others join the nearest cluster.

        The distances of all pairs are held in memory, which for three hours would be gigabytes.
        """
        found, windows, speakers = super().filter_embeddings(embeddings, segmentations, min_active_ratio)
        if len(found) > _CLUSTERED:
            kept = np.linspace(0, len(found) - 1, _CLUSTERED).round().astype(int)
            found, windows, speakers = found[kept], windows[kept], speakers[kept]
        return found, windows, speakers

    @staticmethod
    def _unvoiced(clusters: NDArray[Any], heard: SlidingWindowFeature, voice: Sequence[Interval]) -> list[int]:
        voiced = (heard.data * _voice_frames(heard, voice)[:, :, None]).sum(axis=1)
        active = heard.data.sum(axis=1)
        return [
            int(cluster)
            for cluster in np.unique(clusters[clusters >= 0])
            if voiced[clusters == cluster].sum() < _VOICED_SHARE * active[clusters == cluster].sum()
        ]


class VoiceDiarization(SpeakerDiarization):
    """``SpeakerDiarization`` that embeds only speakers who speak and, given `VOICE`, keeps only voices.

    Batches run side by side in ``workers`` threads, each operation in one thread: the recurrent networks wait for each
    other at every time step when one operation is spread over cores. The result does not depend on ``workers``.
    """

    reads_sound = True
    """The recording comes under `SOUND` and is read window by window."""

    def __init__(self, *, workers: int = 1, **options: Any) -> None:
        super().__init__(**options)
        self._workers = workers
        # Two speakers that the segmentation keeps apart in one window are two people.
        self.clustering = VoiceClustering(metric=self._embedding.metric, constrained_assignment=True)

    def prepare_one(self, file: Any, preload: bool = False) -> Mapping[str, Any]:
        """The file as it is: pyannote would ask for a waveform or a path."""
        del preload
        return dict(file)

    def get_segmentations(
        self, file: Mapping[str, Any], hook: Callable[..., None] | None = None
    ) -> SlidingWindowFeature:
        """Activity (windows, frames, local speakers) of sliding windows, the last one padded with silence."""
        del hook
        size, step = self._window()
        count = 1 + max(0, -(-(len(file[SOUND]) - size) // step))
        batch = self._segmentation.batch_size

        def infer(first: int) -> NDArray[Any]:
            stretch = self._stretch(file[SOUND], first, min(batch, count - first))
            return np.asarray(self._segmentation.infer(stretch.unfold(0, size, step)[:, None]))

        found = self._map(infer, range(0, count, batch))
        sliding = SlidingWindow(start=0.0, duration=self._segmentation.duration, step=self._segmentation.step)
        return Activity(np.vstack(found), sliding)

    def get_embeddings(
        self,
        file: Mapping[str, Any],
        binary_segmentations: SlidingWindowFeature,
        exclude_overlap: bool = False,
        hook: Callable[..., None] | None = None,
    ) -> NDArray[Any]:
        """Embeddings (windows, local speakers, dimension); NaN for local speakers who are silent in a window."""
        del exclude_overlap, hook
        masks = binary_segmentations.data
        windows, _, speakers = masks.shape
        embeddings = np.full((windows, speakers, self._embedding.dimension), np.nan, dtype=np.float32)
        spoken = np.argwhere(masks.any(axis=1))

        def embed(batch: NDArray[Any]) -> None:
            sounds = {window: self._stretch(file[SOUND], window, 1)[None] for window in set(batch[:, 0].tolist())}
            embeddings[batch[:, 0], batch[:, 1]] = self._embedding(
                torch.stack([sounds[window] for window in batch[:, 0]]),
                masks=torch.from_numpy(np.stack([masks[window, :, speaker] for window, speaker in batch])).float(),
            )

        size = self.embedding_batch_size
        self._map(embed, [spoken[first : first + size] for first in range(0, len(spoken), size)])
        return embeddings

    def _window(self) -> tuple[int, int]:
        """Length of a window, and from one to the next, in samples."""
        return round(self._segmentation.duration * SAMPLE_RATE), round(self._segmentation.step * SAMPLE_RATE)

    def _stretch(self, sound: Sound, first: int, count: int) -> Tensor:
        """The samples of consecutive windows, with silence after the end."""
        size, step = self._window()
        length = size + (count - 1) * step
        samples = torch.from_numpy(sound[first * step : first * step + length])
        return functional.pad(samples, (0, length - len(samples)))

    def _map(self, function: Callable[[Any], Any], batches: Iterable[Any]) -> list[Any]:
        with ThreadPoolExecutor(self._workers) as pool:
            return list(pool.map(function, batches))

    def reconstruct(
        self, segmentations: SlidingWindowFeature, hard_clusters: NDArray[Any], count: SlidingWindowFeature
    ) -> SlidingWindowFeature:
        """As pyannote's, but where only left-out speakers are active, nobody speaks."""
        if hard_clusters.max() < 0:
            return SlidingWindowFeature(np.zeros_like(count.data, dtype=float), count.sliding_window)
        heard = binarize(segmentations, onset=self.segmentation.threshold)
        heard.data *= (hard_clusters >= 0)[:, None, :]
        again = self.speaker_count(heard, self._segmentation.model.receptive_field, warm_up=(0.0, 0.0))
        fewer = SlidingWindowFeature(np.minimum(count.data, again.data).astype(np.int8), count.sliding_window)
        return self.to_diarization(Clustered(segmentations, hard_clusters), fewer)


def _voice_frames(segmentations: SlidingWindowFeature, voice: Sequence[Interval]) -> NDArray[Any]:
    """(windows, frames): whether the middle of each frame lies in voice."""
    windows, frames, _ = segmentations.data.shape
    window = segmentations.sliding_window
    middles = window.start + window.step * np.arange(windows)[:, None]
    middles = middles + window.duration * (np.arange(frames) + 0.5) / frames
    starts = np.array([part.start for part in voice])
    ends = np.array([part.end for part in voice])
    before = np.searchsorted(starts, middles, side="right") - 1
    inside: NDArray[Any] = (before >= 0) & (middles < ends[np.maximum(before, 0)]) if len(voice) else middles < 0
    return inside
