"""The settings: one object, from file, environment and command line in rising order.

A profile is only a set of values; the code path is one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    YamlConfigSettingsSource,
)

from pipeline.dataset.policy import Policy
from pipeline.errors import UsageError
from pipeline.tasks.base import TaskOptions
from pipeline.tasks.render import Mode

__all__ = [
    "PROFILES",
    "ClipSettings",
    "CueSettings",
    "DatasetSettings",
    "DiarizationSettings",
    "EvaluatedModel",
    "EvaluationSettings",
    "MediaSettings",
    "PublicationSettings",
    "RecognitionSettings",
    "ReviewSettings",
    "Settings",
    "SplitScheme",
    "TurnSettings",
    "load_settings",
]

SETTINGS_FILE = "rescue.yaml"
EMBEDDED = "embedded"
"""Names the model that comes inside an installed package."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class MediaSettings(_Section):
    """Probing and audio extraction."""

    duration_tolerance: float = Field(default=0.5, ge=0)
    """Seconds by which decoded and probed length may differ before the recording counts as cut off."""
    quiet_dbfs: float = -50.0
    """Mean level in dB relative to full scale below which a recording is flagged as too quiet."""
    cancel_db: float = 10.0
    """Drop of level in dB by mixing channels to one above which the louder channel is used alone."""


class RecognitionSettings(_Section):
    """Speech recognition and word times."""

    model: str = EMBEDDED
    """``embedded``, a folder with a CTranslate2 Whisper model, or the name of a model in the local cache."""
    language: str = "en"
    """Used where a conversation names none."""
    compute_type: str = "int8"
    """Number format of CTranslate2: int8, float16, float32."""
    batch_size: int = Field(default=8, ge=1)
    """Windows recognised at once; halved when memory runs out."""
    beam_size: int = Field(default=5, ge=1)
    """Hypotheses kept while decoding."""
    alignment: str | None = EMBEDDED
    """Forced alignment of word times: ``embedded`` (PocketSphinx, English), a folder or hub name of a wav2vec2 model,
    or ``auto`` for the usual one of the language. Where it is empty, and for other languages with ``embedded``, word
    times come from the recogniser's attention."""
    max_word_seconds: float = Field(default=2.0, gt=0)
    """A word longer than this was stretched across a pause; it is trimmed and flagged."""


class DiarizationSettings(_Section):
    """Who speaks when."""

    model: str = EMBEDDED
    """``embedded``, a folder with a pyannote pipeline, or the name of a pipeline on the Hugging Face hub."""
    clustering_threshold: float = Field(default=0.2, gt=0, le=2)
    """Mean cosine distance under which two sets of voice samples are one person (embedded model)."""
    batch_size: int = Field(default=32, ge=1)
    """Windows of a network at once; halved when memory runs out."""
    same_person_threshold: float = Field(default=0.12, gt=0, le=2)
    """Mean cosine distance under which `rescue voices` takes voices of different conversations for one person
    (embedded model)."""


class TurnSettings(_Section):
    """How words become turns."""

    pause: float = Field(default=1.5, gt=0)
    """Seconds of silence after which the same speaker starts a new turn."""
    border: float = Field(default=0.3, ge=0)
    """Seconds around a change of speaker in which a single word follows its sentence."""
    nearest: float = Field(default=1.0, ge=0)
    """Seconds within which a word that no speaker covers goes to the nearest one."""


class CueSettings(_Section):
    """What is seen and how it sounds, turn by turn."""

    frame_rate: float = Field(default=12.5, gt=0, le=60)
    """Frames looked at a second. Lips open and close about four times a second: under ten, their motion is missed."""
    longest_side: int = Field(default=640, ge=128)
    """Pixels; larger pictures are made smaller before they are looked at."""
    detect_every: int = Field(default=6, ge=1)
    """A search for new faces every so many frames, half as often while it finds only known ones; in between known faces
    are followed."""
    face_confidence: float = Field(default=0.5, gt=0, lt=1)
    """Confidence, 0 to 1, from which something counts as a face. MediaPipe's own value; a higher one loses profiles."""
    face_detector: str = EMBEDDED
    """``embedded``, or the ONNX file of a YuNet network."""
    face_recognition: str | None = None
    """ONNX file of an SFace network, to tell which faces of different shots are one person; without it nobody is
    recognised."""
    lip_motion: float = Field(default=0.06, gt=0)
    """Change of the lip gap, in face heights a second, at which a face speaks as likely as not."""
    cut_threshold: float = Field(default=27.0, gt=0)
    """Change of colour and brightness between two frames, 0 to 255, that counts as a cut."""


class ClipSettings(_Section):
    """The clip of each row."""

    enabled: bool = True
    """Cut them where there is video."""
    padding: float = Field(default=0.0, ge=0)
    """Seconds added before and after the row."""
    longest_side: int = Field(default=1280, ge=64)
    """Pixels; larger pictures are made smaller."""
    crf: int = Field(default=20, ge=0, le=51)
    """Quality of H.264: 0 is lossless, 51 the worst."""
    preset: str = "veryfast"
    """Speed of H.264, as x264 names it."""
    sheet_frames: int = Field(default=8, ge=1, le=64)
    """Pictures on the contact sheet, evenly spread."""
    sheet_width: int = Field(default=320, ge=32, multiple_of=2)
    """Pixels of one picture on it."""
    faces: Literal["shown", "pixelated", "blurred"] = "shown"
    """Make faces hard to recognise, for sharing. Faces that are not found stay as they are: look before you share."""


class SplitScheme(_Section):
    """Shares of a named split scheme, for example ``{"train": 0.6, "dev": 0.2, "test": 0.2}``."""

    shares: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")], Annotated[float, Field(ge=0, le=1)]]
    """Split to share of the groups. Names are letters, digits and underscores: they become file names."""
    pinned: dict[str, str] = Field(default_factory=dict)
    """Conversation or group id to split: overrides the hash."""


class DatasetSettings(_Section):
    """The published tables."""

    split: str = "published"
    """The scheme in use; ``published`` puts everything into ``test``."""
    schemes: dict[str, SplitScheme] = Field(default_factory=dict)
    """Further schemes by name."""


class PublicationSettings(_Section):
    """What `rescue publish` and the workbench publish, and where."""

    to: str | None = None
    """A folder, or an address such as ``s3://bucket/set``. Nothing is published without it."""
    policy: Policy = Policy.ANNOTATIONS_ONLY
    """How much of the text to show."""
    keep_names: bool = False
    """Publish names and ids as they are, without pseudonyms."""
    name: str = "Annotated conversations"
    """Title of the data set."""
    licence: str = "research-only"
    """Short name of the terms."""
    terms: Path | None = None
    """A text file with the terms."""


class EvaluatedModel(_Section):
    """A model that the workbench evaluates. It decides where the text is sent, so nothing paid is listed at first."""

    model: str
    """``provider/model``, ``baseline/NAME``, or a name at ``base_url``."""
    base_url: str | None = None
    """Address of an OpenAI-compatible server."""
    tasks: tuple[str, ...] = ()
    """All six if none is named."""
    modes: tuple[Mode, ...] = (Mode.DIALOGUE,)
    """What evidence the model gets."""
    limit: int | None = Field(default=None, ge=1)
    """Instances of each task at most, an even sample."""
    max_connections: int = Field(default=10, ge=1)
    """Requests at once."""
    temperature: float = Field(default=0.0, ge=0)
    """Of sampling."""
    cost_limit: float | None = Field(default=None, ge=0)
    """Money for each run; needs ``evaluation.prices``."""


class EvaluationSettings(_Section):
    """The models that stand in the workbench; ``rescue eval`` takes any other."""

    models: tuple[EvaluatedModel, ...] = tuple(
        EvaluatedModel(model=f"baseline/{name}") for name in ("random", "majority", "repeat-last", "rules")
    )
    """At first the baselines that need no model and send nothing anywhere."""
    graders: tuple[str, ...] = ()
    """Models that judge the answers of ER and VP."""
    grader_url: str | None = None
    """Address of the graders' OpenAI-compatible server."""
    prices: Path | None = None
    """YAML file: model to ``{input, output}``, money for a million tokens."""


class ReviewSettings(_Section):
    """The review page."""

    database: SecretStr | None = None
    """Address of a PostgreSQL database, ``postgresql://user@host/name``. Default: SQLite in the data folder."""
    host_names: tuple[str, ...] = ()
    """Names by which browsers reach the page, besides this machine's own: that of the reverse proxy."""
    idle_hours: float = Field(default=12, gt=0)
    """Hours without a request after which a person must sign in again."""
    one_time_password_days: float = Field(default=7, gt=0, le=365)
    """Days in which a one-time password must be used."""
    linked_folders: tuple[Path, ...] = ()
    """Folders outside of ``raw_video`` whose files may be shown where a conversation's folder holds links to them;
    links of ``rescue add --link`` need none."""


class Settings(BaseSettings):
    """Everything that can be configured.

    Read from ``rescue.yaml`` in the project folder, then from ``RESCUE_*`` variables (``RESCUE_RECOGNITION__MODEL=...``
    for a nested one), then from the command line.
    """

    model_config = SettingsConfigDict(
        env_prefix="RESCUE_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        nested_model_default_partial_update=True,
    )

    profile: Literal["offline", "gpu"] = "offline"
    """``offline``: models inside installed packages, CPU, no network. ``gpu``: large models on a GPU."""
    data: Path = Path("data")
    """Everything made."""
    raw: Path = Path("raw_video")
    """One folder a conversation."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where models run."""
    threads: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
    """Threads of a model on the CPU; workers on this machine share them."""
    workers: Annotated[
        Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern=r"^[^\s:/]+:[0-9]+$")],
        Field(union_mode="left_to_right"),
    ] = 1
    """Conversations built side by side: a number of processes on this machine, or ``host:port`` of a Ray cluster. 1
    needs no Ray."""
    media: MediaSettings = MediaSettings()
    recognition: RecognitionSettings = RecognitionSettings()
    diarization: DiarizationSettings = DiarizationSettings()
    turns: TurnSettings = TurnSettings()
    cues: CueSettings = CueSettings()
    clips: ClipSettings = ClipSettings()
    dataset: DatasetSettings = DatasetSettings()
    review: ReviewSettings = ReviewSettings()
    tasks: TaskOptions = TaskOptions()
    publication: PublicationSettings = PublicationSettings()
    evaluation: EvaluationSettings = EvaluationSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Highest first: command line, environment, ``rescue.yaml``, the profile."""
        del dotenv_settings, file_secret_settings
        file = YamlConfigSettingsSource(settings_cls, yaml_file=SETTINGS_FILE, yaml_file_encoding="utf-8-sig")
        return init_settings, env_settings, file, _ProfileSource(settings_cls)

    @property
    def conversations_dir(self) -> Path:
        """Where the artifacts of conversations lie."""
        return self.data / "conversations"

    @property
    def evaluation_dir(self) -> Path:
        """Where the runs of models lie."""
        return self.data / "evaluation"

    @property
    def review_dir(self) -> Path:
        """Where the review page keeps its own files."""
        return self.data / "review"

    @property
    def benchmark_dir(self) -> Path:
        """Where the published tables lie."""
        return self.data / "benchmark"


PROFILES: dict[str, dict[str, Any]] = {
    "offline": {},
    "gpu": {
        "device": "cuda",
        "recognition": {"model": "large-v3", "compute_type": "float16", "batch_size": 32, "alignment": "auto"},
        "diarization": {"model": "pyannote/speaker-diarization-community-1", "batch_size": 32},
    },
}
"""What a profile sets; everything else has its default."""


class _ProfileSource(PydanticBaseSettingsSource):
    """The values of the profile that the higher sources name."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Unused: a profile is read whole."""
        del field
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        return PROFILES.get(self.current_state.get("profile", "offline"), {})


def load_settings(**overrides: Any) -> Settings:
    """The settings in force; ``overrides`` come from the command line and win.

    Raises:
        UsageError: If a value is wrong or a name unknown; the message names it.
    """
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        msg = f"setting {place}: {first['msg']}"
        raise UsageError(msg, file=SETTINGS_FILE, hint="docs/reference/settings.md lists all settings") from error
    except (yaml.YAMLError, SettingsError) as error:
        msg = f"the settings cannot be read: {error}"
        raise UsageError(msg, file=SETTINGS_FILE) from error
