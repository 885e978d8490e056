"""What CI checks beyond the tests: `python -m checks` from tools/, or `python -m checks NAME...` for some of it."""
