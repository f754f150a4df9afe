"""The flows that the tests debug."""

from pathlib import Path

SHOP = """\
name: shop
inputs:
  customer: {default: Ada}
vars: {region: eu, prices: [100, 20, 3], total: 0}
env: {TOKEN_NAME: none}
steps:
  - id: version
    run: echo "number=1.4.0" >> "$PITSTOP_OUTPUT"; echo reading; echo warning >&2

  - id: checks
    parallel:
      - id: left
        run: echo left
      - id: right
        run: echo right
  - id: loop
    repeat:
      times: 3
    steps:
      - id: turn
        run: echo turn ${{ .repeat.index }}
  - id: last
    run: echo "${{ .vars.region }} ${{ .inputs.customer }}"
cleanup:
  - id: tidy
    run: echo tidy
"""

BROKEN = """\
name: broken
vars: {port: 54321}
steps:
  - id: start
    run: echo "starting"
  - id: connect
    run: |
      echo "connecting to ${{ .vars.port }}"
      test "${{ .vars.port }}" = 5432
  - id: done
    run: echo "connected"
"""

FAILURES = """\
name: failures
steps:
  - id: handled
    run: exit 1
    continue_on_error: true
  - id: again
    run: exit 2
    retry: {times: 1}
    continue_on_error: true
  - id: slow
    run: sleep 60
    timeout: 200ms
    continue_on_error: true
  - id: fatal
    run: exit 3
"""

LONG = """\
name: long
steps:
  - id: wait
    run: touch started; sleep 60
  - id: after
    run: echo after
"""

BRANCHES = """\
name: branches
steps:
  - id: both
    parallel:
      - id: slow
        steps:
          - id: hold
            run: until test -e go; do sleep 0.05; done
          - id: slow_end
            run: echo slow end
      - id: quick
        steps:
          - id: quick_one
            run: echo quick one
          - id: quick_two
            run: echo quick two
  - id: joined
    run: echo joined
"""

CALLER = """\
name: caller
steps:
  - id: one
    call: called.yaml
    with: {word: first}
  - id: two
    call: called.yaml
    with: {word: second}
"""

CALLED = """\
name: called
inputs:
  word: {required: true}
steps:
  - id: say
    run: echo "${{ .inputs.word }}"
"""

WRONG = """\
name: wrong
steps:
  - id: a
    runn: echo typo
  - id: a
    run: echo "${{ .vars. }}"
"""

GRAPH = """\
import asyncio

from pitstop import END, START, Graph


async def fetch(state):
    print("fetching", state["count"])
    count = state["count"] + 1
    await asyncio.sleep(0)
    return {"count": count}


def double(state):
    return {"count": state["count"] * 2}


def left(state):
    return {"left": state["count"]}


def right(state):
    return {"right": state["count"]}


def add(state):
    if state["port"] != 5432:
        raise ConnectionError(f"nobody answers at {state['port']}")
    return {"sum": state["left"] + state["right"]}


def helper():
    return 1


inner = Graph("inner")
inner.add_node("double", double)
inner.add_edge(START, "double")
inner.add_edge("double", END)

graph = Graph("sums")
for name, does in {"fetch": fetch, "inner": inner, "left": left, "right": right, "add": add}.items():
    graph.add_node(name, does)
graph.add_edge(START, "fetch")
graph.add_edge("fetch", "inner")
graph.add_edge("inner", ["left", "right"])
graph.add_edge("left", "add")
graph.add_edge("right", "add")
graph.add_edge("add", END)
app = graph.compile()
"""

CALLING = """\
name: calling
steps:
  - id: price
    python: prices:total
    with: {prices: [100, 20, 3]}
  - id: later
    python: prices:later
  - id: said
    run: echo "${{ .steps.price.outputs.total }}"
"""

PRICES = """\
import asyncio


def total(prices):
    found = sum(prices)
    doubled = found * 2
    return {"total": doubled}


async def later():
    await asyncio.sleep(0)
    return {}
"""

FLOWS = {
    "shop.yaml": SHOP,
    "broken.yaml": BROKEN,
    "failures.yaml": FAILURES,
    "long.yaml": LONG,
    "branches.yaml": BRANCHES,
    "caller.yaml": CALLER,
    "called.yaml": CALLED,
    "wrong.yaml": WRONG,
    "sums.py": GRAPH,
    "calling.yaml": CALLING,
    "prices.py": PRICES,
}


def write_flows(folder: Path) -> None:
    for name, text in FLOWS.items():
        (folder / name).write_text(text)


def line_of(flow: str, text: str) -> int:
    """The line, from 1, that a text is on in one of the flows."""
    return next(number for number, line in enumerate(FLOWS[flow].split("\n"), 1) if text in line)
