#!/usr/bin/env python3
"""Compares the splits of values with the splits that XLA's propagation chooses.

    devices_splits.py FOLDER...

Each FOLDER has one program's dump by XLA_FLAGS='--xla_dump_to=FOLDER --xla_dump_hlo_as_text
--xla_dump_hlo_pass_re=.*(spmd|sharding).*|shardy-xla': the text before and after the pass shardy-xla.
sharding-propagation runs on the text before shardy-xla. XLA renames values, so values are matched by opcode, shape and
op_name. Values whose split is not a choice are left out: parameters, constants, tuples, broadcasts and scalars.
"""
import collections
import pathlib
import re
import subprocess
import sys

HLO = 'build/bin/hlo'
PASSES = 'call-inliner,flatten-call-graph,sharding-propagation'
OMITTED = {'parameter', 'constant', 'get-tuple-element', 'tuple', 'copy', 'custom-call', 'iota', 'broadcast'}
ROW = re.compile(r'^\s*(?:ROOT )?%?[\w.\-]+ = (\w+\[[\d,]+\])\S* ([\w\-]+)\((.*)$', re.M)


def splits_of(text):
    """The shardings of the values with one opcode, shape and op_name."""
    splits = collections.defaultdict(collections.Counter)
    for shape, opcode, rest in ROW.findall(text):
        if opcode in OMITTED:
            continue
        sharding = re.search(r'sharding=(\{[^}]*\})', rest)
        name = re.search(r'op_name="([^"]*)"', rest)
        key = (opcode, shape, name.group(1) if name else '')
        splits[key][sharding.group(1) if sharding else '{replicated}'] += 1
    return splits


def largest(folder, pattern):
    files = sorted(folder.glob(pattern), key=lambda path: path.stat().st_size)
    return files[-1] if files else None


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    all_equal = all_compared = 0
    for folder in map(pathlib.Path, sys.argv[1:]):
        before, after = largest(folder, '*before_shardy-xla.txt'), largest(folder, '*after_shardy-xla*.txt')
        if before is None or after is None:
            print(f'{folder.name:32} no dump of shardy-xla')
            continue
        run = subprocess.run([HLO, 'opt', f'--passes={PASSES}', str(before)], capture_output=True, text=True)
        ours, theirs = splits_of(run.stdout), splits_of(after.read_text())
        equal = compared = 0
        differing = []
        for key, expected in theirs.items():
            if ours[key].total() != expected.total():
                continue
            compared += expected.total()
            equal += (expected & ours[key]).total()
            if expected != ours[key]:
                differing.append(f'    {key[0]} {key[1]}: XLA {dict(expected)}, ours {dict(ours[key])}')
        print(f'{folder.name:32} {equal} of {compared}')
        print('\n'.join(differing), end='\n' if differing else '')
        all_equal += equal
        all_compared += compared
    print(f'{all_equal} of {all_compared} values have XLA\'s split')


if __name__ == '__main__':
    main()
