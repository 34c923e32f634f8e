"""Many conversations: one after the other in this process, or side by side on workers with warm models."""
