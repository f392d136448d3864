"""The server of a review: this machine alone, and nobody without the token; and the command as a process."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gdamn.cli import app
from gdamn.graph.decisions import Decisions
from gdamn.review.server import ReviewServer
from gdamn.review.session import Session

JSON = {"Content-Type": "application/json"}


def ask(
    server: ReviewServer, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, str, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), answer.headers
    connection.close()
    return found


def test_the_page_keeps_to_itself(session: Session, serving: Callable[..., Any]) -> None:
    server = serving(session)
    assert server.server_address[0] == "127.0.0.1"
    status, text, headers = ask(server, "GET", f"/{server.token}/")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "connect-src 'self'" in policy
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert server.token not in text
    assert "<b>birds" not in text


@pytest.mark.parametrize("path", ["/", "/state", "/wrong/", "/wrong/state", "/{token}", "/{token}x/"])
def test_nobody_gets_in_without_the_token(session: Session, serving: Callable[..., Any], path: str) -> None:
    server = serving(session)
    status, text, _ = ask(server, "GET", path.format(token=server.token))
    assert (status, text) == (403, "403 Forbidden\n")


def test_other_hosts_and_sites_are_refused(session: Session, serving: Callable[..., Any]) -> None:
    server = serving(session)
    state = f"/{server.token}/state"
    assert ask(server, "GET", state)[0] == 200
    assert ask(server, "GET", state, Host=f"localhost:{server.server_port}")[0] == 200
    assert ask(server, "GET", state, Host=f"evil.example:{server.server_port}")[0] == 403
    assert ask(server, "GET", state, Host="127.0.0.1")[0] == 403
    assert ask(server, "GET", state, Origin="http://evil.example")[0] == 403
    assert ask(server, "GET", f"/{server.token}/../../etc/passwd")[0] == 404


def test_only_a_well_formed_post_decides(session: Session, serving: Callable[..., Any]) -> None:
    server = serving(session)
    state = json.loads(ask(server, "GET", f"/{server.token}/state?queue=edges")[1])
    asked = {name: state["item"][name] for name in ("kind", "node", "other")}
    body = json.dumps({**asked, "queue": "edges", "verdict": "right", "label": "", "rows": 0})
    decide = f"/{server.token}/decide"
    assert ask(server, "POST", "/decide", body, **JSON)[0] == 403
    assert ask(server, "POST", decide, body)[0] == 400
    assert ask(server, "POST", decide, "[" * 5000, **JSON)[0] == 400
    assert ask(server, "POST", decide, "[]", **JSON)[0] == 400
    assert ask(server, "POST", decide, "x" * 70_000, **JSON)[0] == 413
    assert ask(server, "GET", decide)[0] == 404
    assert ask(server, "PUT", decide, body, **JSON)[0] == 501
    assert not session.path.exists()
    status, text, _ = ask(server, "POST", decide, body, **JSON)
    assert status == 200
    assert json.loads(text)["rows"] == 1
    status, text, _ = ask(server, "POST", decide, body.replace("right", "maybe"), **JSON)
    assert (status, json.loads(text)) == (409, {"error": "There is no such item or verdict in the queue."})


def test_the_command_serves_until_it_is_stopped(copied: Path) -> None:
    command = [sys.executable, "-m", "gdamn", "review", str(copied), "--no-open", "--items", "3"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "400"}
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/([\w-]{32})/", said)
        assert found, said
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=10)
        connection.request("GET", f"/{found[2]}/state")
        state = json.loads(connection.getresponse().read())
        assert state["queues"]["edges"]["total"] == 3
        asked = {name: state["item"][name] for name in ("kind", "node", "other")}
        body = json.dumps({**asked, "queue": "edges", "verdict": "wrong", "label": "", "rows": 0})
        connection.request("POST", f"/{found[2]}/decide", body, JSON)
        assert connection.getresponse().status == 200
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, error) == (0, "")
    log = copied / "decisions.csv"
    assert f"The decisions are in {log}; train with them: gdamn train --config" in out
    assert [row.verdict for row in Decisions.read(log).rows] == ["wrong"]


def test_training_says_what_it_made_of_decisions_and_refuses_bad_ones(tmp_path: Path) -> None:
    log, out = tmp_path / "decisions.csv", tmp_path / "run"
    log.write_text("time,kind,node,other,verdict,label\nt,edge,0,1,wrong,\nt,edge,0,2,right,\n")
    settings = ["--set", "epochs=2", "--method", "gcn", "--out", str(out), "--decisions", str(log)]
    result = CliRunner().invoke(app, ["train", "karate", *settings], env={"COLUMNS": "400"})
    assert result.exit_code == 0, result.output
    assert "Decisions: edges confirmed 1, cut 1; labels corrected 0, added 0, dropped 0." in result.output
    assert "The 1 confirmed edges are in the graph and count as any other" in result.output
    log.write_text(log.read_text() + "t,edge,0,99,wrong,\n")
    result = CliRunner().invoke(app, ["train", "karate", *settings, "--force"], env={"COLUMNS": "400"})
    assert result.exit_code == 2
    assert f"Row 4 of '{log}' names the node '99'" in result.output
    result = CliRunner().invoke(app, ["review", str(out), "--port", "70000"])
    assert result.exit_code == 2


def test_what_cannot_be_reviewed_gets_one_sentence(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["review", str(tmp_path / "none"), "--no-open"])
    assert result.exit_code == 2
    assert "There is no run at" in result.output
