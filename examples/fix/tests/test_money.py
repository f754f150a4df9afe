"""The tests of the shop: `pytest` and `python3 -m unittest` both run them."""

import unittest

from shop.money import cents, shown


class MoneyTest(unittest.TestCase):
    def test_an_amount_with_a_comma_is_read(self) -> None:
        self.assertEqual(cents("12,50"), 1250)

    def test_an_amount_is_shown_with_two_digits(self) -> None:
        self.assertEqual(shown(cents("19,05")), "19,05")
