"""Tests of drafts by language models."""
