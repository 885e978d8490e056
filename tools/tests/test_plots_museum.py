"""The cells of the kill matrix."""

import unittest

import museum


class Outline(unittest.TestCase):
    def rectangles(self, *cells):
        corners = museum.outline([*cells]).vertices.tolist()
        return [(*corners[at], *corners[at + 2]) for at in range(0, len(corners), 5)]

    def test_a_cell_is_a_square(self):
        self.assertEqual(self.rectangles((2, 3)), [(2, 3, 3, 4)])

    def test_neighbors_in_a_row_are_one(self):
        self.assertEqual(self.rectangles((1, 0), (0, 0), (3, 0)), [(0, 0, 2, 1), (3, 0, 4, 1)])

    def test_those_of_two_rows_are_not(self):
        self.assertEqual(self.rectangles((0, 0), (1, 1), (0, 1)), [(0, 0, 1, 1), (0, 1, 2, 2)])


if __name__ == "__main__":
    unittest.main()
