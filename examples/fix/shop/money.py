"""Amounts of money as people write them, and as cents."""


def cents(text: str) -> int:
    """The cents of an amount such as `12,50`."""
    return int(float(text) * 100)


def shown(amount: int) -> str:
    """The amount as people write it."""
    return f"{amount // 100},{amount % 100}"
