#!/usr/bin/env python3
"""Our parser against XLA's on the same texts, one thread, one run; a Markdown table on stdout.

    parse.py FILE.hlo... [--largest 10]

XLA's is the parser alone, through jaxlib; it does not verify. Ours is timed without its verifier and with it, freeing
the module counted on both sides. Each figure is the best of several. Texts that either refuses are a line below the
table. Needs the Python of bench/models/regenerate.sh (build/venv) and build/bin/hlo.
"""
import argparse
import math
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument('files', nargs='+', metavar='FILE.hlo')
options.add_argument('--largest', type=int, default=0, metavar='N', help='only the N largest that both accept')
options = options.parse_args()

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
os.environ.update(JAX_PLATFORMS='cpu', TF_CPP_MIN_LOG_LEVEL='3')
from jaxlib import _hlo


def xla_seconds(text):
    """The best of at least three; None when XLA refuses the text."""
    best, start = math.inf, time.perf_counter()
    try:
        while True:
            begin = time.perf_counter()
            module = _hlo.hlo_module_from_text(text)
            del module
            best = min(best, time.perf_counter() - begin)
            if time.perf_counter() - start > 1.5:
                return best
    except Exception:
        return None


def our_seconds(path):
    """(parse, verify), or None when ours refuses the text."""
    run = subprocess.run([os.path.join(ROOT, 'build/bin/hlo'), 'check', '--bench', path], capture_output=True, text=True)
    match = re.search(r'parse ([\d.]+) ms.*verify ([\d.]+) ms', run.stdout)
    return match and (float(match[1]) * 1e-3, float(match[2]) * 1e-3)


print('| text | MB | XLA parse MB/s | ours parse MB/s | ratio | ours parse + verify MB/s | ratio |')
print('|---|--:|--:|--:|--:|--:|--:|')
parse_ratios, both_ratios, refused = [], [], []
for path in sorted(options.files, key=os.path.getsize, reverse=True):
    with open(path, encoding='utf-8', errors='surrogateescape') as file:
        text = file.read()
    megabytes = os.path.getsize(path) * 1e-6
    ours = our_seconds(path)
    theirs = ours and xla_seconds(text)
    name = os.path.basename(path).removesuffix('.hlo')
    if not ours or not theirs:
        refused.append('%s (%s)' % (name, 'XLA' if ours else 'ours'))
        continue
    parse, both = ours[0], ours[0] + ours[1]
    parse_ratios.append(theirs / parse)
    both_ratios.append(theirs / both)
    print('| %s | %.2f | %.0f | %.0f | %.1f | %.0f | %.1f |' % (
        name, megabytes, megabytes / theirs, megabytes / parse, theirs / parse, megabytes / both, theirs / both), flush=True)
    if len(parse_ratios) == options.largest:
        break
if not parse_ratios:
    sys.exit('no text that both accept')
geomean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
print('| geometric mean | | | | %.1f | | %.1f |' % (geomean(parse_ratios), geomean(both_ratios)))
if refused:
    print('\nRefused: ' + ', '.join(refused))
