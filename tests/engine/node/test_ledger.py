"""Files that outlive the engine: no torn line, one backup, replaced whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import binary, lists
from sandbox_engine.errors import InvalidArgument, NoSpace
from sandbox_engine.journal.ledger import FileDocument, LineFile


def test_lines_are_appended_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    for number in range(3):
        file = LineFile(path)
        file.append(b"%d" % number)
        file.close()
    assert path.read_bytes() == b"0\n1\n2\n"
    assert path.stat().st_mode & 0o007 == 0


def test_it_rotates_at_its_size_and_keeps_one_backup(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    file = LineFile(path, rotate_at=100)
    for number in range(30):
        file.append(b"line %02d--" % number)  # ten a file
    file.close()
    assert path.read_bytes().splitlines()[0] == b"line 20--"
    assert (tmp_path / "usage.jsonl.1").read_bytes().splitlines()[0] == b"line 10--"
    assert sorted(os.listdir(tmp_path)) == ["usage.jsonl", "usage.jsonl.1"]


def test_its_size_counts_what_an_earlier_engine_wrote(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    path.write_bytes(b"x" * 90 + b"\n")
    file = LineFile(path, rotate_at=100)
    file.append(b"y" * 20)
    file.close()
    assert path.read_bytes() == b"y" * 20 + b"\n"


@given(whole=lists(binary(max_size=20).map(lambda line: line.replace(b"\n", b"."))), torn=binary())
def test_a_torn_end_is_cut_off(
    tmp_path_factory: pytest.TempPathFactory, whole: list[bytes], torn: bytes
) -> None:
    path = tmp_path_factory.mktemp("torn") / "usage.jsonl"
    good = b"".join(line + b"\n" for line in whole)
    path.write_bytes(good + torn.replace(b"\n", b"."))
    file = LineFile(path)
    file.append(b"next")
    file.close()
    assert path.read_bytes() == good + b"next\n"


def test_a_full_disk_fails_no_call_and_tears_no_line(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    script = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from sandbox_engine.journal.ledger import LineFile\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "file = LineFile(Path(sys.argv[1]))\n"
        "file.append(b'before')\n"
        "_, most = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20, most))\n"
        "file.append(b'x' * 100)  # 13 of its bytes would fit\n"
        "file.append(b'x' * 100)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))\n"
        "file.append(b'after')\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert path.read_bytes() == b"before\nafter\n"
    assert said.count("cannot be written") == 1


def test_a_killed_writer_leaves_only_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    script = (
        "import sys; from pathlib import Path; from sandbox_engine.journal.ledger import LineFile\n"
        "file = LineFile(Path(sys.argv[1]))\n"
        "print('ready', flush=True)\n"
        "while True: file.append(b'x' * 5000)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    while path.stat().st_size < (1 << 20):
        pass
    writer.kill()
    writer.communicate()
    LineFile(path).close()
    data = path.read_bytes()
    assert data == (b"x" * 5000 + b"\n") * (len(data) // 5001)


def test_a_ledger_that_cannot_be_opened_is_a_bad_setting(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="cannot open"):
        LineFile(tmp_path / "none" / "audit.jsonl")


def test_a_document_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    document = FileDocument(tmp_path / "pools.json")
    assert document.load() is None
    document.save(b"one")
    document.save(b"two")
    assert document.load() == b"two"
    assert os.listdir(tmp_path) == ["pools.json"]


def test_a_document_on_no_disk_is_no_space(tmp_path: Path) -> None:
    with pytest.raises(NoSpace):
        FileDocument(tmp_path / "none" / "pools.json").save(b"x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidArgument):
        FileDocument(tmp_path / "folder").load()
