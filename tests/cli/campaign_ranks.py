#!/usr/bin/env python3
"""What many processes make of a campaign, from times of units that one process took.

  campaign_ranks.py JOURNAL --ranks 1,2,1000 [--units N] [--look S] [--lost F] [--seed S]

JOURNAL: of tests/kernels/choices.py; `seconds` of each line is the time of a unit. N units have these times, drawn at random. As `inlay campaign` does it, each rank
goes through the list of units once and takes the first that nobody has: looking at a unit that is taken costs S seconds, a question to the file system.
F of the ranks are killed, each at some moment, and lose the unit that they have; `--again` runs the lost ones afterwards, on one rank each.
"""
import argparse
import heapq
import json
import random


def play(times, ranks, look, lost, rng):
    """Seconds until all is done, units that were lost."""
    total = sum(times)
    killed = rng.sample(range(ranks), int(lost * ranks))
    dies = {rank: rng.uniform(0, total / ranks) for rank in killed}
    free = [(0.0, rank, 0) for rank in range(ranks)]  # when, who, where in the list
    heapq.heapify(free)
    following, end, again = 0, 0.0, []
    while free:
        now, rank, at = heapq.heappop(free)
        if rank in dies and now >= dies[rank]:
            continue
        now += look * (following - at)
        if following == len(times):
            end = max(end, now)
            continue
        unit, following = following, following + 1
        if rank in dies and now + times[unit] > dies[rank]:
            again.append(times[unit])
            continue
        heapq.heappush(free, (now + times[unit], rank, following))
    return end + (max(again) + look * len(times) if again else 0), len(again)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("journal")
    p.add_argument("--ranks", default="1,2,1000")
    p.add_argument("--units", type=int, default=100_000)
    p.add_argument("--look", type=float, default=1e-3)
    p.add_argument("--lost", type=float, default=0)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    with open(a.journal, encoding="utf-8") as f:
        known = [json.loads(line)["seconds"] for line in f]
    rng = random.Random(a.seed)
    times = [rng.choice(known) for _ in range(a.units)]
    print(f"{len(known)} known times, {min(known):.1f} to {max(known):.1f} s; {a.units} units, {sum(times):.0f} s of work")
    for ranks in map(int, a.ranks.split(",")):
        end, lost = play(times, ranks, a.look, a.lost, rng)
        print(f"{ranks:5} ranks: {end:9.0f} s, {100 * sum(times) / ranks / end:.1f} % of the ranks' time is work, {lost} units lost and run again")


if __name__ == "__main__":
    main()
