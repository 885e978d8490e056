"""The walk over the tiles: the bytes of the kernels, in the order of their loops."""

import contextlib
import io
import json
import unittest
from unittest import mock

from course import demo_live, demo_screen, demo_tiles, screen, tile_walk
from course.errors import UsageError
from course.tile_walk import Tiling
from course_folder import CourseFolder


def moved(name, tiling):
    rows = tile_walk.totals(tile_walk.walk(name, tiling)).values()
    return sum(row["read_bytes"] for row in rows), sum(row["written_bytes"] for row in rows)


def places(name, tiling):
    return [(step.i, step.j) for step in tile_walk.walk(name, tiling)]


class Bytes(unittest.TestCase):
    def test_the_walk_moves_what_the_emulator_counted(self):
        """The numbers of `./course demo`, which are those of the formulas, too."""
        self.assertEqual(moved("standard", Tiling(512, 32, 32)), (10_485_760, 2_228_224))
        self.assertEqual(moved("V1", Tiling(512, 32, 32)), (4_521_984, 2_297_856))
        self.assertEqual(moved("V1", Tiling(512, 64, 64)), (2_392_064, 1_216_512))
        self.assertEqual(moved("V2", Tiling(512, 64, 32)), (2_228_224, 133_120))
        k = tile_walk.totals(tile_walk.walk("V2", Tiling(512, 64, 32)))["k"]
        self.assertEqual(k, {"read_bytes": 1_048_576, "written_bytes": 0})

    def test_partial_tiles_move_only_what_is_there(self):
        N, Tc, Tr = 100, 4, 3  # tiles of 48 queries and 32 keys
        self.assertEqual(moved("V1", Tiling(N, 48, 32)), (4 * N * (2 * 64 + Tc * 130), 4 * N * 66 * (1 + Tc)))
        self.assertEqual(moved("V2", Tiling(N, 48, 32)), (4 * N * (64 + Tr * 128), 4 * N * 65))


class Order(unittest.TestCase):
    def test_v1_goes_down_the_columns_and_v2_along_the_rows(self):
        tiling = Tiling(64, 32, 32)
        self.assertEqual(places("V1", tiling), [(None, None), (0, 0), (1, 0), (0, 1), (1, 1)])
        self.assertEqual(places("V2", tiling), [(0, 0), (0, 1), (1, 0), (1, 1)])
        scores, softmax = [(0, 0), (0, 1), (1, 0), (1, 1)], [(0, None), (1, None)]
        self.assertEqual(places("standard", tiling), scores + softmax + scores)

    def test_each_loop_loads_its_outer_tile_once(self):
        loads = {
            name: [(step.i, step.j) for step in tile_walk.walk(name, Tiling(64, 32, 32)) if buffer in step.reads]
            for name, buffer in (("V1", "k"), ("V2", "q"))
        }
        self.assertEqual(loads, {"V1": [(0, 0), (0, 1)], "V2": [(0, 0), (1, 0)]})

    def test_a_causal_mask_hides_tiles_from_v1_and_v2_only(self):
        tiling = Tiling(64, 32, 32, causal=True)
        self.assertNotIn((0, 1), places("V1", tiling) + places("V2", tiling))
        self.assertIn((0, 1), places("standard", tiling))
        # Tiles that only the last query of a tile sees are seen.
        self.assertTrue(Tiling(64, 33, 32, causal=True).seen(0, 1))
        self.assertFalse(Tiling(64, 32, 32, causal=True).seen(0, 1))


class Screen(CourseFolder):
    def run_tiles(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as stdout:
            self.assertEqual(demo_tiles.main(list(arguments)), 0)
        return stdout.getvalue()

    def test_plain_output_is_a_line_for_each_step_and_a_table(self):
        self.run_tiles("--n", "64")
        lines = self.output().splitlines()
        self.assertIn("    2  q 0, k 0     absorb the tile       reads k v q out m l    writes out m l", lines)
        self.assertEqual(sum(" reads " in line and " writes " in line for line in lines), 10 + 5 + 4)
        self.assertIn("read: q 1×, k 2×, v 2×", self.output())
        self.assertIn("written: out 3×, m 3×, l 3×", self.output())
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_a_mask_makes_fractions_which_fit_as_well(self):
        self.run_tiles("--n", "384", "--causal")
        self.assertIn("read: q 6.5×, k 1×, v 1×, out 6.5×, m 6.5×, l 6.5×", self.sentences())
        self.assertLessEqual(self.widest(), 80)

    def test_a_narrow_terminal_is_wide_enough_for_the_usual_tiles(self):
        tiling = Tiling(128, 32, 32)
        walks = {name: tile_walk.walk(name, tiling) for name in tile_walk.LOOPS}
        with mock.patch.object(demo_screen, "width", return_value=60):
            demo_tiles.show_totals(tiling, {name: tile_walk.totals(steps) for name, steps in walks.items()})
        frames = [demo_tiles.frame(name, tiling, steps, 0, 60).plain for name, steps in walks.items()]
        lines = "\n".join([self.output(), *frames]).splitlines()
        self.assertLessEqual(max(map(len, lines)), 60)

    def test_json_holds_every_step(self):
        document = json.loads(self.run_tiles("--n", "64", "--causal", "--json"))
        self.assertEqual((document["N"], document["causal"]), (64, True))
        self.assertEqual([len(one["steps"]) for one in document["algorithms"]], [10, 4, 3])
        self.assertEqual(self.output(), "")

    def test_frames_show_what_is_now_done_and_to_come(self):
        tiling = Tiling(96, 32, 32, causal=True)
        steps = tile_walk.walk("V2", tiling)
        text = demo_tiles.frame("V2", tiling, steps, 2, 80).plain
        self.assertIn("q0 ░░       ", text)
        self.assertIn("q1 ░░ ██    ", text)
        self.assertIn("q2 ·· ·· ·· ", text)
        self.assertIn("Step 3 of 6", text)

    def test_frames_fit_the_terminal(self):
        tiling = Tiling(12 * 32, 32, 32)
        for width in (76, 80, 100):
            for name in tile_walk.LOOPS:
                steps = tile_walk.walk(name, tiling)
                for at in (0, len(steps) // 2, len(steps) - 1):
                    frame = demo_tiles.frame(name, tiling, steps, at, width).plain
                    self.assertLessEqual(max(map(len, frame.splitlines())), width)

    def test_the_pace_is_spread_over_all_steps(self):
        with mock.patch.object(demo_tiles.time, "sleep") as sleep:
            self.run_tiles("--n", "64", "--pace", "19")
        self.assertEqual([call.args[0] for call in sleep.call_args_list], [1.0] * 19)

    def test_bad_flags_show_nothing(self):
        for arguments in (["--n", "0"], ["--br", "x"], ["--n", "512"], ["--bc", "1"], ["--pace", "x"], ["more"]):
            with self.subTest(arguments), self.assertRaises(UsageError):
                demo_tiles.main(arguments)
        self.assertEqual(self.output(), "")

    def test_usual_pace_on_a_terminal(self):
        with mock.patch.object(screen, "is_plain", return_value=False):
            self.assertEqual(demo_tiles.parse([])[1], demo_live.USUAL_PACE)


if __name__ == "__main__":
    unittest.main()
