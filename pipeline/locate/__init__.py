"""Finds the scenes of released conversations in whole episodes, by what is said, and cuts them out."""
