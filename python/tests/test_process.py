# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Process-wide behaviour: threads, memory, fork, startup and exit."""

import gc
import os
import resource
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import kokkos_scan as ks


def run(program, **environment):
    """Runs a program in its own process and returns its output."""
    process = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], text=True,
                             capture_output=True, timeout=300, env={**os.environ, **environment})
    assert process.returncode == 0, process.stderr
    assert process.stderr == "", process.stderr
    return process.stdout


def test_threads():
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-9, 9, shape) for shape in [(3, 50_000), (200, 7), (1, 8), (40_000, 3)]]
    expected = [np.cumsum(x, axis) for x in arrays for axis in (0, 1)]
    failures = []

    def work():
        for _ in range(20):
            found = [ks.cumulative_sum(x, axis=axis) for x in arrays for axis in (0, 1)]
            if not all(map(np.array_equal, found, expected)):
                failures.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_gil_is_released():
    x = np.ones((1, 2**25), "float32")
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    switch = sys.getswitchinterval()
    thread.start()
    try:
        # If scans held the GIL, other threads would run only between calls.
        for _ in range(5):
            began = time.perf_counter()
            ks.cumulative_sum(x, axis=1, out=x)
            ended = time.perf_counter()
            inside = [t for t in ticks if began < t < ended]
            if len(inside) >= 3:
                break
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(switch)
    assert len(inside) >= 3


def test_no_leak():
    x = np.ones((1, 8), "float32")
    mask = np.ones((1, 8), bool)

    def calls(count):
        for _ in range(count):
            ks.cumulative_sum(x, axis=1, mask=mask, return_totals=True)
            try:
                ks.cumulative_sum(x, axis=2)
            except IndexError:
                pass
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = calls(10_000)
    # A leak of 100 bytes per call would be 10 MB.
    assert calls(100_000) - before < 4_000  # KiB
    references = sys.getrefcount(x)
    calls(100)
    assert sys.getrefcount(x) == references


def test_memory_of_results_is_freed():
    import tracemalloc

    tracemalloc.start()
    for _ in range(20):
        ks.cumulative_sum(np.ones((64, 4096)), axis=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 64 * 4096 * 8


def test_import_starts_nothing():
    out = run("""
        import os
        before = len(os.listdir("/proc/self/task"))
        import numpy
        middle = len(os.listdir("/proc/self/task"))
        import kokkos_scan
        print(len(os.listdir("/proc/self/task")) - middle)
    """)
    assert out == "0\n"


def test_end_of_the_process():
    # At exit, scans of other threads are waited for, later ones refused; no message, no crash.
    out = run("""
        import atexit, threading
        import numpy as np

        def late():
            try:
                kokkos_scan.cumulative_sum(np.ones(3))
            except RuntimeError as error:
                print(error)
        atexit.register(late)  # runs after what is registered later
        import kokkos_scan
        x = np.ones((4, 2**22))
        thread = threading.Thread(target=lambda: kokkos_scan.cumulative_sum(x, axis=1), daemon=True)
        kokkos_scan.cumulative_sum(x[:1], axis=1)
        thread.start()
    """)
    assert out == "kokkos_scan: nothing can be scanned while Python is shutting down.\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_scans():
    # fork() does not copy OpenMP threads; the child must not wait for them.
    out = run("""
        import os, signal, warnings
        warnings.simplefilter("ignore")
        import numpy as np, kokkos_scan
        x = np.ones((4, 2**18))
        kokkos_scan.cumulative_sum(x, axis=1)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            right = kokkos_scan.cumulative_sum(x, axis=1)[:, -1].tolist() == [2**18] * 4
            os._exit(0 if right else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert out == "0\n"


def test_one_thread_and_many_give_the_same_bits():
    program = """
        import hashlib
        import numpy as np, kokkos_scan
        x = np.random.default_rng(5).random((5, 300_001), "float32")
        print(hashlib.sha256(kokkos_scan.cumulative_sum(x, axis=1).tobytes()).hexdigest())
    """
    assert run(program, OMP_NUM_THREADS="1") == run(program, OMP_NUM_THREADS="3")
