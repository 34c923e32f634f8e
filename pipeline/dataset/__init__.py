"""From the conversations to the tables that others use: build, splits, statistics, publication."""
