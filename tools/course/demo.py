"""`./course demo`: which demonstration."""

from .errors import UsageError

DEMONSTRATIONS = ("traffic", "tiles", "invariant", "accuracy")


def run(arguments: list[str]) -> int:
    """Without a name: the traffic through HBM. Flags belong to the demonstration."""
    name, rest = (
        (arguments[0], arguments[1:]) if arguments and not arguments[0].startswith("-") else ("traffic", arguments)
    )
    if name == "traffic":
        from . import demo_traffic

        return demo_traffic.main(rest)
    if name == "tiles":
        from . import demo_tiles

        return demo_tiles.main(rest)
    if name == "invariant":
        from . import demo_invariant

        return demo_invariant.main(rest)
    if name == "accuracy":
        from . import demo_accuracy

        return demo_accuracy.main(rest)
    raise UsageError(f"There is no demonstration '{name}'. There are: {', '.join(DEMONSTRATIONS)}.")
