"""Drafts of annotations by a language model, for a person to correct: off unless a model is named."""
