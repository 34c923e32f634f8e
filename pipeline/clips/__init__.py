"""Row clips: each row of a conversation as a small video of its own."""
