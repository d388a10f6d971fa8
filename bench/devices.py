#!/usr/bin/env python3
"""Partitions programs for several devices. Compares with XLA's partitioner and with recorded results.

    devices.py FOLDER [--only=WORD]

FOLDER and its subfolders have NAME.before.hlo (the text before XLA's passes), NAME.after_spmd.hlo (the text after its
partitioner) and NAME.npz (whole arguments and results). For each NAME, the interpreter runs the partitioned programs of
XLA and of hlokit on all devices, and the results are compared with the recorded ones. NAME.before.hlo states the
shardings of the results. Bytes are the sizes of the results of collectives on one device ('hlo inspect collectives').
The exit code is 1 if a program of XLA does not match.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import tempfile

HLO = 'build/bin/hlo'
PASSES = 'spmd-partitioner'  # A stage of the default pipeline.
VERDICTS = ('MATCH', 'MISMATCH', 'INCONCLUSIVE')


def last_line(command):
    """The exit code, and the line of the verdict. Without a verdict, the last line of the output or of the errors."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return -1, 'takes more than 5 minutes'
    text = run.stdout if run.returncode in (0, 1) and run.stdout.strip() else run.stderr
    lines = [line for line in text.strip().split('\n') if not line.startswith(('hint', 'note'))]
    verdicts = [line for line in lines if line.startswith(VERDICTS)]
    return run.returncode, (verdicts or lines or [''])[-1]


def verdict_of(name, text):
    code, line = last_line([HLO, 'run', '-q', '--platform=interpreter', f'--args={name}.npz', f'--reference={name}.npz',
                            f'--result_shardings={name}.before.hlo', str(text)])
    word = line.split()[0] if line else ''
    return (word if word in VERDICTS else f'error {code}'), line


def collectives_of(text):
    run = subprocess.run([HLO, 'inspect', 'collectives', '--json', str(text)], capture_output=True, text=True)
    if run.returncode:
        return None
    report = json.loads(run.stdout)
    return int(report['bytes']), int(report['calls'])


def text_of(figures):
    return '-' if figures is None else f'{figures[0]:,} B in {figures[1]}'


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--only', default='')
    args = parser.parse_args()
    theirs, ours = collections.Counter(), collections.Counter()
    fewer = more = 0
    print(f'{"program":34} {"XLA text":9} {"collectives":>22}   {"ours":12} {"collectives":>22}')
    with tempfile.TemporaryDirectory() as folder:
        for after in sorted(args.folder.rglob('*.after_spmd.hlo')):
            name = str(after).removesuffix('.after_spmd.hlo')
            if args.only not in name or not pathlib.Path(name + '.npz').exists():
                continue
            part = pathlib.Path(folder) / 'part.hlo'
            own_figures = None
            code, line = last_line([HLO, 'opt', f'--passes={PASSES}', name + '.before.hlo', '-o', str(part)])
            own = 'refused' if code == 4 else f'error {code}'
            if code == 0:
                own, line = verdict_of(name, part)
                own_figures = collectives_of(part)
            peer, _ = verdict_of(name, after)
            peer_figures = collectives_of(after)
            theirs[peer] += 1
            ours[own] += 1
            if own == 'MATCH':
                fewer += own_figures[0] < peer_figures[0]
                more += own_figures[0] > peer_figures[0]
            short = str(pathlib.Path(name).relative_to(args.folder))
            print(f'{short:34} {peer:9} {text_of(peer_figures):>22}   {own:12} {text_of(own_figures):>22}'
                  + ('' if own == 'MATCH' else f'   {line[:150]}'), flush=True)
    print('XLA\'s texts:', ', '.join(f'{count} {word}' for word, count in sorted(theirs.items())))
    print('ours:', ', '.join(f'{count} {word}' for word, count in sorted(ours.items())),
          f'({fewer} with fewer bytes than XLA, {more} with more)')
    raise SystemExit(set(theirs) != {'MATCH'})


main()
