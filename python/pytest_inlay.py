"""pytest --inlay: kernels of Triton and FlyDSL in the tests run on the emulator of AMD Instinct, with all sanitizers and without a GPU.

A test in which a launch does something wrong fails with the finding at the line of the kernel. `@pytest.mark.inlay_known("race")` says that
findings of this kind are known: they are reported, and the test fails when there are none any more.
"""
import ast

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("inlay", "kernels of Triton and FlyDSL on the emulator of AMD Instinct")
    group.addoption("--inlay", action="store_true", help="run the launches of Triton and FlyDSL on the emulator, with sanitizers")
    group.addoption("--inlay-arch", default="gfx942", metavar="ARCH", help="gfx942 (MI300X), gfx950 (MI355X) or gfx90a (MI250X)")
    group.addoption("--inlay-check", default="all", metavar="CHECKS", help="bounds,uninit,races,waits,barrier,align,hazard, all or none")
    group.addoption("--inlay-stress", type=int, default=0, metavar="N", help="also run each launch under N hostile schedules")


def pytest_configure(config):
    config.addinivalue_line("markers", "inlay_known(*kinds, reason=None): findings of these kinds are known under --inlay")
    if config.getoption("--inlay"):
        config.pluginmanager.register(Emulated(config), "inlay-emulated")


KINDS = ("races", "bounds", "uninit", "waits", "barrier", "align", "hazard", "error", "stress")


def _kind(name):
    """The kind of a finding, in the singular or the plural."""
    for kind in KINDS:
        if name.rstrip("s") == kind.rstrip("s"):
            return kind
    raise pytest.UsageError(f"inlay_known: no kind '{name}'; there are {', '.join(KINDS)}")


class Launches(pytest.Item):
    """What a file launched as it was collected, whose findings and errors are those of the collection: a file without tests counts as one."""

    def runtest(self):
        pass

    def reportinfo(self):
        return self.path, None, self.name


def _calls_itself(file, function):
    """Whether a statement of the file is a call of this function with arguments, which is made as the file is imported."""
    return any(isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and getattr(s.value.func, "id", None) == function and (s.value.args or s.value.keywords)
               for s in ast.parse(file.read_text("utf-8")).body)


def _without_fixture(item):
    """The arguments of a test that nobody gives."""
    given = {"request", *item._fixtureinfo.name2fixturedefs, *(item.callspec.params if hasattr(item, "callspec") else ())}
    return [name for name in item._fixtureinfo.argnames if name not in given]


class Emulated:
    def __init__(self, config):
        import inlay
        from inlay import _device

        try:
            self.emulator = _device.activate(*(config.getoption(f"--inlay-{name}") for name in ("arch", "check", "stress")))
        except inlay.CommandError as e:
            raise pytest.UsageError(f"--inlay: {e}") from None
        self.defects = _device.defects
        self.launches = self.known = 0
        self.called = []  # functions that are no tests, in words

    def _taken(self):
        launches = self.emulator.report()
        self.launches += len(launches)
        return self.defects(launches)

    @pytest.hookimpl(wrapper=True)
    def pytest_pycollect_makeitem(self, collector, name):
        made = yield
        if isinstance(made, list) and isinstance(collector, pytest.Module) and any(map(_without_fixture, made)) and _calls_itself(collector.path, name):
            self.called.append(f"{name} of {collector.path.name} is no test: the file calls it itself, and no fixture gives {', '.join(_without_fixture(made[0]))}")
            return []
        return made

    def pytest_report_header(self):
        return f"inlay: launches on the emulator of {self.emulator.arch}"

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector):
        report = yield
        before = self.launches
        found = self._taken()  # of launches that the file itself makes
        if found and report.passed:
            report.outcome, report.longrepr = "failed", "\n\n".join(text for _, text in found)
        elif report.passed and self.launches > before and isinstance(collector, pytest.Module) and not report.result:
            report.result = [Launches.from_parent(collector, name="launches")]
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        try:
            result = yield
        except BaseException:
            for kind, text in self._taken():
                item.add_report_section("call", f"inlay: {kind}", text)
            raise
        kinds = {_kind(kind) for mark in item.iter_markers("inlay_known") for kind in mark.args}
        found = self._taken()
        new = [text for kind, text in found if kind not in kinds]
        gone = kinds - {kind for kind, _ in found}
        self.known += len(found) - len(new)
        if new:
            pytest.fail("\n\n".join(new), pytrace=False)
        if gone:
            pytest.fail(f"inlay_known: no finding of kind {', '.join(sorted(gone))} any more", pytrace=False)
        return result

    def pytest_terminal_summary(self, terminalreporter):
        for text in self.called:
            terminalreporter.write_line(f"inlay: {text}")
        known = f", {self.known} known findings" if self.known else ""
        terminalreporter.write_line(f"inlay: {self.launches} launches on the emulator of {self.emulator.arch}{known}")
