from pathlib import Path

from pitstop.executors.machine.spill import JOINED_BYTES, RECORD, STDERR, STDOUT, SpillReader, SpillWriter


def written(path: Path, *chunks: tuple[int, float, bytes]) -> str:
    writer = SpillWriter(str(path))
    for stream, time, data in chunks:
        writer.append(stream, time, data)
    writer.close()
    return str(path)


def read(path: str, offset: int = 0) -> list[tuple[int, int, float, bytes]]:
    reader = SpillReader(path, offset)
    chunks = []
    while chunk := reader.read():
        chunks.append(chunk)
    reader.close()
    return chunks


def test_chunks_of_one_stream_that_came_close_together_are_read_as_one(tmp_path: Path) -> None:
    log = written(
        tmp_path / "log",
        (STDOUT, 1.0, b"a"),
        (STDOUT, 1.01, b"b"),
        (STDERR, 1.02, b"c"),
        (STDOUT, 1.03, b"d"),
        (STDOUT, 9.0, b"e"),
    )

    assert read(log) == [
        (STDOUT, 0, 1.0, b"ab"),
        (STDERR, 2, 1.02, b"c"),
        (STDOUT, 3, 1.03, b"d"),
        (STDOUT, 4, 9.0, b"e"),
    ]


def test_what_is_read_as_one_has_a_limit(tmp_path: Path) -> None:
    half = bytes(JOINED_BYTES // 2)
    log = written(tmp_path / "log", *[(STDOUT, 1.0, half)] * 5)

    assert [len(data) for _, _, _, data in read(log)] == [JOINED_BYTES, JOINED_BYTES, JOINED_BYTES // 2]


def test_reading_can_begin_anywhere(tmp_path: Path) -> None:
    log = written(tmp_path / "log", *((number % 2, float(number), b"0123456789") for number in range(100)))

    for offset in range(0, 1010, 7):
        assert b"".join(data for _, _, _, data in read(log, offset)) == (b"0123456789" * 100)[offset:]


def test_a_record_that_is_only_half_written_is_not_there_yet(tmp_path: Path) -> None:
    log = written(tmp_path / "log", (STDOUT, 1.0, b"whole"), (STDOUT, 9.0, b"half"))
    index = tmp_path / "log.index"
    whole_index = index.read_bytes()
    index.write_bytes(whole_index[: RECORD.size + 5])
    reader = SpillReader(log)

    assert reader.read() == (STDOUT, 0, 1.0, b"whole")
    assert reader.read() is None
    index.write_bytes(whole_index)
    assert reader.read() == (STDOUT, 5, 9.0, b"half")
    reader.close()


def test_a_log_that_has_no_byte_yet_can_be_read_later(tmp_path: Path) -> None:
    reader = SpillReader(str(tmp_path / "log"))
    assert reader.read() is None

    written(tmp_path / "log", (STDERR, 1.0, b"now"))

    assert reader.read() == (STDERR, 0, 1.0, b"now")
    reader.close()
