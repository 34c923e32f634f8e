"""Evaluation of language models on the six tasks.

A run of a model ends in one table of `outcomes`: a row for every instance that was to be answered. Metrics, comparisons
and the report read nothing else, so that models, baselines and imported runs are measured by the same code.
"""
