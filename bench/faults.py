#!/usr/bin/env python3
"""Tests that one command finds each planted fault in under a minute. Prints a Markdown table.

    faults.py                                       # all rows, with build/bin
    faults.py --only 'kernel|nan' --limit 60

Each row plants a fault and runs one command, as a user would who does not know the fault, and looks for the fault's name
in the output. A row is located if the name appears, and late if it appears after more than --limit seconds. Triage and
reduction then continue to a smaller module. The exit code is 1 if a row is not located or late.
"""
import argparse
import datetime
import os
import re
import subprocess
import sys
import tempfile
import time

import compare

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CPU = '--platform=cpu'


def kernel(kind, fault, told):
    """A row with a fault in the only kernel of bench/faults/KIND.hlo. `told` is the kind in the words of the report."""
    return ('a %s kernel: %s' % (kind, fault), 'bench/faults/%s.hlo' % kind,
            'hlo-run %s --nolibraries --inject=kernel:*:%s $MODULE' % (CPU, fault),
            r"who is wrong: kernel '[^']*' \(kernel, %s" % told)


SMALL = 'testdata/search/bisect_names_the_pass.hlo'
ZEROS = '--inject=pass:algsimp#1:drop_add_zero_sign "--arg=x={{-0,-0,-0},{1,2,3}}"'
SIGN = 'testdata/cli/reproducer_of_a_run.hlo'
MODEL = 'testdata/models/%s.hlo'

# The fault, its module, the command ($MODULE is the module, $TMP a folder of the row), and the pattern that it has to print.
FAULTS = [
    ('a rewrite that loses a sign', SIGN, 'hlo-bisect %s %s $MODULE' % (CPU, ZEROS),
     r'(?s)culprit: pass instance \d+, algsimp#1.*fault\.drop_add_zero_sign'),
    ('the same', SIGN, 'hlo-opt --check_each_pass %s $MODULE' % ZEROS, r'(?s)algsimp#1 +WRONG.*fault\.drop_add_zero_sign'),
    ('the same', SIGN, 'hlo-run %s %s --triage=$TMP/t $MODULE' % (CPU, ZEROS),
     r'located +pass instance \d+, algsimp#1.*fault\.drop_add_zero_sign'),
    ('a pass: wrong_constant', SMALL, 'hlo-bisect %s --inject=pass:algsimp#1:wrong_constant $MODULE' % CPU,
     r'culprit: pass instance \d+, algsimp#1'),
    ('a pass: swapped_operands', MODEL % 'lstm_infer', 'hlo-run %s --inject=pass:dce#2:swapped_operands $MODULE' % CPU,
     r"who is wrong: pass dce#2"),
    ('a pass: swapped_operands', MODEL % 'gpt2_infer', 'hlo-bisect %s --inject=pass:dce#3:swapped_operands $MODULE' % CPU,
     r'culprit: pass instance \d+, dce#3'),
    ('a pass that crashes', SMALL, 'hlo-bisect %s --inject=crash:cse#2 $MODULE' % CPU, r'culprit: pass instance \d+, cse#2'),
    ('a pass, of a model: triage', MODEL % 'mlp_train_f32',
     'hlo-run %s --inject=pass:dce#2:swapped_operands --triage=$TMP/t $MODULE' % CPU, r"accused +pass 'dce#2'"),
    ('two dumps that differ by a pass', MODEL % 'lstm_infer',
     "hlo-run -q --reference_platform=none --xla_dump_hlo_pass_re=.* %s --xla_dump_to=$TMP/a $MODULE >$TMP/log; "
     "hlo-run -q --reference_platform=none --xla_dump_hlo_pass_re=.* %s --inject=pass:dce#2:swapped_operands "
     "--xla_dump_to=$TMP/b $MODULE >$TMP/log; hlo diff $TMP/a $TMP/b" % (CPU, CPU), r'first differing pass: #\d+ dce#2'),
    kernel('loop', 'tail', 'loop'),
    kernel('row_reduction', 'dropped_term', 'row reduction'),
    kernel('column_reduction', 'wrong_index', 'column reduction'),
    kernel('contraction', 'dropped_term', 'dot'),
    kernel('scatter', 'dropped_term', 'scatter'),
    kernel('sort', 'wrong_index', 'sort'),
    kernel('fft', 'dropped_term', 'fft'),
    kernel('matrix', 'wrong_index', 'matrix'),
    kernel('transpose', 'tail', 'transpose'),
    kernel('scan', 'dropped_term', 'scan'),
    kernel('rows', 'dropped_term', 'rows'),
    ('a kernel of a model: dropped_term', MODEL % 'gpt2_infer', 'hlo-run %s --inject=kernel:*:dropped_term $MODULE' % CPU,
     r"who is wrong: kernel 'rows_region'"),
    ('the same, as small as it gets', MODEL % 'gpt2_train',
     'hlo-reduce %s --inject=kernel:*:dropped_term -o $TMP/small.hlo $MODULE' % CPU, r'(?s)small\.hlo +(\d|10) instructions.*still fails: [^\n]*kernel \(rows\)'),
    ('a kernel of a model: triage', MODEL % 'mlp_train_f32',
     'hlo-run %s --inject=kernel:gemm_fusion.5:wrong_index --nolibraries --triage=$TMP/t $MODULE' % CPU, r"accused +kernel 'gemm_fusion\.5'"),
    ('one fusion', SMALL, 'hlo-bisect --over=fusions %s --inject=kernel:loop_cosine_fusion:wrong_index $MODULE' % CPU,
     r'culprit: fusion loop_cosine_fusion'),
    ('a library: bit', MODEL % 'gpt2_infer', 'hlo-run %s --inject=library:*:bit $MODULE' % CPU,
     r"who is wrong: library call 'gemm_fusion"),
    ('a library: scale', SMALL, 'hlo-bisect --over=libraries %s --inject=library:*:scale $MODULE' % CPU,
     r"culprit: a library: the call 'gemm_fusion'"),
    ('a library: triage', SMALL, 'hlo-run %s --inject=library:*:zero --triage=$TMP/t $MODULE' % CPU,
     r"accused +library call 'gemm_fusion'"),
    ('the run time: early', MODEL % 'lstm_infer', 'hlo-run %s --inject=runtime:*:early $MODULE' % CPU,
     r"run time: '[^']*' in iteration 1 of 'while\.7' was due"),
    ('the run time: late', MODEL % 'lstm_infer', 'hlo-run %s --inject=runtime:*:late $MODULE' % CPU,
     r"run time: '[^']*' in iteration 0 of 'while\.7' ran where"),
    ('NaN in a loop', 'bench/faults/nan_in_a_loop.hlo',
     'hlo-run %s --detect_nan=fail "--arg=x={2,2,2,2,2,2,2,2}" $MODULE' % CPU, r"'root' is NaN at \[0\] in iteration 4 of 'w'"),
    ('0 / 0 among the data', 'testdata/search/reduce_nan.hlo',
     'hlo-reduce --platform=interpreter --property=nan --input_profile=ones -o $TMP/small.hlo $MODULE',
     r"(?s)small\.hlo +3 instructions.*still fails: NaN from 'divide'"),
    ('a fusion that is gone, so that all is slow', SMALL,
     "hlo-bisect --property=slower:1.2 --over=flags '--flags_bad=--xla_disable_hlo_passes=fusion --random_seed=3 "
     "--nolibraries' %s $MODULE" % CPU, r'culprit: flag --xla_disable_hlo_passes=fusion'),
    ('a rule that makes more kernels', 'testdata/search/bisect_over_rules.hlo',
     'hlo-bisect --over=rules --property=kernels --passes=algsimp,dce --target=sm_90 %s $MODULE' % CPU, r'culprit: rule A\.pow\.1b'),
    ('a module that is not valid', 'testdata/search/reduce_rejected.hlo', 'hlo-reduce %s -o $TMP/small.hlo $MODULE' % CPU,
     r'(?s)small\.hlo +3 instructions.*still fails: error \[V012\]'),
]


def run(command, module, binaries, told, timeout):
    """Seconds until the output matches `told`, or None; seconds until the command ended; the output."""
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, TMP=folder, MODULE=module, PATH=os.path.abspath(binaries) + ':' + os.environ['PATH'])
        begin = time.time()
        process = subprocess.Popen(['timeout', '-s', 'INT', str(timeout), 'bash', '-c', command], cwd=ROOT, env=env, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, named = '', None
        for line in process.stdout:
            output += line
            if named is None and re.search(told, output):
                named = time.time() - begin
        process.wait()
        return named, time.time() - begin, output


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--only', default='', help='rows whose text matches this regular expression')
    options.add_argument('--limit', type=float, default=60, help='seconds until a fault must be named (default 60)')
    options.add_argument('--timeout', type=float, default=600, help='seconds after which a command is interrupted (default 600)')
    options.add_argument('--binaries', default=os.path.join(ROOT, 'build', 'bin'))
    options = options.parse_args()
    load = os.getloadavg()[0]
    rows, missed, late = [], 0, 0
    for what, module, command, told in FAULTS:
        if not re.search(options.only, ' '.join((what, module, command))):
            continue
        named, whole, output = run(command, module, options.binaries, told, options.timeout)
        missed += named is None
        late += named is not None and named > options.limit
        said = next((line.strip() for line in output.splitlines() if re.search(told, line)), 'over several lines')
        rows.append([str(len(rows) + 1), what, '`%s`' % command.replace('$MODULE', module).replace('|', '\\|'),
                     'never' if named is None else '%.1f' % named, '%.1f' % whole,
                     'NOT FOUND' if named is None else said[:100].replace('|', '\\|')])
        print('%s: named after %s s, ended after %s' % (what, rows[-1][3], rows[-1][4]), file=sys.stderr)
    print('%s; %s; load %.1f before.' % (datetime.date.today(), compare.machine(), load))
    print()
    print(compare.table(['', 'planted', 'command', 'named s', 'ended s', 'what it says'], rows))
    print('\n%d rows: %d not located, %d named after more than %g s' % (len(rows), missed, late, options.limit))
    return 1 if missed or late else 0


if __name__ == '__main__':
    sys.exit(main())
