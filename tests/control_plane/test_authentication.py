"""The seed's "Authentication and isolation", and the rules of the tokens file."""

from __future__ import annotations

import hashlib
import hmac
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sandbox_api import identity, listeners
from sandbox_api.calls import ROUTES
from sandbox_api.errors import ApiError
from sandbox_api.listeners import ListenError
from sandbox_api.principals import Principal, Tokens, TokensError, load, new_token

from tests.control_plane.world import Plane, code
from tests.support.api import Client

DIGEST = "ab" * 32


def written(path: Path, text: str, mode: int = 0o640) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


class TestTokensFile:
    @pytest.mark.parametrize("mode", [0o640, 0o600, 0o440, 0o400])
    def test_modes_up_to_0640(self, tmp_path: Path, mode: int) -> None:
        file = written(tmp_path / "t", f"[a]\ntoken_sha256 = {DIGEST}\n", mode)
        assert load(file).names == ["a"]

    @pytest.mark.parametrize("mode", [0o660, 0o620, 0o642, 0o644, 0o641, 0o650, 0o740, 0o604])
    def test_wider_modes_are_refused(self, tmp_path: Path, mode: int) -> None:
        file = written(tmp_path / "t", f"[a]\ntoken_sha256 = {DIGEST}\n", mode)
        with pytest.raises(TokensError, match="wider than 0640"):
            load(file)

    def test_what_an_entry_may_say(self, tmp_path: Path) -> None:
        text = f"# who\n[a.b-c_1]\ntoken_sha256 = {DIGEST.upper()}\nmax_sessions = 3\n"
        file = written(tmp_path / "t", text + "templates = base, python other\n")
        ((digest, principal),) = load(file)._entries.values()
        assert digest == DIGEST
        assert principal == Principal(
            name="a.b-c_1", max_sessions=3, templates=frozenset({"base", "python", "other"})
        )

    def test_what_it_does_not_say(self, tmp_path: Path) -> None:
        file = written(tmp_path / "t", f"[a]\ntoken_sha256 = {DIGEST}\n")
        ((_, principal),) = load(file)._entries.values()
        assert principal == Principal(name="a", max_sessions=16, templates=None)

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("", "no entries"),
            ("[a]\n", "token_sha256 must be"),
            ("[a]\ntoken_sha256 = abc\n", "token_sha256 must be"),
            ("[a]\ntoken = secret\n", "unknown field token"),
            (f"[uid:0]\ntoken_sha256 = {DIGEST}\n", "the name must be"),
            (f"[a]\ntoken_sha256 = {DIGEST}\nmax_sessions = 0\n", "max_sessions must be"),
            (f"[a]\ntoken_sha256 = {DIGEST}\nmax_sessions = x\n", "max_sessions must be"),
            (f"[a]\ntoken_sha256 = {DIGEST}\n[b]\ntoken_sha256 = {DIGEST}\n", "the same"),
            (f"[a]\ntoken_sha256 = {DIGEST}\n[a]\ntoken_sha256 = {'0' * 64}\n", "already exists"),
            ("token_sha256\n", "no section"),
        ],
    )
    def test_what_is_refused(self, tmp_path: Path, text: str, problem: str) -> None:
        with pytest.raises(TokensError, match=problem):
            load(written(tmp_path / "t", text))

    def test_a_folder_or_nothing_is_refused(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "none"):
            with pytest.raises(TokensError):
                load(path)

    def test_new_token_prints_it_once_and_its_entry(self, tmp_path: Path) -> None:
        words = [sys.executable, "-m", "sandbox_api", "new-token", "alice"]
        printed = subprocess.check_output(words, text=True)
        token = printed.split()[3]
        assert printed.count(token) == 1 and len(token) > 40
        tokens = load(written(tmp_path / "t", printed.split("\n\n")[1]))
        assert tokens.find(token) == Principal(name="alice")
        assert new_token("alice") != new_token("alice")

    def test_new_token_of_a_bad_name_is_refused(self) -> None:
        words = [sys.executable, "-m", "sandbox_api", "new-token", "uid:0"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "the name must be" in done.stderr

    def test_every_entry_is_compared_in_constant_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entries = {
            str(n): (hashlib.sha256(b"%d" % n).hexdigest(), Principal(name=str(n)))
            for n in range(50)
        }
        seen: list[Any] = []
        real = hmac.compare_digest

        def compare(one: str, other: str) -> bool:
            seen.append(other)
            return real(one, other)

        tokens = Tokens(entries)
        monkeypatch.setattr(hmac, "compare_digest", compare)
        for token in ("0", "49", "wrong"):
            seen.clear()
            tokens.find(token)
            assert seen == [digest for digest, _ in entries.values()]


class TestTcp:
    @pytest.mark.parametrize(
        "header", ["", "Bearer", "Bearer wrong", "Basic one", "one", "Bearer one two"]
    )
    async def test_a_bearer_token_is_required(self, world: Plane, header: str) -> None:
        for route in ROUTES:
            path = route.path.replace("{id}", "ses_" + "0" * 24)
            answer = await world.call(
                route.method, path, token="", headers={"Authorization": header}
            )
            if not route.public:
                assert (answer.status, code(answer)) == (401, "unauthenticated")
                assert answer.headers["www-authenticate"].startswith("Bearer")

    async def test_a_path_that_is_not_there_is_no_hint(self, world: Plane) -> None:
        assert (await world.call("GET", "/v1/none", token="")).status == 401
        assert (await world.call("GET", "/v1/none")).status == 404

    def test_without_tokens_it_is_refused(self) -> None:
        with pytest.raises(ListenError, match="needs --tokens"):
            listeners.tcp("127.0.0.1:0", has_tokens=False, public=True)

    @pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
    def test_an_address_that_is_not_loopback_needs_a_word(self, address: str) -> None:
        with pytest.raises(ListenError, match="--allow-public-bind"):
            listeners.tcp(address, has_tokens=True, public=False)
        listeners.tcp(address, has_tokens=True, public=True).close()

    def test_loopback_needs_none(self) -> None:
        listeners.tcp("127.0.0.1:0", has_tokens=True, public=False).close()

    @pytest.mark.parametrize("address", ["", "127.0.0.1", ":80", "127.0.0.1:x", "127.0.0.1:65536"])
    def test_nonsense_is_refused(self, address: str) -> None:
        with pytest.raises(ListenError, match="is not HOST:PORT"):
            listeners.tcp(address, has_tokens=True, public=False)

    def test_the_command_line_says_so(self, tmp_path: Path) -> None:
        words = [sys.executable, "-m", "sandbox_api", "--listen", "127.0.0.1:0"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (
            1, "sandbox-api: --listen: a TCP listener needs --tokens\n",
        )  # fmt: skip


class TestUnixSocket:
    async def test_the_caller_is_its_uid(self, world: Plane) -> None:
        import asyncio

        client = Client(world.socket)
        answer = await asyncio.to_thread(client.request, "POST", "/v1/sessions", {"key": "k"})
        assert answer.json["id"] == identity.session_id(f"uid:{os.getuid()}", "k")

    @pytest.mark.parametrize("mode", [0o600, 0o660])
    def test_its_mode(self, tmp_path: Path, mode: int) -> None:
        path = tmp_path / "api.sock"
        with listeners.unix(path, mode):
            assert path.stat().st_mode & 0o777 == mode
            with pytest.raises(ListenError, match="another server answers"):
                listeners.unix(path, mode)
        listeners.unix(path, mode).close()  # a dead one's file is replaced

    def test_a_file_in_the_way_is_kept(self, tmp_path: Path) -> None:
        path = written(tmp_path / "api.sock", "precious")
        with pytest.raises(ListenError, match="not a socket"):
            listeners.unix(path, 0o600)
        assert path.read_text() == "precious"


class TestIsolation:
    async def test_anyone_else_s_session_is_404_like_one_that_is_not_there(
        self, world: Plane
    ) -> None:
        session = await world.open(key="k")
        for route in ROUTES:
            if "{id}" not in route.path:
                continue
            answers = [
                await world.call(route.method, route.path.replace("{id}", each), token="two")
                for each in (session.rsplit("/", 1)[1], "ses_" + "0" * 24, "x")
            ]
            assert {(each.status, each.raw) for each in answers} == {(404, answers[0].raw)}
        assert await world.state(session) == "ready"

    async def test_the_same_key_of_another_is_another_session_and_workspace(
        self, world: Plane
    ) -> None:
        assert await world.open(key="k") != await world.open(key="k", token="two")
        assert len(world.services.volumes.names()) == 2

    async def test_a_template_off_the_list_is_403(self, world: Plane) -> None:
        body = {"template": "other"}
        refused = await world.call("POST", "/v1/sessions", body, token="limited")
        assert (refused.status, code(refused)) == (403, "template_not_allowed")
        assert (await world.call("POST", "/v1/sessions", body)).status == 201
        await world.open(token="limited", template="base")


class TestNames:
    """The seed's "Sessions and determinism"."""

    def test_the_id_is_24_hex_of_sha256_of_owner_and_key(self) -> None:
        digest = hashlib.sha256(b"session\0alice\0k").hexdigest()
        assert identity.session_id("alice", "k") == "ses_" + digest[:24]

    def test_no_two_pairs_share_one(self) -> None:
        pairs = [("a", "b"), ("ab", ""), ("", "ab"), ("a", "c"), ("b", "a")]
        assert len({identity.session_id(*pair) for pair in pairs}) == len(pairs)
        assert len({identity.workspace_key(*pair) for pair in pairs}) == len(pairs)

    @pytest.mark.parametrize("key", ["a", "a" * 127, " !#[]~"])
    def test_keys_of_1_to_127_printable_bytes(self, key: str) -> None:
        identity.check_key(key)

    @pytest.mark.parametrize("key", ["", "a" * 128, 'a"', "a\\", "ä", "a\n", "\x7f"])
    def test_other_keys_are_refused(self, key: str) -> None:
        with pytest.raises(ApiError, match="1-127 printable bytes"):
            identity.check_key(key)
