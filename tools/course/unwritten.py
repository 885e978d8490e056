"""What of an exercise is not written yet: the calls of fa::todo that are left in it."""

import re
from dataclasses import dataclass

from .lessons import Lesson

# fa::todo("Step 3b: load a tile of K and V"), and not in a comment
_CALL = re.compile(r'^(?:(?!//)[^"\n])*\btodo\("Step (\d+)([a-z]?): ([^"]*)"\)', re.MULTILINE)


@dataclass(frozen=True)
class Region:
    step: int
    part: str  # the b of 3b, or nothing
    title: str

    def __str__(self) -> str:
        return f"{self.step}{self.part} ({self.title})" if self.part else self.title


def regions(lesson: Lesson, step: int | None = None) -> list[Region]:
    """Of one step, or all."""
    source = lesson.read_exercise().decode(errors="replace")
    found = [Region(int(number), part, title) for number, part, title in _CALL.findall(source)]
    return [one for one in found if step in (None, one.step)]


def later_steps(lesson: Lesson, step: int) -> list[int]:
    """Those after `step` without which a test of it does not tell all: the kernel ends where they would begin.

    Elsewhere no step changes what was right of another.
    """
    return sorted({one.step for one in regions(lesson) if one.step > step}) if tested_as_far_as(lesson) else []


def tested_as_far_as(lesson: Lesson) -> bool:
    """Whether its tests accept a kernel that ends at a later step: they run it as_far_as() their own."""
    return any(b"as_far_as(" in header.read_bytes() for header in lesson.folder.glob("*.h"))


def said(steps: list[int]) -> str:
    """ "step 5 is not written", "steps 4 to 6 are not written"."""
    if len(steps) == 1:
        return f"step {steps[0]} is not written"
    if steps[-1] - steps[0] == len(steps) - 1 > 1:
        return f"steps {steps[0]} to {steps[-1]} are not written"
    return f"steps {', '.join(map(str, steps[:-1]))} and {steps[-1]} are not written"
