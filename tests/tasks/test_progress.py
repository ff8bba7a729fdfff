"""Progress reaches the listener of the thread that computes, and only while it listens."""

import threading

import pytest

from kernel_pipeline.tasks.progress import progress_listener, progress_part, report_progress


def test_without_a_listener_nothing_happens() -> None:
    report_progress("3 passes")
    with progress_part("value 1 of 2"):
        report_progress("3 passes")


def test_parts_are_named_before_what_they_report() -> None:
    heard: list[str] = []
    with progress_listener(heard.append):
        with progress_part("pair 1 of 3"), progress_part("value 2 of 4"):
            report_progress("gap 0.1")
        report_progress("the end")
    report_progress("unheard")
    assert heard == ["pair 1 of 3", "pair 1 of 3: value 2 of 4", "pair 1 of 3: value 2 of 4: gap 0.1", "the end"]


def test_an_error_ends_the_part_and_the_listening() -> None:
    heard: list[str] = []
    with progress_listener(heard.append):
        with pytest.raises(ValueError, match="no"), progress_part("part"):
            raise ValueError("no")
        report_progress("after it")
    with pytest.raises(ValueError, match="no"), progress_listener(heard.append):
        raise ValueError("no")
    report_progress("unheard")
    assert heard == ["part", "after it"]


def test_threads_do_not_hear_each_other() -> None:
    heard: dict[int, list[str]] = {0: [], 1: []}
    both = threading.Barrier(2)

    def compute(number: int) -> None:
        with progress_listener(heard[number].append):
            both.wait(timeout=10)
            report_progress(f"of thread {number}")
            both.wait(timeout=10)

    threads = [threading.Thread(target=compute, args=(number,)) for number in heard]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == {0: ["of thread 0"], 1: ["of thread 1"]}
