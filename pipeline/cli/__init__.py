"""The ``rescue`` command."""


def main() -> None:
    """Run the command line."""
