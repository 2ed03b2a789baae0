"""What tests of the package begin with."""
import os
import signal
import unittest


class PackageTest(unittest.TestCase):
    testdata = ""

    @classmethod
    def setUpClass(cls):
        # Who runs tests in the background may have Ctrl-C ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        import memtool
        cls.memtool = memtool
        cls.path = os.path.join(cls.testdata, "steps/base.json.gz")
        cls.run_ = memtool.load(cls.path, at="peak")
