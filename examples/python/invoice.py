"""The function that flow.yaml calls."""


def total(prices: list[float], tax_rate: float) -> dict[str, float]:
    net = sum(prices)
    return {"net": net, "total": round(net * (1 + tax_rate), 2)}
