"""argparse with the runner's own way to say what is wrong."""

import argparse

from .errors import UsageError


class Parser(argparse.ArgumentParser):
    def __init__(self, **options):
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str):
        raise UsageError(f"{message[0].upper()}{message[1:]}.", f"For help: {self.prog} --help")
