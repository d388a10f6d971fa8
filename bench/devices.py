#!/usr/bin/env python3
"""Runs XLA's partitioned texts in the interpreter on all devices, and compares the results with the recorded ones.

    devices.py FOLDER

FOLDER holds NAME.before.hlo (the text before XLA's passes), NAME.after_spmd.hlo (after its partitioner) and NAME.npz
(whole arguments and results), also in subfolders. NAME.before.hlo states the shardings of the results. Prints the
programs whose verdict is not MATCH and the number of programs by verdict. Exit code 1 if a verdict is not MATCH.
"""
import collections
import pathlib
import subprocess
import sys

HLO = 'build/bin/hlo'


def verdict_of(after):
    """The last line of the run, or its error."""
    name = str(after).removesuffix('.after_spmd.hlo')
    command = [HLO, 'run', '-q', '--platform=interpreter', f'--args={name}.npz', f'--reference={name}.npz',
               f'--result_shardings={name}.before.hlo', str(after)]
    run = subprocess.run(command, capture_output=True, text=True)
    lines = (run.stdout if run.returncode in (0, 1) and run.stdout else run.stderr).strip().split('\n')
    return lines[-1]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    counts = collections.Counter()
    for after in sorted(pathlib.Path(sys.argv[1]).rglob('*.after_spmd.hlo')):
        if not pathlib.Path(str(after).removesuffix('.after_spmd.hlo') + '.npz').exists():
            counts['without recorded results'] += 1
            continue
        verdict = verdict_of(after)
        word = verdict.split()[0]
        counts[word] += 1
        if word != 'MATCH':
            print(f'{after}: {verdict}')
    print(', '.join(f'{count} {word}' for word, count in sorted(counts.items())))
    sys.exit(set(counts) - {'MATCH', 'without recorded results'} != set())


main()
