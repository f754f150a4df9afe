"""What is loaded lazily is the same to everybody, and a short run does without it."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pitstop.lazy_modules import SELDOM_MATCHING, SELDOM_USED


def run(program: str, folder: Path) -> str:
    """What a program says in a process of its own, where modules are loaded lazily."""
    begun = "import sys\nfrom pitstop.lazy_modules import SELDOM_MATCHING, SELDOM_USED, load_lazily\nload_lazily()\n"
    words = [sys.executable, "-c", begun + textwrap.dedent(program)]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_module_is_filled_when_something_in_it_is_used(tmp_path: Path) -> None:
    said = run(
        """
        import asyncio.base_events, ssl
        print("_ssl" in sys.modules)
        from asyncio import selector_events
        print(ssl is asyncio.base_events.ssl is selector_events.ssl, "_ssl" in sys.modules)
        print(isinstance(ssl.create_default_context(), asyncio.base_events.ssl.SSLContext), type(ssl).__name__)
        print(issubclass(asyncio.sslproto.SSLProtocol, asyncio.BufferedProtocol))
        """,
        tmp_path,
    )

    assert said.splitlines() == ["False", "True False", "True module", "True"]


@pytest.mark.parametrize("name", sorted(SELDOM_USED | SELDOM_MATCHING))
def test_each_has_all_that_it_would_have(name: str, tmp_path: Path) -> None:
    compared = f"""
        import importlib
        lazy = importlib.import_module({name!r})
        lazy.__doc__, getattr(lazy, "anything", None)
        print(*sorted(vars(lazy)), lazy.__file__, type(lazy.__loader__), type(lazy.__spec__.loader), sep="\\n")
    """
    plainly = "sys.meta_path.pop(0)\n" + textwrap.dedent(compared)

    assert run(compared, tmp_path) == run(plainly, tmp_path)


def test_one_that_is_built_on_what_this_python_has_not_cannot_be_imported(tmp_path: Path) -> None:
    said = run(
        """
        from pitstop import lazy_modules
        lazy_modules.BUILT_ON["ssl"] = "_not_there"
        sys.modules["_ssl"] = None
        try:
            import ssl
        except ImportError:
            print("refused")
        """,
        tmp_path,
    )

    assert said == "refused\n"


def test_another_thread_waits_until_all_of_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import gate\ngate.entered.set()\ngate.opened.wait()\nVALUE = 1\n")
    said = run(
        """
        import threading, types
        gate = sys.modules["gate"] = types.ModuleType("gate")
        gate.entered, gate.opened = threading.Event(), threading.Event()
        SELDOM_USED.add("slow")
        import slow
        seen = []
        threads = [threading.Thread(target=lambda: seen.append(slow.VALUE)) for _ in range(2)]
        threads[0].start()
        gate.entered.wait()
        threads[1].start()
        threads[1].join(0.2)  # it has nothing to do but to wait
        gate.opened.set()
        for thread in threads:
            thread.join()
        print(seen)
        """,
        tmp_path,
    )

    assert said == "[1, 1]\n"


def test_a_pattern_is_compiled_when_it_is_first_used(tmp_path: Path) -> None:
    (tmp_path / "told.py").write_text("import re\nimport other\nNUMBER = re.compile('([0-9]+)', re.ASCII)\n")
    (tmp_path / "other.py").write_text("import re\nWORD = re.compile('[a-z]+')\n")
    said = run(
        """
        import re
        compile_now = re.compile
        SELDOM_MATCHING.add("told")
        import other, told
        print(type(other.WORD) is re.Pattern, type(told.NUMBER) is re.Pattern, re.compile is compile_now)
        print(told.NUMBER.sub(r"<\\1>", "a 12"), told.NUMBER.flags & re.ASCII != 0, told.NUMBER.groups)
        """,
        tmp_path,
    )

    assert said.splitlines() == ["True False True", "a <12> True 1"]


def test_a_part_of_a_package_is_loaded_without_the_rest_of_it(tmp_path: Path) -> None:
    said = run(
        """
        import yaml._yaml
        print(yaml.reader is sys.modules["yaml.reader"], "yaml.dumper" in sys.modules)
        print(yaml.safe_load("[1]"), "yaml.dumper" in sys.modules)
        """,
        tmp_path,
    )

    assert said.splitlines() == ["True False", "[1] True"]


def test_yaml_reads_in_python_what_it_always_read(tmp_path: Path) -> None:
    said = run(
        r"""
        import yaml
        print(yaml.load("[1, 2024-05-06, 0x10, yes, 1.5, ~]", yaml.SafeLoader))
        try:
            yaml.load("a: \x01", yaml.SafeLoader)
        except yaml.reader.ReaderError as error:
            print(error.reason)
        """,
        tmp_path,
    )

    assert said.splitlines() == [
        "[1, datetime.date(2024, 5, 6), 16, True, 1.5, None]",
        "special characters are not allowed",
    ]


def test_typing_extensions_can_be_imported_after_msgspec(tmp_path: Path) -> None:
    said = run(
        """
        print("msgspec" in sys.modules, "typing_extensions" in sys.modules)
        import msgspec, typing, typing_extensions

        class Point(typing_extensions.TypedDict):
            x: int
            y: typing_extensions.NotRequired[int]

        print(msgspec.json.decode('{"x": 1}', type=Point))
        """,
        tmp_path,
    )

    assert said.splitlines() == ["True False", "{'x': 1}"]


def test_a_short_run_does_without_them(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text('steps: [{run: "true"}]\n')
    words = [sys.executable, "-X", "importtime", "-m", "pitstop", "run", "flow.yaml"]
    told = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stderr
    loaded = {line.rpartition("|")[2].strip() for line in told.splitlines() if line.startswith("import time:")}

    assert loaded & {"_bz2", "_hashlib", "_lzma", "_ssl", "ast", "dis", "pydantic"} == set()
    assert {"asyncio", "yaml"} <= loaded
