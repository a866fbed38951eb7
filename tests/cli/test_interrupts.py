from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.cli.conftest import Place

HEARS_ONCE = """
import sys, time
from stt_ru.cli.interrupts import Interruption
interruption = Interruption()
interruption.listen()
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print(interruption.exit_code, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_ends_the_process_at_once(
    first: signal.Signals, second: signal.Signals
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HEARS_ONCE], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(first)
    assert process.stdout.readline() == f"{128 + first}\n"
    process.send_signal(second)
    assert process.wait(timeout=30) == -second


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    code = (
        "import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from stt_ru.cli.interrupts import Interruption; Interruption().listen()\n"
        "os.kill(os.getpid(), signal.SIGINT); print('alive')"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "alive\n"


@pytest.mark.parametrize("module", ["typer", "stt_ru.cli.app", "stt_ru.manifest", "numpy"])
def test_an_interruption_while_libraries_load_is_no_traceback(place: Place, module: str) -> None:
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"  # the user presses Ctrl+C while this module loads
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv[1:] = ['evaluate', 'eval.csv', '-m', 'tiny-ru']\n"
        "from stt_ru.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place.folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


SAVES = """
import os, signal, sys
from stt_ru.cli.interrupts import Interruption, finishing
Interruption().listen()
with finishing() as late:
    os.kill(os.getpid(), signal.SIGTERM)
    print("saved", late.exit_code, flush=True)
    if len(sys.argv) > 1:
        os.kill(os.getpid(), signal.SIGINT)
        print("too late")
"""


def test_a_signal_waits_until_results_are_saved_and_the_second_does_not() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", SAVES, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    once, twice = run(), run("twice")
    assert (once.returncode, once.stdout, once.stderr) == (0, "saved 143\n", "")
    assert (twice.returncode, twice.stdout) == (-signal.SIGINT, "saved 143\n")
