"""From a user's file to facts about it and to audio on the clip's own time axis."""
