#!/usr/bin/env python3
"""Runs again, on this machine, the tables and figures of the studies behind this project. Writes a page with charts.

    seeds.py                                        # writes build/seeds/index.html and a text beside it, in some minutes
    seeds.py --only fusion,counts --out /tmp/seeds

The figures come from the program's own reports. This script computes no times. If a part fails, its section has the
error, the other parts continue, and the exit code is 1. The end of the page lists measurements that need several GPUs.
"""
import argparse
import datetime
import html
import json
import math
import os
import re
import subprocess
import sys
import time

import charts
import compare
import fusion

ROOT = compare.ROOT
MODEL = 'testdata/models/%s.hlo'
OFF = '--xla_disable_all_hlo_passes'
median = compare.median


class Failed(Exception):
    pass


class Section:
    """The blocks of a part, which both files show: ('text', words), ('head', words), ('items', list of words),
    ('table', header, rows), ('svg', text, caption) and ('link', file, words)."""

    def __init__(self):
        self.blocks = []

    def text(self, words):
        self.blocks.append(('text', words))

    def items(self, words):
        self.blocks.append(('items', words))

    def head(self, words):
        self.blocks.append(('head', words))

    def table(self, header, rows):
        self.blocks.append(('table', header, rows))

    def svg(self, picture, caption=''):
        self.blocks.append(('svg', picture, caption))

    def link(self, file, words):
        self.blocks.append(('link', file, words))


def tool(options, name):
    return os.path.join(options.binaries, name)


def text_of(command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise Failed('%s: %s' % (' '.join(command), (done.stderr.strip() or 'nothing said').splitlines()[0]))
    return done.stdout


def report(options, section, *arguments, timeout=None):
    """The JSON of one hlo-run. The section shows its command."""
    shown = [a for a in arguments if not a.startswith(('--svg', '--profile_json'))]
    section.text('`hlo-run %s`' % ' '.join(os.path.relpath(a, ROOT) if a.startswith(ROOT) else a for a in shown))
    document, wrong, _ = compare.run([tool(options, 'hlo-run'), '--q', '--json', *arguments], options.threads,
                                     timeout or options.timeout)
    if document is None or 'errors' in document:
        raise Failed((document or {}).get('detail') or wrong or 'no report')
    if wrong:
        section.text('The command ended with %s.' % wrong.split(': {')[0][:200])
    return document


def timed(options, section, model, variants):
    """{name: reports of all rounds}. The variants (name, flags) take turns."""
    command, runs = ['--platform=cpu', '--reference_platform=none', '--bench', '--bench_seconds=%g' % options.seconds], {}
    section.text('`hlo-run %s FLAGS %s`' % (' '.join(command), MODEL % model))
    for _ in range(options.rounds):
        for name, flags in variants:
            runs.setdefault(name, []).append(report(options, Section(), *command, *flags, os.path.join(ROOT, MODEL % model)))
    section.text('The variants take turns in %s. Times are medians over the rounds of the median run of a round.' %
                 ('1 round' if options.rounds == 1 else '%d rounds' % options.rounds))
    return runs


def milliseconds(value):
    if not value:
        return '0'
    return '%.0f us' % (value * 1e3) if value < 0.9995 else '%.3g ms' % value if value < 999.5 else '%.2f s' % (value / 1e3)


def mib(count):
    return '%.1f MiB' % (count / 2**20)


def name_of(module):
    """The name of the file of a module in a report."""
    return os.path.splitext(os.path.basename(module['path']))[0]


def signed(effect):
    return '%+.1f %%' % (100 * effect)


# ---- Parts ---------------------------------------------------------------------------------------------------------

def fusion_example(options, section):
    """sum(x + y * z): one kernel against several"""
    variants = [('fused', []), ('without the stages that fuse', ['--xla_disable_hlo_passes=fusion,regions,loops']),
                ('no passes', [OFF])]
    threads = (1, options.threads) if options.threads > 1 else (1,)
    runs = timed(options, section, 'muladd_reduce', [((name, count), [*flags, '--threads=%d' % count])
                                                     for name, flags in variants for count in threads])
    rows, times, moved = [], [], []
    for name, flags in variants:
        cost = fusion.cost(os.path.join(ROOT, MODEL % 'muladd_reduce'), ['--stage=hlo-backend', *flags], 'host',
                           options.binaries)
        if isinstance(cost, str):
            raise Failed(cost)
        count, bars = cost['bytes_read'] + cost['bytes_written'], []
        moved.append((name, [(count, mib(count))]))
        for n in threads:
            each = [run['run_ms'] for run in runs[name, n]]
            fused = median([run['run_ms'] for run in runs['fused', n]])
            rows.append([name, ' '.join(flags), str(n), str(runs[name, n][0]['kernels']), mib(count), milliseconds(median(each)),
                         '%s to %s' % (milliseconds(min(each)), milliseconds(max(each))), '%.2fx' % (median(each) / fused)])
            bars.append((median(each), milliseconds(median(each))))
        times.append((name, bars))
    section.text('Bytes are the bytes that the kernels read and write, without caches (`hlo inspect cost`).')
    section.table(['sum(x + y * z)', 'flags', 'threads', 'kernels', 'bytes', 'time', 'over rounds', 'against fused'], rows)
    section.svg(charts.bars(times, ['1 thread', '%d threads' % options.threads][:len(threads)]), 'Time of a run')
    section.svg(charts.bars(moved), 'Bytes read and written')


def with_and_without(document):
    """(name, baseline, row without passes) for each module in a report of --ablate_by=all."""
    return [(name_of(m), m['baseline'], m['rows'][0]) for m in document['modules'] if m['rows']]


def many_models(options, section):
    """Many models: all passes against none, and images/s of ResNet-50"""
    measure = ['--platform=cpu', '--target=host', '--ablate_by=all', '--ablate_metric=time']
    section.head('ResNet-50, one image of 224x224')
    document = report(options, section, *measure, '--ablate_repeats=%d' % (2 * options.rounds + 1), '--examples_per_run=1',
                      os.path.join(ROOT, MODEL % 'resnet50_infer'))
    for _, base, without in with_and_without(document):
        rows = [[name, '%.1f' % (1e3 / row['ms']), milliseconds(row['ms']), str(row['kernels']), mib(row['bytes']), row['verdict']]
                for name, row in (('with the passes', base), ('without', without))]
        section.table(['', 'images/s', 'time', 'kernels', 'bytes', 'verdict'], rows)
        section.svg(charts.bars([(row[0], [(float(row[1]), row[1] + ' images/s')]) for row in rows]))
        low, high = without['effect_95']
        section.text('Without the passes: %s time, 95 %% interval [%s, %s].' % tuple(map(signed, (without['effect'], low, high))))
    section.text(document['time'].capitalize() + '.')
    section.head('All of testdata/models')
    chart = os.path.join(options.out, 'models.svg')
    models = [path for path in compare.models_of([]) if re.search(options.models, path)]
    document = report(options, section, *measure, '--ablate_repeats=%d' % max(options.rounds, 3), '--svg=' + chart, *models)
    rows, speedups = [], []
    for name, base, without in with_and_without(document):
        speedup, interval = without['effect'] + 1, without['effect_95']
        speedups.append(speedup)
        rows.append([name, milliseconds(base['ms']), milliseconds(without['ms']), '%.2fx' % speedup,
                     '%.2f to %.2f' % tuple(1 + e for e in interval), str(base['kernels']), str(without['kernels']),
                     mib(base['bytes']), mib(without['bytes']), without['verdict'] or without['failure']])
    section.text(document['time'].capitalize() + '.')
    section.table(['model', 'with passes', 'without', 'speedup', '95 %', 'kernels', 'without', 'bytes', 'without', 'verdict'], rows)
    section.text('Geometric mean of the speedups: %.2fx over %d models.' % (compare.statistics.geometric_mean(speedups), len(rows)))
    with open(chart) as file:
        section.svg(file.read())


def passes_of(pipeline):
    """(outermost pipeline, gates, name) for each pass in the text of a pipeline, in order."""
    found, open_blocks = [], []
    for line in re.sub(r'//.*', '', pipeline).splitlines():
        for item in re.split(r',(?![^{(]*[})])', line):
            item = item.strip()
            if block := re.fullmatch(r'(pipeline|if) (.*?)(\(fixed-point[^)]*\))? ?\{', item):
                open_blocks.append((block[1], block[2]))
            elif item == '}':
                open_blocks.pop()
            elif item:
                name = re.sub(r'^todo\((.*)\)$', r'\1', item)
                gates = [text for kind, text in open_blocks if kind == 'if']
                found.append((open_blocks[0][1], gates, re.sub(r'\{.*\}|\(fixed-point.*\)', '', name)))
    return found


def holds(gate, values):
    """Whether a gate such as `cc>=8.0` holds for these values."""
    name, relation, number = re.fullmatch(r'(\w+) *([<>=!]=?) *([\d.]+)', gate).groups()
    value, number = values[name], float(number)
    return {'==': value == number, '!=': value != number, '<': value < number, '<=': value <= number, '>': value > number,
            '>=': value >= number}[relation]


def counts(options, section):
    """75 passes, 72 on one device, 97 invocations: the pipelines of January 2022"""
    listed = [tool(options, 'hlo-opt'), '--list_pipelines']
    passes = passes_of(text_of([tool(options, 'hlo-opt'), '--print_pipeline', '--pipeline=2022']))
    emission, partitioning = {'GPU-ir-emit-prepare', 'schedule'}, 'spmd-partitioner'
    one_device = {'cc': 8.0, 'partitions': 1, 'replicas': 1}
    distinct = {name for pipeline, _, name in passes if pipeline not in emission}
    reachable = {name for pipeline, _, name in passes if pipeline not in emission | {partitioning}}
    run = [pipeline for pipeline, gates, _ in passes
           if pipeline not in ('schedule', partitioning) and all(holds(gate, one_device) for gate in gates)]
    section.text('Counts from the text of `hlo-opt --print_pipeline --pipeline=2022`: names outside of the pipeline that prepares '
                 'emission; these without names that only the partitioner has; and invocations on one device of compute '
                 'capability 8.0, where a fixed point counts once.')
    counted = [len(distinct), len(reachable), len(run)]
    line = re.search(r'\n2022:(?s:.*?)(\d+) different passes, (\d+) of them on one device, where (\d+) instances run', text_of(listed))
    said = [int(number) for number in line.groups()] if line else [None] * 3
    names = ['passes by name', 'of them on one device', 'invocations on one device']
    section.table(['', 'study', 'counted from the text', '`hlo-opt --list_pipelines`'],
                  [[name, str(study), str(ours), str(other)] for name, study, ours, other in
                   zip(names, (75, 72, 97), counted, said)])
    if counted != said:
        section.text('The program and this count disagree.')
    pipelines = list(dict.fromkeys(pipeline for pipeline, _, _ in passes))
    section.svg(charts.bars([(name, [(run.count(name), str(run.count(name)))]) for name in pipelines if name in run]),
                'Invocations by outermost pipeline, on one device')


# Kernel time without a pass divided by kernel time with all passes, on an A100, in the study's order. 'fails': without the pass
# nothing compiled.
STUDY = {
    'resnet50_train_f32': [
        ('gpu-conv-algorithm-picker', 1.57), ('fusion', 1.50), ('batchnorm_expander', 1.20), ('fusion_merger', 1.10),
        ('multi_output_fusion', 1.07), ('gpu-conv-padding-legalization', 'fails'), ('layout-assignment', 'fails'),
        ('reduction-dimension-grouper', 'fails')],
    'laplace_pinn': [
        ('cublas-gemm-rewriter', 23.8), ('fusion', 1.96), ('scatter_expander', 1.26), ('gpu-tree-reduction-rewriter', 1.24),
        ('fusion_merger', 1.18), ('multi_output_fusion', 1.09), ('dot-merger', 'below 1'), ('cse', 'below 1.05'),
        ('algsimp', 'fails'), ('call-inliner', 'fails'), ('dot_decomposer', 'fails'), ('layout-assignment', 'fails'),
        ('reduction-dimension-grouper', 'fails'), ('reduction-layout-normalizer', 'fails'), ('transpose-folding', 'fails')]}


def ranks(factors):
    """{name: rank}. The pass whose removal costs most time has rank 1."""
    order = sorted((n for n in factors if isinstance(factors[n], float)), key=lambda n: -factors[n])
    return {name: str(i + 1) for i, name in enumerate(order)}


def factor_of(row):
    """Time without the pass divided by time with it, or the reason why there is none."""
    if bad := row['failure'] or (row['verdict'] if row['verdict'] not in ('', 'MATCH') else ''):
        return bad
    if interval := row.get('effect_95'):
        if interval[0] <= 0 <= interval[1]:
            return 'noise: %.2f to %.2f' % tuple(1 + effect for effect in interval)
    return 'within 1 %' if abs(row['effect']) < 0.01 else 1 + row['effect']


def factors_of(module):
    return {name: 'changed nothing' for name in module['unchanged']} | {row['off']: factor_of(row) for row in module['rows']}


def beside_the_study(section, model, sources):
    """Adds a table and a chart. `sources` are (name, factors): first the study, then the reports of hlokit."""
    ordered = [name for name, _ in STUDY[model]]
    more = [name for _, factors in sources[1:] for name, f in factors.items() if isinstance(f, float) and name not in ordered]
    modelled = sources[1][1]
    ordered += sorted(dict.fromkeys(more), key=lambda n: -modelled[n] if isinstance(modelled.get(n), float) else 0)
    rank = [ranks(factors) for _, factors in sources]
    words = lambda factor: '%.2fx' % factor if isinstance(factor, float) else factor
    rows = [[name] + [cell for (_, factors), order in zip(sources, rank)
                      for cell in (order.get(name, ''), words(factors.get(name, '-')))] for name in ordered]
    section.table(['without the pass'] + [cell for name, _ in sources for cell in ('rank', name)], rows)
    drawn = []
    for name in ordered:
        values = [factors.get(name) for _, factors in sources]
        if any(isinstance(value, float) for value in values):
            drawn.append((name, [(value, words(value)) if isinstance(value, float) else None for value in values]))
    section.svg(charts.bars(drawn, [name for name, _ in sources], scale=math.log2))


def measured_ablation(options, section, path, passes):
    """The report of times without each of these passes, in as many rounds as fit into --minutes, but at least 3. Only a sample of
    the elements is judged, because judging all takes longer than measuring."""
    on = ['--pipeline=2022', '--target=host', '--platform=cpu', '--threads=1']
    begin = time.time()
    once = report(options, Section(), *on, '--work_limit=1000000000', '--num_repeats=3', path)
    each = 60 * options.minutes / (len(passes) + 1) - (time.time() - begin)  # Seconds for one pass.
    rounds = max(3, min(2 * options.rounds + 1, int(each / (once['run_ms'] / 1e3))))
    begin = time.time()
    document = report(options, section, '--ablate=^(%s)$' % '|'.join(passes), *on, '--ablate_metric=time',
                      '--ablate_repeats=%d' % rounds, '--work_limit=1000000000', path, timeout=600 + 240 * options.minutes)
    module = document['modules'][0]
    section.text('Measured with all passes: %s. %s. It took %.1f minutes.' %
                 (milliseconds(module['baseline']['ms']), document['time'].capitalize(), (time.time() - begin) / 60))
    return module


def ablation(options, section):
    """The value of each pass: ResNet-50 and the Laplace PINN, compared with the study"""
    paths = {name: os.path.join(ROOT, MODEL % name) for name in STUDY}
    section.text('Time without a pass divided by time with all passes. The bars have a logarithmic axis that begins at 1.')
    section.items(['study: kernels timed on an A100, ResNet-50 in TensorFlow with batch 256 of 224x224, the PINN with 10,201 points. '
                   '"fails": without the pass nothing compiled or ran. The models here are smaller, so launches cost more than bytes: '
                   'batch 4 of 64x64 in JAX, and a PINN of width 32.',
                   'modelled for a100: computed from the description of the device, without a run and without noise. Library calls '
                   'have the rate of our kernels, and nothing is autotuned.',
                   'measured: on one thread of this processor, because waking other threads takes longer than kernels of the PINN. A '
                   'processor has no launches to save. Measured are the passes of the study, and passes with a modelled value of 1 % '
                   'or more ("-": not measured). "noise": the 95 % interval contains 1.'])
    modelled = report(options, section, '--ablate', '--pipeline=2022', '--target=a100', *paths.values())
    modelled = {name_of(m): m for m in modelled['modules']}
    for name, path in paths.items():
        section.head(name)
        sources = [('study', dict(STUDY[name])), ('modelled for a100', factors_of(modelled[name]))]
        base = modelled[name]['baseline']
        section.text('Modelled with all passes: %s, %d kernels, %s; %d passes ran.' %
                     (milliseconds(base['ms']), base['kernels'], mib(base['bytes']), modelled[name]['passes']))
        if name in options.measured.split(','):
            passes = [row['off'] for row in modelled[name]['rows'] if abs(row['effect']) >= 0.01 or row['failure']]
            passes = list(dict.fromkeys([pass_ for pass_, _ in STUDY[name]] + passes))
            sources.append(('measured here, 1 thread', factors_of(measured_ablation(options, section, path, passes))))
        else:
            section.text('Not measured. --measured=%s measures it in about %g minutes.' % (name, options.minutes))
        beside_the_study(section, name, sources)


# The names of the rows of "classes" and "gaps" of a profile, in its order.
CLASSES = ['kernels', 'library calls', 'copies', 'fills', 'collectives', 'interpreter']
GAPS = ['launch gap', 'waiting', 'dependency']


def profile_of(options, section, name, target):
    file = os.path.join(options.out, 'profile-%s-%s.json' % (name, target))
    report(options, section, '--platform=cpu', '--reference_platform=none', '--target=' + target, '--profile_json=' + file,
           os.path.join(ROOT, MODEL % name))
    text_of([tool(options, 'hlo'), 'inspect', 'profile', '--html=' + file.replace('.json', '.html'), file])
    with open(file) as text:
        return json.load(text)


def overview(options, section):
    """The profile's overview: where a step's time goes, precisions, advice"""
    names = ['resnet50_train_f32', 'mlp_train_bf16']
    profiles = [profile_of(options, section, name, 'host') for name in names]
    for name, profile in zip(names, profiles):  # A host has no tensor cores, so their use is planned for a GPU.
        profile['tensor_cores'] = profile_of(options, section, name, 'h200')['tensor_cores']
    share = lambda p, ms: '%.1f %%' % (100 * ms / p['run_ms'])
    rows = [('a step', lambda p: milliseconds(p['run_ms'])), ('standard deviation', lambda p: milliseconds(p['deviation_ms'])),
            ('runs', lambda p: str(p['runs'])), ('device busy', lambda p: share(p, p['busy_ms']))]
    rows += [(gap, lambda p, i=i: share(p, p['gaps'][i]['ms'])) for i, gap in enumerate(GAPS)]
    rows += [(kind, lambda p, i=i: '%s (%d)' % (share(p, p['classes'][i]['ms']), p['classes'][i]['count']))
             for i, kind in enumerate(CLASSES)]
    rows += [('%s-bit' % bits, lambda p, b=bits: '%.1f %% (%d)' % (100 * p['bits'][b]['ms'] / sum(
        x['ms'] for x in p['bits'].values()), p['bits'][b]['count'])) for bits in ('8', '16', '32', '64')]
    rows += [('eligible for tensor cores of an h200', lambda p: '%d' % p['tensor_cores']['eligible']['count']),
             ('launches', lambda p: '%d' % p['launches']), ('of them under 10 us', lambda p: '%d' % p['short_executions']),
             ('memory planned', lambda p: mib(p['memory']['planned_bytes']))]
    section.text('Measured with ' + profiles[0]['device'] + '. Shares are shares of a step. Shares of precisions are shares of '
                 'the time in kernels and library calls. Counts are in parentheses.')
    cells = [[label] + [of(p) for p in profiles] for label, of in rows]
    section.table([''] + names, [row for row in cells if any(not cell.startswith('0.0 % (0)') for cell in row[1:])])
    part = lambda p, ms: 100 * ms / p['run_ms']
    section.svg(charts.stacked([(n, [part(p, p['classes'][0]['ms']), part(p, p['classes'][1]['ms']),
                                     part(p, sum(c['ms'] for c in p['classes'][2:])), part(p, sum(g['ms'] for g in p['gaps']))],
                                 milliseconds(p['run_ms'])) for n, p in zip(names, profiles)],
                               ['kernels', 'library calls', 'copies, fills', 'gaps'], unit=' %'), 'A step, %')
    section.svg(charts.stacked([(n, [100 * x['ms'] / sum(y['ms'] for y in p['bits'].values()) for x in p['bits'].values()], '')
                                for n, p in zip(names, profiles)], ['%s-bit' % b for b in profiles[0]['bits']], unit=' %'),
                'Precision, % of the time in kernels and library calls')
    for name, profile in zip(names, profiles):
        section.head('Advice for ' + name)
        section.items(profile['advice'] or ['none'])
        section.link('profile-%s-host.html' % name, 'the whole profile of ' + name)


def scopes(options, section):
    """Compiled scopes: part of a step compiled, the rest op by op (cifar10_train)"""
    variants = [('op by op', ['--scope_interpret=.']), ('convolutions compiled', ['--scope_compile=conv']),
                ('forward compiled', [r'--scope_compile=/jvp\(']), ('backward compiled', [r'--scope_compile=transpose\(jvp']),
                ('both compiled', ['--scope_compile=jvp']), ('all but convolutions', ['--scope_interpret=conv']),
                ('all compiled', [])]
    runs, rows, bars = timed(options, section, 'cifar10_train', variants), [], []
    every = sum(part['instructions'] for part in runs['op by op'][0]['scopes'].values())
    for name, flags in variants:
        ms = median([run['run_ms'] for run in runs[name]])
        whole = {'compiled': {'instructions': every, 'ms': ms}, 'by_op': {'instructions': 0, 'ms': 0}}
        parts = [run.get('scopes', whole) for run in runs[name]]
        compiled, by_op = (median([part[key]['ms'] for part in parts]) for key in ('compiled', 'by_op'))
        rows.append([name, ' '.join(flags), milliseconds(ms), milliseconds(compiled), str(parts[0]['compiled']['instructions']),
                     milliseconds(by_op), str(parts[0]['by_op']['instructions']), str(runs[name][0]['kernels']),
                     str(runs[name][0]['library_calls'])])
        bars.append((name, [compiled, by_op], milliseconds(compiled + by_op)))
    section.text('The times of the parts are from one run in each round, timed step by step. Their sum is not the median of all runs.')
    section.table(['', 'flags', 'a step', 'compiled', 'instructions', 'op by op', 'instructions', 'kernels', 'library calls'], rows)
    section.svg(charts.stacked(bars, ['compiled', 'op by op'], unit=' ms'), 'Compiled and op by op, of a step')


def elsewhere(options, section):
    """Measurements that are not repeated here"""
    section.items([
        'Throughput and collectives over several GPUs: needs several GPUs. On one machine `hlo-run --platform=interpreter '
        '--num_replicas=N` checks results of such programs, not times.',
        'Totals of TensorFlow with XLA and of Paddle with CINN (257 and 296 ms of kernels in a step of ResNet-50, 830 to 910 and 862 '
        'images/s, A100): needs these frameworks. `bench/compare.py` compares hlokit with XLA:CPU.',
        'ResNet-50 with batch 256 of 224x224, on a GPU: `hlo-run --platform=cuda --bench --examples_per_run=256 '
        'testdata/models/large/resnet50_train_bf16.hlo`.'])


PARTS = {'fusion': fusion_example, 'models': many_models, 'counts': counts, 'ablation': ablation, 'profile': overview,
         'scopes': scopes, 'elsewhere': elsewhere}


# ---- The page ------------------------------------------------------------------------------------------------------

def inline(words):
    return re.sub(r'`([^`]*)`', r'<code>\1</code>', html.escape(words))


def as_html(block):
    kind, first, *rest = block
    if kind == 'table':
        return charts.table([cell.strip('`') for cell in first], rest[0])
    if kind == 'items':
        return '<ul>%s</ul>' % ''.join('<li>%s</li>' % inline(words) for words in first)
    if kind == 'svg':
        return '<figure><figcaption>%s</figcaption>%s</figure>' % (inline(rest[0]), first)
    if kind == 'link':
        return '<p><a href="%s">%s</a></p>' % (first, inline(rest[0]))
    return {'text': '<p>%s</p>', 'head': '<h3>%s</h3>'}[kind] % inline(first)


def as_markdown(block):
    kind, first, *rest = block
    if kind == 'table':
        return compare.table(first, rest[0])
    if kind == 'items':
        return '\n'.join('- ' + words for words in first)
    if kind == 'link':
        return '[%s](%s)' % (rest[0], first)
    return {'text': first, 'head': '### ' + first, 'svg': ''}[kind]


def run_part(name, options):
    """(title, conditions, section, the error or None)"""
    print('%s ...' % name, file=sys.stderr)
    section, wrong, begin, load = Section(), None, time.time(), os.getloadavg()[0]
    try:
        PARTS[name](options, section)
    except Exception as error:  # The other parts continue after any error.
        wrong = '%s: %s' % (type(error).__name__, error)
    seconds = time.time() - begin
    print('%-9s %5.1f s%s' % (name, seconds, '  FAILED: ' + wrong if wrong else ''), file=sys.stderr)
    taken = '%s; load %.1f before; %.0f s' % (options.machine, load, seconds)
    return PARTS[name].__doc__, taken, section, wrong


def versions(options):
    """The instruction set of kernels, the program's version, and the commit."""
    commit = subprocess.run(['git', '-C', ROOT, 'describe', '--always', '--dirty'], capture_output=True, text=True)
    found = re.search(r'^cpu +\w+ +(.*?),', text_of([tool(options, 'hlo'), 'doctor']), re.MULTILINE)
    return '%s; %s at %s' % (found[1] if found else 'no cpu', text_of([tool(options, 'hlo'), 'version']).strip(),
                             commit.stdout.strip() or 'no commit')


def write(options, results):
    title = 'The studies behind hlokit, run again'
    pages = ['<nav>%s</nav>' % ' '.join('<a href="#%s">%s</a>' % (name, name) for name, *_ in results)]
    texts = ['# ' + title, '']
    for name, heading, taken, section, wrong in results:
        pages += ['<h2 id="%s">%s</h2>' % (name, html.escape(heading)), '<p class="s">%s</p>' % html.escape(taken)]
        pages += [as_html(block) for block in section.blocks]
        texts += ['## ' + heading, '', taken, ''] + [words + '\n' for block in section.blocks if (words := as_markdown(block))]
        if wrong:
            pages.append('<p class="w">This part failed: %s</p>' % html.escape(wrong))
            texts += ['This part failed: %s' % wrong, '']
    for file, content in (('index.html', charts.page(title, '\n'.join(pages))), ('index.md', '\n'.join(texts))):
        with open(os.path.join(options.out, file), 'w') as out:
            out.write(content)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--only', default='', help='only some parts: ' + ','.join(PARTS))
    options.add_argument('--out', default=os.path.join(ROOT, 'build', 'seeds'), help='folder of the page (default build/seeds)')
    options.add_argument('--rounds', type=int, default=3, help='rounds of measuring (default 3)')
    options.add_argument('--seconds', type=float, default=1, help='seconds of timed runs in a round (default 1)')
    options.add_argument('--models', default='', help='regular expression for the models of the part `models`')
    options.add_argument('--measured', default=','.join(STUDY), help='models whose ablation is also measured (default %(default)s)')
    options.add_argument('--minutes', type=float, default=8, help='about how many minutes to measure the ablation of one model (default 8)')
    options.add_argument('--threads', type=int, default=2, help='threads of a run (default 2)')
    options.add_argument('--timeout', type=float, default=600, help='seconds for one command (default 600)')
    options.add_argument('--binaries', default=os.path.join(ROOT, 'build', 'bin'))
    options = options.parse_args()
    names = options.only.split(',') if options.only else list(PARTS)
    if unknown := [name for name in names if name not in PARTS]:
        sys.exit('seeds.py: --only=%s: no such part; there are %s' % (unknown[0], ', '.join(PARTS)))
    options.binaries, options.out = os.path.abspath(options.binaries), os.path.abspath(options.out)
    if not os.path.exists(tool(options, 'hlo')):
        sys.exit('seeds.py: no %s: `make` builds it, --binaries=FOLDER says where it is' % tool(options, 'hlo'))
    os.makedirs(options.out, exist_ok=True)
    options.machine = '%s; %s; %d threads; %s' % (datetime.date.today(), compare.machine(), options.threads, versions(options))
    results = []
    for name in names:
        results.append((name, *run_part(name, options)))
        write(options, results)  # Written after each part, so that an interrupted run has the parts until then.
    print(os.path.join(options.out, 'index.html'), file=sys.stderr)
    return 1 if any(wrong for *_, wrong in results) else 0


if __name__ == '__main__':
    sys.exit(main())
