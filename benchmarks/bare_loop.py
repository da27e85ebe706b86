"""The lock cycle in bare kazoo, in a process of its own: ``python -m benchmarks.bare_loop``.

Takes a connection string, a recipe, a lock's path, a name, how often to act while holding and how
many seconds to pause in between; says that it is connected; reads the slices, of which the even
ones are its own; and prints how many cycles were completed in each.
"""

import json
import sys
import time
from collections import Counter

from kazoo.client import KazooClient

from benchmarks.slices import Slices
from rumpus.recipes.lock.catalogue import LOCKS

BARE = 0


def main() -> None:
    hosts, recipe, path, name, acts, pause = sys.argv[1:]
    kazoo = KazooClient(hosts=hosts, timeout=2.0)
    kazoo.start(15)
    lock = LOCKS[recipe].recipe(kazoo, path, name=name)
    print("connected", flush=True)
    slices = Slices(*json.loads(sys.stdin.readline()))
    cycles: Counter[int | None] = Counter()
    done = 0
    while (turn := slices.next_turn(BARE, now := time.monotonic_ns())) is not None:
        if turn > now:
            time.sleep((turn - now) / 1e9)
        if not lock.acquire(5.0):
            raise TimeoutError("not granted within 5 s")
        for number in range(int(acts)):
            if lock.held:
                if number:
                    time.sleep(float(pause))
                done += 1
        lock.release()
        cycles[slices.counted(time.monotonic_ns())] += 1
    print(json.dumps([cycles[number] for number in range(slices.total)]), flush=True)
    kazoo.stop()


if __name__ == "__main__":
    main()
