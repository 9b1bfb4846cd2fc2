"""What the broker tells: decisions counted, bytes by direction, events for the engine, settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox_broker.hello import MAX_HELLO, Peek, server_name
from sandbox_broker.settings import BadSetting, read

from tests.broker.world import TOKEN, World


def test_a_decision_is_counted_logged_and_handed_in(world: World) -> None:
    name = 'broker_egress_decisions_total{decision="allowed_credentialed"}'
    counted = world.broker.metric(name)
    sent = world.broker.metric('broker_relayed_bytes_total{direction="to_upstream"}')
    with world.broker.dial() as wire:
        wire.ask(
            f"POST /echo HTTP/1.1\nHost: api.example:{world.port}\nX-Sandbox-Token: {TOKEN}\n"
            "Content-Length: 3",
            b"abc",
        ).read()
    world.engine.wait_for(lambda engine: engine.events)
    event = world.engine.events[-1]
    assert (event.sandbox_id, event.host, event.port) == ("sb_one", "api.example", world.port)
    assert (event.decision, list(event.secrets)) == ("allowed_credentialed", ["api.example"])
    assert (event.sent_bytes, event.received_bytes) == (3, 3)
    assert world.broker.metric(name) == counted + 1
    assert world.broker.metric('broker_relayed_bytes_total{direction="to_upstream"}') == sent + 3
    line = world.broker.wait_for_line(lambda each: each.get("event") == "egress")
    assert line["status"] == 200
    assert line["latency_ms"] > 0


def test_refused_requests_are_logged_and_counted_too(world: World) -> None:
    name = 'broker_egress_decisions_total{decision="denied_unconfigured"}'
    counted = world.broker.metric(name)
    with world.broker.dial() as wire:
        answer = wire.ask(f"GET / HTTP/1.1\nHost: open.example\nX-Sandbox-Token: {TOKEN}")
        assert answer.status == 403
        answer.read()
    world.broker.wait_for_line(lambda each: each.get("decision") == "denied_unconfigured")
    assert world.broker.metric(name) == counted + 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("LISTEN", "8080"), ("LISTEN", "a:65536"), ("MAX_BODY", "-1"), ("MAX_BODY", "1k")),
        *(("MAX_CONNS", "0"), ("MAX_CONNS", "1048577"), ("WORKERS", "0"), ("WORKERS", "257")),
        *(("ALLOW_PRIVATE_UPSTREAM", "yes"), ("INTERNAL_ALLOW", "10.0.0.1/8")),
        *(("RESOLVE", "a"), ("UPSTREAM_PROXY", "socks5://x:1"), ("CA_KEY", "/k"), ("NONE", "1")),
    ],
)
def test_a_setting_without_a_use_is_named(name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=f"SANDBOX_BROKER_{name}"):
        read({f"SANDBOX_BROKER_{name}": value})


def test_settings_at_their_limits_are_taken() -> None:
    made = read({"SANDBOX_BROKER_MAX_CONNS": "1048576", "SANDBOX_BROKER_WORKERS": "256"})
    assert (made.max_conns, made.workers, made.max_body) == (1 << 20, 256, 256 << 20)
    made = read({"SANDBOX_BROKER_MAX_CONNS": "1", "SANDBOX_BROKER_WORKERS": "1"})
    assert (made.max_conns, made.workers) == (1, 1)


def test_root_is_refused_without_a_user_to_become(tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("SANDBOX_BROKER_")}
    env |= {"SANDBOX_BROKER_LISTEN": "127.0.0.1:0", "SANDBOX_BROKER_METRICS": ""}
    argv = [sys.executable, "-m", "sandbox_broker"]
    ended = subprocess.run(argv, check=False, env=env, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "SANDBOX_BROKER_USER" in ended.stderr


def test_the_broker_runs_without_privileges_and_leaves_no_core(world: World) -> None:
    pid = world.broker.process.pid
    status = Path(f"/proc/{pid}/status").read_text()
    assert "Uid:\t0\t" not in status or os.geteuid() != 0
    assert "NoNewPrivs:\t1" in status
    assert "Max core file size        0 " in Path(f"/proc/{pid}/limits").read_text()


def test_a_client_hello_that_is_no_such_thing() -> None:
    assert server_name(b"* OK") is Peek.OPAQUE
    assert server_name(b"\x16\x03\x01") is Peek.MORE
    assert server_name(b"\x16\x03\x01\x00\x04\x02\x00\x00\x00") is Peek.BROKEN
    assert server_name(b"\x16\x03\x01\x00\x01\x01\x17\x03\x03\x00\x01x") is Peek.BROKEN
    assert server_name(b"\x16\x03\x01\x00\x05\x01\x00\x00\x01x") is Peek.BROKEN
    assert server_name(b"\x16\x03\x01\xff\xff" + b"\x01\xff" * MAX_HELLO) is Peek.BROKEN
