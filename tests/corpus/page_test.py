#!/usr/bin/env python3
"""A report holds its inputs byte for byte, under names that cannot leave their attribute.

usage: page_test.py --memtool PATH

The page is a stand-in: a test build has none.
"""
import argparse
import base64
import gzip
import html.parser
import os
import subprocess
import tempfile
import zlib
from pathlib import Path

PAGE = "<!DOCTYPE html>\n<title>memtool</title>\n<p>before</p>\n<!--MEMTOOL-DATA-->\n<p>after</p>\n"
HOSTILE = '"><script>alert(1)<!--&amp;\'\n\u202e\udcff'


class Blocks(html.parser.HTMLParser):
    """All elements by name, and the data blocks with their text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.blocks = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "script":
            self.blocks.append([dict(attrs), ""])

    def handle_data(self, data):
        if self.tags[-1:] == ["script"]:
            self.blocks[-1][1] += data


def decoded(block):
    attrs, text = block
    assert attrs["type"] == "application/octet-stream" and attrs["class"] == "memtool-data", attrs
    packed = base64.b64decode(text.split("\n")[0], validate=True)
    return packed if attrs["data-encoding"] == "none" else zlib.decompress(packed, -zlib.MAX_WBITS)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    memtool = os.path.abspath(parser.parse_args().memtool)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("page.html").write_text(PAGE)

        def run(*args, **rest):
            done = subprocess.run([memtool, args[0], "--page", "page.html", *args[1:]], capture_output=True,
                                  env={"PATH": "/usr/bin:/bin", "TMPDIR": folder, "BROWSER": "true"}, **rest)
            assert b"Sanitizer" not in done.stderr, done.stderr
            return done

        # Sizes around base64's groups and the pieces that are read; bytes that pack and that do not.
        inputs = {f"size{size}": (b"some text %d " % size * size)[:size]
                  for size in (0, 1, 2, 3, 4, 65535, 65536, 65537, 1 << 20)}
        inputs["noise"] = os.urandom(300_001)
        inputs["packed.gz"] = gzip.compress(b"x" * 1000)
        inputs["packed.zst"] = b"\x28\xb5\x2f\xfd" + os.urandom(100_000)
        inputs[HOSTILE.replace("/", "|")] = b"hostile"
        for name, data in inputs.items():
            Path(name).write_bytes(data)
        done = run("report", "-o", "out.html", *inputs)
        assert done.returncode == 0, done.stderr
        text = Path("out.html").read_text()
        found = Blocks(text)
        assert found.tags == ["title", "p"] + ["script"] * len(inputs) + ["p"], found.tags
        before, after = PAGE.split("<!--MEMTOOL-DATA-->")
        assert text.startswith(before) and text.endswith(after)
        for block, (name, data) in zip(found.blocks, inputs.items()):
            attrs = block[0]
            assert decoded(block) == data, name
            assert attrs["data-size"] == str(len(data)) and attrs["data-role"] == "input"
            assert (attrs["data-encoding"] == "none") == name.startswith("packed."), attrs
            if name.isidentifier():
                assert attrs["data-name"] == name
        assert found.blocks[-1][0]["data-name"] == '"><script>alert(1)<!--&amp;\'\\n\\u202e\\xff', found.blocks[-1]

        # Equal last parts; the same file twice; a base; standard input; a hostile title.
        for sub in ("a", "b"):
            Path(sub).mkdir()
            Path(sub, "x").write_text(sub)
        done = run("report", "a/x", "b/x", "b/x", "-", "--diff-base", "size3", "--title", "</title><b>",
                   input=b"from a pipe")
        assert done.returncode == 0, done.stderr
        found = Blocks(done.stdout.decode())
        assert [block[0]["data-name"] for block in found.blocks] == \
            ["a/x", "b/x", "b/x (2)", "standard input", "size3"]
        assert [block[0]["data-role"] for block in found.blocks] == ["input"] * 4 + ["base"]
        assert [decoded(block) for block in found.blocks] == [b"a", b"b", b"b", b"from a pipe", b"som"]
        assert "data-size" not in found.blocks[3][0]
        assert b"<title>&lt;/title&gt;&lt;b&gt;</title>" in done.stdout

        # Inputs and the page are not overwritten; what cannot be read leaves nothing behind.
        for target in ("a/x", "page.html"):
            done = run("report", "-o", target, "a/x")
            assert done.returncode == 2 and b"is an input" in done.stderr, done.stderr
        done = run("report", "-o", "none.html", "a/x", "missing")
        assert done.returncode == 3 and not Path("none.html").exists(), done.stderr

        done = run("page")
        assert done.returncode == 0 and done.stdout.decode() == before + after, done
        done = run("open", "a/x")
        assert done.returncode == 0, done.stderr
        kept = done.stdout.decode().strip()
        assert kept.endswith(".html") and decoded(Blocks(Path(kept).read_text()).blocks[0]) == b"a"
    print("ok")


if __name__ == "__main__":
    main()
