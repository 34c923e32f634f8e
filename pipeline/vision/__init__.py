"""Vision: shots, faces, lips, and who is likely speaking."""
