"""``python -m pipeline`` is the ``rescue`` command."""

from pipeline.cli import main

if __name__ == "__main__":
    main()
