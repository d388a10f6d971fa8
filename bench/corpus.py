#!/usr/bin/env python3
"""Compares hlokit and XLA in reading and printing every text of a corpus, and texts made from it by mutation.

    corpus.py DIR... [--mutants 1000] [--known bench/corpus_deviations.txt]

XLA's parser (through jaxlib, which does not give access to its verifier) and `hlo check --verify=off` judge each text. If
both accept it, both print it in each form that XLA has a name for, and the bytes are compared. In a file with `// -----`
lines, the modules are FILE#1, FILE#2, ... Mutants are seeded: small texts with a word, a line or a byte changed.

--known lists deviations with their reasons, one a line: `accept|reject|print PATTERN  REASON`. PATTERN is a shell
pattern for "NAME: DETAIL", with ? for a blank. Other deviations are printed and make the exit code 1. The list is for
jaxlib 0.12 (Python 3.12). Older versions print other forms and reject more.
Needs the Python of bench/models/regenerate.sh (build/venv) and build/bin/hlo.
"""
import argparse
import fnmatch
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HLO = os.path.join(ROOT, 'build/bin/hlo')
LARGEST_MUTANT = 4000  # bytes
# The value of --hlo_print, with further flags and the function that makes XLA's options. Texts with elided constants are not
# compared in the forms of SHOW_CONSTANTS, because these show the values that XLA generates.
FORMS = {
    'xla': (['--print_large_constants=false'], lambda options: options()),
    'short-parsable': ([], lambda options: options.short_parsable()),
    'canonical': ([], lambda options: options.canonical()),
    'fingerprint': ([], lambda options: options.fingerprint()),
}
SHOW_CONSTANTS = ('short-parsable', 'fingerprint')


def xla_worker(connection):
    """Sends (verdict, {form: printed text} or error) for each text. XLA aborts the process on some texts."""
    os.environ.update(JAX_PLATFORMS='cpu', TF_CPP_MIN_LOG_LEVEL='3')
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    from jaxlib import _hlo
    while True:
        text = connection.recv()
        try:
            module = _hlo.hlo_module_from_text(text)
            connection.send(('accept', {form: module.to_string(make(_hlo.HloPrintOptions))
                                        for form, (_, make) in FORMS.items()}))
        except Exception as error:
            connection.send(('reject', str(error)))


class Xla:
    """XLA in a separate process, which is started again after each crash."""

    def __init__(self):
        self.process = None

    def judge(self, text, timeout=120):
        if self.process is None:
            self.end, other = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=xla_worker, args=(other,), daemon=True)
            self.process.start()
            other.close()
        try:
            self.end.send(text)
            if self.end.poll(timeout):
                return self.end.recv()
            verdict = 'timeout'
        except (EOFError, BrokenPipeError, ConnectionResetError):
            verdict = 'crash'
        self.process.kill()
        self.process = None
        return verdict, ''


def our_verdicts(paths):
    """{path: '' or the first error}. The error of a crash begins with CRASH."""
    verdicts = {}
    for begin in range(0, len(paths), 100):
        chunk = paths[begin:begin + 100]
        run = subprocess.run([HLO, 'check', '--verify=off', '--json'] + chunk, capture_output=True, text=True, errors='replace')
        if run.returncode not in (0, 3, 5):
            if len(chunk) == 1:
                verdicts[chunk[0]] = 'CRASH: exit code %d' % run.returncode
            else:
                for path in chunk:
                    verdicts.update(our_verdicts([path]))
            continue
        for row in json.loads(run.stdout):
            said = '' if row['verdict'] == 'ok' else '[%s] %s' % (row.get('code'), row.get('message'))
            verdicts.setdefault(row['file'], said)
    return verdicts


def our_print(path, form):
    run = subprocess.run([HLO, 'opt', '--passes=', '--hlo_print=' + form, '--verify=off'] + FORMS[form][0] + [path],
                         capture_output=True)
    return run.stdout.decode(errors='surrogateescape') if run.returncode == 0 else None


def modules(directories, scratch):
    """(name, path, text) of each module. Modules of a file with several are written below `scratch`."""
    for directory in directories:
        for folder, folders, files in sorted(os.walk(directory)):
            folders.sort()
            for file in sorted(files):
                if not file.endswith('.hlo'):
                    continue
                path = os.path.join(folder, file)
                name = os.path.relpath(path, os.path.dirname(os.path.abspath(directory)))
                with open(path, encoding='utf-8', errors='surrogateescape') as f:
                    text = f.read()
                parts = re.split(r'(?m)^// -----.*$', text)
                if len(parts) == 1:
                    yield name, path, text
                    continue
                for number, part in enumerate((p for p in parts if p.strip()), 1):
                    yield written(scratch, '%s#%d' % (name, number), part)


def written(scratch, name, text):
    path = os.path.join(scratch, name.replace('/', '_'))
    with open(path, 'w', encoding='utf-8', errors='surrogateescape') as f:
        f.write(text)
    return name, path, text


def mutant(rng, text):
    """The text with one of eight kinds of damage."""
    words = [m.span() for m in re.finditer(r'[A-Za-z_][\w.\-]*|\d+|[^\w\s]', text)]
    begin, end = rng.choice(words)
    other_begin, other_end = rng.choice(words)
    kind = rng.randrange(8)
    if kind == 0:  # drop a word
        return text[:begin] + text[end:]
    if kind == 1:  # double a word
        return text[:end] + ' ' + text[begin:]
    if kind == 2:  # replace a word by another
        return text[:begin] + text[other_begin:other_end] + text[end:]
    if kind == 3:  # cut off the text before a word
        return text[:begin]
    if kind == 4:  # replace a word by a number
        return text[:begin] + str(rng.choice([-1, 0, 1, 7, 1 << 31, 1 << 63, 10**20])) + text[end:]
    if kind == 5:  # replace a byte
        return text[:begin] + chr(rng.randrange(32, 127)) + text[begin + 1:]
    if kind == 6:  # drop a line
        lines = text.split('\n')
        del lines[rng.randrange(len(lines))]
        return '\n'.join(lines)
    return text[:begin] + rng.choice(['{', '}', '(', ')', ',', '=', '"', '%', '[', ']', '->', ' ']) + text[begin:]


class Tally:
    def __init__(self, title, known):
        self.title, self.known, self.unknown, self.listed = title, known, [], 0
        self.accepted = self.rejected = self.xla_accepts = self.xla_rejects = 0
        self.same_print, self.printed = dict.fromkeys(FORMS, 0), dict.fromkeys(FORMS, 0)
        self.peer_died = 0

    def deviate(self, kind, name, detail):
        if any(kind == k and fnmatch.fnmatchcase('%s: %s' % (name, detail), pattern) for k, pattern in self.known):
            self.listed += 1
        else:
            self.unknown.append('  %s  %s: %s' % (kind, name, detail))

    def add(self, name, path, source, ours, theirs, text_of_ours):
        verdict, said = theirs
        if ours.startswith('CRASH'):
            self.unknown.append('  crash  %s: %s' % (name, ours))
        if verdict in ('crash', 'timeout'):
            self.peer_died += 1
        elif verdict == 'accept':
            self.xla_accepts += 1
            if ours:
                self.deviate('reject', name, 'we say %s' % ours)
                return
            self.accepted += 1
            for form, text in said.items():
                if '{...}' in source and form in SHOW_CONSTANTS:
                    continue
                self.printed[form] += 1
                mine = text_of_ours(path, form)
                if mine == text or mine == text + '\n':
                    self.same_print[form] += 1
                else:
                    self.deviate('print', name, '%s: %s' % (form, first_difference(mine, text)))
        else:
            self.xla_rejects += 1
            if ours:
                self.rejected += 1
            else:
                self.deviate('accept', name, 'XLA says ' + ' '.join(said.split())[:150])

    def report(self):
        share = lambda part, whole: '%d of %d (%.1f %%)' % (part, whole, 100 * part / whole) if whole else 'none'
        print('%s: texts that XLA accepts: we accept %s; texts that XLA rejects: we reject %s; equal prints: %s; '
              'deviations: %d listed, %d not listed%s' % (
                  self.title, share(self.accepted, self.xla_accepts), share(self.rejected, self.xla_rejects),
                   ', '.join('%s %s' % (form, share(same, self.printed[form])) for form, same in self.same_print.items()), self.listed, len(self.unknown),
                  '; XLA died on %d' % self.peer_died if self.peer_died else ''))
        for line in self.unknown:
            print(line)
        sys.stdout.flush()


def first_difference(mine, theirs):
    if mine is None:
        return 'we do not print it'
    for number, (a, b) in enumerate(zip(mine.split('\n'), theirs.split('\n')), 1):
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            at = max(0, at - 30)
            return 'line %d: %r instead of %r' % (number, a[at:at + 80], b[at:at + 80])
    return 'another length'


def read_known(path):
    known = []
    with open(path) as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                kind, pattern = line.split()[:2]
                known.append((kind, pattern))
    return known


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('directories', nargs='+', metavar='DIR')
    options.add_argument('--mutants', type=int, default=1000, help='number of mutants (default 1000)')
    options.add_argument('--seed', type=int, default=0)
    options.add_argument('--known', default=os.path.join(ROOT, 'bench/corpus_deviations.txt'), metavar='FILE')
    options.add_argument('--keep', metavar='DIR', help='keep the mutants there')
    options = options.parse_args()
    known = read_known(options.known)
    xla = Xla()
    with tempfile.TemporaryDirectory() as scratch:
        everything = list(modules(options.directories, scratch))
        tally = Tally('corpus', known)
        ours = our_verdicts([path for _, path, _ in everything])
        for name, path, text in everything:
            tally.add(name, path, text, ours[path], xla.judge(text), our_print)
        tally.report()
        small = [text for _, path, text in everything if 0 < len(text) < LARGEST_MUTANT and not ours[path]]
        rng = random.Random(options.seed)
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
        mutants = [written(options.keep or scratch, 'mutant_%05d.hlo' % i, mutant(rng, rng.choice(small)))
                   for i in range(options.mutants)]
        mutant_tally = Tally('mutants', known)
        ours = our_verdicts([path for _, path, _ in mutants])
        for name, path, text in mutants:
            mutant_tally.add(name, path, text, ours[path], xla.judge(text), our_print)
        mutant_tally.report()
    return 1 if tally.unknown or mutant_tally.unknown else 0


if __name__ == '__main__':
    sys.exit(main())
