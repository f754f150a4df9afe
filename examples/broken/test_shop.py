"""What the shop promises."""

import unittest

from shop.prices import with_tax


class PriceTest(unittest.TestCase):
    def test_tax_comes_on_top(self) -> None:
        self.assertAlmostEqual(with_tax(100), 119)
