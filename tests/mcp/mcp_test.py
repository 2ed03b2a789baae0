#!/usr/bin/env python3
"""`memtool mcp` with the protocol's own client, and messages that are none.

usage: mcp_test.py --memtool PATH [--sdk DIR]

--sdk: a folder `node_modules` with @modelcontextprotocol/sdk; $MEMTOOL_MCP_SDK, else what npm can fetch. Without
it that part is skipped.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SDK = "@modelcontextprotocol/sdk@1"


def session(memtool, folder, text):
    """-> exit code, the replies"""
    done = subprocess.run([memtool, "mcp", "--root", folder], input=text, capture_output=True, timeout=60)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def check_messages(memtool, folder):
    """Whatever comes, a reply is one line, and the server goes on."""
    ping = b'{"jsonrpc":"2.0","id":"end","method":"ping"}\n'
    hostile = [
        b"", b"\n", b"{", b"null", b"7", b'"x"', b"[" * 100000, b'{"a":' * 50000, b"\xff\xfe\x00", b"x" * (3 << 20),
        b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', b'{"jsonrpc":"2.0","method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"top","arguments":[]}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"top","arguments":{"files":[1]}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"top","arguments":{"files":["a\\u0000b"]}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"top","arguments":{"files":["'
        b'x' * 100000 + b'"]}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}',
    ]
    wrong = []
    for line in hostile:
        code, replies = session(memtool, folder, line + b"\n" + ping)
        if code != 0 or not replies or replies[-1] != {"jsonrpc": "2.0", "id": "end", "result": {}}:
            wrong.append(f"{line[:60]!r}: exit {code}, {str(replies)[:200]}")
    code, replies = session(memtool, folder, b"")
    if code or replies:
        wrong.append(f"nothing: exit {code}, {replies}")
    return len(hostile) + 1, wrong


def find_sdk(given, folder):
    """-> node_modules with the client, or why there is none"""
    if not shutil.which("node"):
        return None, "there is no Node"
    if given:
        return Path(given), ""
    if not shutil.which("npm"):
        return None, "there is no npm"
    try:
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--fetch-retries=0", "--prefix", folder,
                        SDK], capture_output=True, timeout=120, check=True)
    except subprocess.SubprocessError:
        return None, "npm cannot fetch the client"
    return Path(folder) / "node_modules", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memtool", required=True, type=Path)
    parser.add_argument("--sdk", default=os.environ.get("MEMTOOL_MCP_SDK"))
    arguments = parser.parse_args()
    program = arguments.memtool.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "demo"
        subprocess.run([program, "demo", folder], check=True, stdout=subprocess.DEVNULL)
        count, wrong = check_messages(program, folder)
        print("\n".join([*wrong, f"{count} messages, {len(wrong)} wrong"]))
        sdk, why = find_sdk(arguments.sdk, temporary)
        if sdk is None:
            print(f"skipped: the client: {why}")
            return 1 if wrong else 77
        client = subprocess.run(["node", HERE / "client.mjs", sdk, program, folder], timeout=240)
        return 1 if wrong or client.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
