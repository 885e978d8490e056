"""The figures about tiles: they show what the walk and the record say, and refuse what their titles would not hold for."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "plots"))

import style  # noqa: E402
import tile_size  # noqa: E402
import tile_walk  # noqa: E402
from data import PlotError, load  # noqa: E402


class Walk(unittest.TestCase):
    def test_how_often_each_buffer_crosses(self):
        self.assertEqual(
            tile_walk.crossings("V1"),
            {"q": (4, 0), "k": (1, 0), "v": (1, 0)} | dict.fromkeys(("out", "m", "l"), (4, 5)),
        )
        self.assertEqual(
            tile_walk.crossings("V2"), {"q": (1, 0), "k": (4, 0), "v": (4, 0), "out": (0, 1), "lse": (0, 1)}
        )
        self.assertEqual(tile_walk.crossings("standard")["P"], (2, 1))

    def test_it_is_drawn_the_same_each_time(self):
        self.assertEqual(style.svg(tile_walk.draw()), style.svg(tile_walk.draw()))


class Size(unittest.TestCase):
    def test_a_machine_whose_hbm_is_the_limit_needs_another_title(self):
        record, roofs = load("h200_forward"), load("roofs")
        tile_size.draw(record, roofs)
        slow = roofs | {"copy_bytes_per_second": {"median": 0.3e12}}
        with self.assertRaisesRegex(PlotError, "not its limit"):
            tile_size.draw(record, slow)


if __name__ == "__main__":
    unittest.main()
