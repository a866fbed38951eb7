"""``python -m stt_ru`` is the command ``stt-ru``."""

from stt_ru.cli import main

if __name__ == "__main__":
    main()
