"""Ratios against peers, measured in one run; see docs/reference/benchmarks.md."""
