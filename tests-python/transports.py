"""What every transport must do, shown with toy hosts. The tests of Ray call these; those of MPI run this file on every rank."""

import sys
import time

from toy_host import ToyHost, request

SETTINGS = {"address": None, "rejoin_timeout": 20.0, "checkpoint_dir": None}


def collect(engine, n_wanted, seconds=30.0):
    """That many deliveries, or those that have come within the time."""
    found, until = [], time.monotonic() + seconds
    while len(found) < n_wanted and time.monotonic() < until:
        found += engine.receive(0.1)
    return found


def within(seconds, condition):
    """Whether it comes true in time."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()


def answers_come_in_the_order_of_requests(engine, n_workers):
    for number in range(20):
        for worker in range(n_workers):
            engine.post(worker, request("echo", (worker, number)), None)
    found = collect(engine, 20 * n_workers)
    for worker in range(n_workers):
        answers = [answer for kind, sender, answer in found if (kind, sender) == ("answer", worker)]
        assert answers == [repr(((worker, number), None)).encode() for number in range(20)], answers


def what_is_shared_arrives_whole(engine, n_workers):
    for size in (0, 10, 99_999, 100_000, 3_000_000):
        shared = bytes(size)
        for worker in range(n_workers):
            engine.post(worker, request("echo", size), shared)
        found = collect(engine, n_workers)
        assert sorted(found) == [("answer", worker, repr((size, size)).encode()) for worker in range(n_workers)], found


def large_answers_and_requests_pass_each_other(engine, n_workers):
    for _ in range(4):
        for worker in range(n_workers):
            engine.post(worker, request("large", 3_000_000), bytes(2_000_000))
    found = collect(engine, 4 * n_workers)
    assert [len(answer) for _, _, answer in found] == [3_000_000] * 4 * n_workers


def nothing_to_receive_takes_the_time_it_was_given(engine, n_workers):
    begin = time.monotonic()
    assert engine.receive(0.3) == []
    assert 0.25 < time.monotonic() - begin < 2.0
    begin = time.monotonic()
    assert engine.receive(0.0) == []
    assert time.monotonic() - begin < 0.2


def workers_work_at_the_same_time_and_can_be_interrupted(engine, n_workers):
    begin = time.monotonic()
    for worker in range(n_workers):
        engine.post(worker, request("sleep", 60.0), None)
    time.sleep(0.3)
    engine.interrupt()
    found = collect(engine, n_workers)
    assert len(found) == n_workers and all(b"interrupted" in answer for _, _, answer in found), found
    assert time.monotonic() - begin < 20.0


CHECKS = [
    answers_come_in_the_order_of_requests,
    what_is_shared_arrives_whole,
    large_answers_and_requests_pass_each_other,
    nothing_to_receive_takes_the_time_it_was_given,
    # the last one: hosts that were interrupted are no good any more
    workers_work_at_the_same_time_and_can_be_interrupted,
]


def main():
    from dirigent import mpi

    if mpi.serve(ToyHost):
        return
    engine = mpi.MpiEngine()
    n_workers = engine.n_workers()
    for fit in (1, 2):
        engine.start(n_workers, SETTINGS)
        for check in CHECKS:
            check(engine, n_workers)
            print(f"fit {fit}: {check.__name__}", flush=True)
        # what nobody waits for does not hold up the next fit
        engine.post(0, request("sleep", 60.0), None)
        engine.end(failed=True)
        engine.end(failed=True)
    if "die" in sys.argv:
        engine.start(n_workers, SETTINGS)
        engine.post(1, request("die"), None)
        engine.receive(600.0)


if __name__ == "__main__":
    main()
