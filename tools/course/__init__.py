"""The course runner: `./course` on the command line."""

__version__ = "0.1.0"
