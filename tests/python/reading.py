"""Reading as Python's users expect it: errors of the system, progress, Ctrl-C."""
import errno
import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from pathlib import Path
from unittest import mock

from package import PackageTest

HEADER = '"Attribute Name","Requested Size","Device","Actual Size","Reuse?"\n'
AT_ONCE = 1.0  # seconds, on a busy machine


def threads():
    return len(os.listdir("/proc/self/task"))


def lasting_threads():
    """Without those that are about to end."""
    least = threads()
    for _ in range(10):
        time.sleep(0.01)
        least = min(least, threads())
    return least


class Interrupted(Exception):
    pass


class Reading(PackageTest):
    def big(self, folder):
        """-> a file that takes a while."""
        path = Path(folder) / "big.csv"
        path.write_text(HEADER + "".join(f'"layer{row % 999}:weight",{row},0,{row},0\n' for row in range(1500000)))
        return path

    def wait_for_threads(self, number):
        until = time.monotonic() + 20
        while threads() > number and time.monotonic() < until:
            time.sleep(0.01)
        self.assertLessEqual(threads(), number)

    def ends_when_more_comes(self, writer, number):
        """What was left alone notices that at its next bytes, and not at the end of its input."""
        self.assertGreater(threads(), number)
        os.write(writer, b'"a",1,0,1,0\n')
        self.wait_for_threads(number)

    # --- errors ---

    def test_errors_of_the_system_are_its_own(self):
        run = self.memtool.load(self.path)
        with tempfile.TemporaryDirectory() as folder:
            gone = f"{folder}/gone\udcff.pickle"
            for ask in (lambda: self.memtool.load(gone), lambda: self.memtool.load(Path(gone)),
                        lambda: self.memtool.ask("top", gone), lambda: run.leaks(gone),
                        lambda: run.buckets(gone)):
                with self.assertRaises(FileNotFoundError) as caught:
                    ask()
                self.assertEqual((caught.exception.errno, caught.exception.filename), (errno.ENOENT, gone))
                self.assertNotIsInstance(caught.exception, self.memtool.Error)
            with self.assertRaises(IsADirectoryError) as caught:
                self.memtool.load(folder)
            self.assertEqual((caught.exception.errno, caught.exception.filename), (errno.EISDIR, folder))
            with self.assertRaises(FileNotFoundError) as caught:
                self.memtool.ask("ranks", f"{folder}/gone")
            self.assertEqual(caught.exception.filename, f"{folder}/gone")
            with self.assertRaises(NotADirectoryError):
                self.memtool.load(f"{self.path}/inside")
            with self.assertRaises(FileNotFoundError):
                run.ask("convert", to="pprof", output=f"{folder}/no/folder.pb.gz")

    def test_what_may_not_be_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "secret.prof"
            path.write_bytes(b"x")
            path.chmod(0)
            before = os.geteuid()
            if before == 0:
                os.chmod(folder, 0o755)
                os.seteuid(65534)  # root reads everything
            try:
                with self.assertRaises(PermissionError) as caught:
                    self.memtool.load(path)
            finally:
                os.seteuid(before)
            self.assertEqual((caught.exception.errno, caught.exception.filename), (errno.EACCES, str(path)))

    def test_other_errors_are_the_projects(self):
        damaged = sorted(Path(self.testdata, "pprof/malformed").glob("*.pb"))[0]
        with self.assertRaises(self.memtool.InputError) as caught:
            self.memtool.load(damaged)
        error = caught.exception
        self.assertEqual(error.input, str(damaged))
        self.assertIsNone(error.errno)
        for kept in (error, self.memtool.UsageError("x", hint="y")):
            copy = pickle.loads(pickle.dumps(kept))
            self.assertEqual((type(copy), str(copy), vars(copy)), (type(kept), str(kept), vars(kept)))
        # Text that ends like a refusal of the system is none.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x: No such file or directory"
            path.write_bytes(b"\0\1\2")
            with self.assertRaises(self.memtool.InputError):
                self.memtool.load(path)

    # --- progress ---

    def test_progress_counts_bytes(self):
        size = os.path.getsize(self.path)
        calls = []
        self.memtool.load(self.path, progress=lambda *told: calls.append(told))
        self.assertEqual(calls[-1], (size, size))
        with tempfile.TemporaryDirectory() as folder:
            path = self.big(folder)
            calls = []
            run = self.memtool.load(path, at="end", progress=lambda *told: calls.append((*told, threading.get_ident())))
        self.assertEqual(len(run.top()), 999)
        size = calls[-1][0]
        self.assertGreater(len(calls), 1)
        self.assertEqual({total for _, total, _ in calls}, {size})
        self.assertEqual({thread for _, _, thread in calls}, {threading.get_ident()})
        counts = [read for read, _, _ in calls]
        self.assertEqual(counts, sorted(set(counts)))

    def test_progress_of_a_pipe_has_no_total(self):
        reader, writer = os.pipe()
        data = Path(self.path).read_bytes()
        calls = []

        def told(read, total):
            calls.append((read, total))
            if len(calls) == 1:
                os.write(writer, data[1000:])
                os.close(writer)
        os.write(writer, data[:1000])
        self.memtool.load(f"/dev/fd/{reader}", progress=told)
        os.close(reader)
        self.assertEqual(calls[0], (1000, None))
        self.assertEqual(calls[-1], (len(data), None))

    def test_what_progress_raises_ends_the_reading(self):
        before = lasting_threads()
        reader, writer = os.pipe()
        os.write(writer, HEADER.encode())

        def enough(read, total):
            raise Interrupted(read, total)
        with self.assertRaises(Interrupted) as caught:
            self.memtool.load(f"/dev/fd/{reader}", progress=enough)
        self.assertEqual(caught.exception.args, (len(HEADER), None))
        self.ends_when_more_comes(writer, before)
        os.close(writer)
        os.close(reader)
        with self.assertRaises(TypeError):
            self.memtool.load(self.path, progress="yes")

    def test_a_bar(self):
        bars = []

        class Bar:
            def __init__(self, **options):
                self.options, self.n, self.total, self.closed = options, 0, None, False
                bars.append(self)

            def update(self, more):
                self.n += more

            def close(self):
                self.closed = True
        package, auto = types.ModuleType("tqdm"), types.ModuleType("tqdm.auto")
        auto.tqdm = Bar
        with mock.patch.dict(sys.modules, {"tqdm": package, "tqdm.auto": auto}):
            self.memtool.load(self.path, progress=True)
            with self.assertRaises(FileNotFoundError):
                self.memtool.load("/nowhere/at\x1b/all\x1b[1m", progress=True)
        size = os.path.getsize(self.path)
        self.assertEqual((bars[0].n, bars[0].total, bars[0].closed), (size, size, True))
        self.assertEqual((bars[0].options["desc"], bars[0].options["unit"]), ("base.json.gz", "B"))
        self.assertTrue(bars[1].closed and bars[1].options["desc"].isprintable())

    def test_a_line_without_tqdm(self):
        for terminal in (True, False):
            said = io.StringIO()
            said.isatty = lambda: terminal  # pylint: disable=cell-var-from-loop
            with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}), mock.patch("sys.stderr", said):
                self.memtool.load(self.path, progress=True)
            self.assertEqual(said.getvalue(), "\rbase.json.gz: 100 %\n" if terminal else "")

    # --- Ctrl-C ---

    def interrupted(self, ask):
        """-> how long after Ctrl-C a call on an input that never ends was left."""
        pressed = []

        def press():
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        timer = threading.Timer(0.3, press)
        timer.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                ask()
            return time.monotonic() - pressed[0]
        finally:
            timer.join()

    def test_ctrl_c_ends_reading_at_once(self):
        before = lasting_threads()
        reader, writer = os.pipe()
        os.write(writer, HEADER.encode())
        self.assertLess(self.interrupted(lambda: self.memtool.load(f"/dev/fd/{reader}")), AT_ONCE)
        self.ends_when_more_comes(writer, before)
        os.close(writer)
        os.close(reader)

    def test_ctrl_c_ends_a_question_at_once(self):
        before = lasting_threads()
        reader, writer = os.pipe()
        os.write(writer, HEADER.encode())
        self.assertLess(self.interrupted(lambda: self.memtool.ask("info", f"/dev/fd/{reader}")), AT_ONCE)
        os.close(writer)  # left alone, it ends with its input
        self.wait_for_threads(before)
        os.close(reader)
        self.assertEqual(self.memtool.load(self.path).top().question, "top")

    def test_handlers_of_other_signals_run_meanwhile(self):
        reader, writer = os.pipe()
        data = Path(self.path).read_bytes()
        os.write(writer, data[:1000])

        def alarm(*_):
            os.write(writer, data[1000:])
            os.close(writer)
        old = signal.signal(signal.SIGALRM, alarm)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            piped = self.memtool.load(f"/dev/fd/{reader}")
            self.assertEqual(piped.top().to_pandas().to_dict(), self.memtool.load(self.path).top().to_pandas().to_dict())
        finally:
            signal.signal(signal.SIGALRM, old)
            os.close(reader)

    def test_ctrl_c_ends_the_process(self):
        script = ("import memtool, sys\n"
                  "print('reading', flush=True)\n"
                  "try:\n"
                  "    memtool.load('/dev/stdin')\n"
                  "except KeyboardInterrupt:\n"
                  "    print('interrupted')\n")
        child = subprocess.Popen([sys.executable, "-I", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        try:
            self.assertEqual(child.stdout.readline(), b"reading\n")
            child.stdin.write(HEADER.encode())
            child.stdin.flush()
            time.sleep(0.3)
            pressed = time.monotonic()
            child.send_signal(signal.SIGINT)
            # Its input stays open: nobody waits for it.
            code = child.wait(timeout=20)
            self.assertLess(time.monotonic() - pressed, 2 * AT_ONCE)
            self.assertEqual((code, child.stdout.read(), child.stderr.read()), (0, b"interrupted\n", b""))
        finally:
            child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout, child.stderr):
                stream.close()


if __name__ == "__main__":
    unittest.main()
