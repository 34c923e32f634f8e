"""The server: routes, and what every request must pass. `docs/reference/review-api.md` is its contract."""
