"""Prices, and the tax that comes on top of them."""

import json
from pathlib import Path

SETTINGS = Path(__file__).with_name("settings.json")


def with_tax(price: float) -> float:
    settings = json.loads(SETTINGS.read_text(encoding="utf-8"))
    return price * (1 + float(settings["tax_rate"]))
