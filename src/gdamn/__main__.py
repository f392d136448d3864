"""``python -m gdamn`` is the command ``gdamn``."""

from .cli.root import main

if __name__ == "__main__":
    main()
