"""The review page: people verify every row against the recording. This package is its server."""
