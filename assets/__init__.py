"""The Dagster definitions: the pipeline's stations and tables as assets. They call `pipeline` and compute nothing."""
