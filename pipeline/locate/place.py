"""The clip of a located scene in its conversation's folder, and the note beside it that says where it is from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pipeline.conversation import save_conversation
from pipeline.errors import InputError
from pipeline.locate.cut import CUT_VERSION, cut_scene, plan_scene, suffix_of
from pipeline.locate.decide import Verdict
from pipeline.locate.episodes import Episode
from pipeline.media.ffmpeg import version as ffmpeg_version
from pipeline.media.probe import choose_audio, probe
from pipeline.station import Workspace
from pipeline.store import Json, digest_json, read_json, write_json

__all__ = ["NOTE", "earlier", "has_own_media", "put", "take_away"]

NOTE = "located.json"
_STEM = "located"


def earlier(workspace: Workspace) -> dict[str, Json] | None:
    """What an earlier run noted of the scene; None if it put nothing there."""
    try:
        note = read_json(workspace.raw / NOTE)
    except (FileNotFoundError, ValueError):
        return None
    return note if isinstance(note, dict) and "made_of" in note else None


def has_own_media(workspace: Workspace) -> bool:
    """Whether somebody gave the conversation a recording that is not from here; such a one is never touched."""
    media = workspace.conversation.media
    note = earlier(workspace)
    return media is not None and (note is None or note.get("media") != media)


def put(verdict: Verdict, episode: Episode, workspace: Workspace) -> bool:
    """Cut the scene, unless the clip that is there is the same; name it in ``conversation.yaml``.

    Returns:
        Whether it was cut now.

    Raises:
        InputError: If it cannot be cut, or another file has its name.
    """
    assert verdict.best is not None
    info = probe(episode.path)
    conversation = workspace.conversation
    language = conversation.language or workspace.settings.recognition.language
    sound, _ = choose_audio(info, conversation, language) if info.audio else (None, None)
    plan = plan_scene(verdict.best, verdict.scene, info, episode.heard.duration)
    target = workspace.raw / f"{_STEM}{suffix_of(info)}"
    made_of = digest_json(
        {
            "episode": episode.sha256,
            "plan": plan.to_json(),
            "track": sound.track if sound else None,
            "ffmpeg": ffmpeg_version(),
            "version": CUT_VERSION,
        }
    )
    before = earlier(workspace)
    if before is None and target.exists():
        msg = "a file of this name is there already, and it is not from here"
        raise InputError(msg, conversation=conversation.id, file=target, hint="give it another name")
    # Against its size, not its content: reading every clip again at each run would cost more than it tells.
    kept = before is not None and before["made_of"] == made_of and _size(target) == before["size"]
    if not kept:
        cut_scene(episode.path, info, sound, plan, target)
    if before is not None and before["media"] != target.name:
        (workspace.raw / str(before["media"])).unlink(missing_ok=True)
    note = {
        "media": target.name,
        "size": target.stat().st_size,
        "made_of": made_of,
        "episode": episode.heard.name,
        "episode_sha256": episode.sha256,
        "offset": verdict.best.offset,
        "confidence": verdict.confidence,
        "audio_track": sound.track if sound else None,
        **plan.to_json(),
    }
    write_json(workspace.raw / NOTE, note)
    if conversation.media != target.name:
        # The clip has one track: a choice that was made for the episode no longer holds.
        save_conversation(workspace.raw, conversation.model_copy(update={"media": target.name, "audio_track": None}))
    return not kept


def take_away(workspace: Workspace) -> Workspace:
    """Remove a clip that an earlier run put there, and its name in ``conversation.yaml``."""
    note = earlier(workspace)
    if note is None:
        return workspace
    conversation = workspace.conversation.model_copy(update={"media": None})
    save_conversation(workspace.raw, conversation)
    (workspace.raw / str(note["media"])).unlink(missing_ok=True)
    (workspace.raw / NOTE).unlink(missing_ok=True)
    return replace(workspace, conversation=conversation)


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None
