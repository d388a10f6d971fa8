"""The functions of the package, one for each command of hlo."""
import dataclasses
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional

from .arrays import argument_words, in_words_of_arrays, need_numpy, read_outputs, write_arrays
from .errors import Diagnostic, HloError, UsageError, diagnostics_in, error_of
from .process import call, flag_words

# Exit codes of verdicts. The others are errors of the request, of the machine, or of hlokit.
_JUDGED = (0, 1, 4, 5, 7)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The verdict of `hlo run`. It is true for MATCH, MATCH(with stubs) and RAN, which means that nothing was compared."""
    word: str  # 'MATCH', 'MISMATCH', 'UNSUPPORTED(...)', ...: docs/reports.md#verdicts.
    exit: int
    report: Dict[str, Any]  # hlo.run/1: every figure of the run.
    said: str  # Notes and errors.

    def __bool__(self):
        return self.exit == 0

    @property
    def culprit(self) -> Optional[str]:
        """The wrong part, such as "pass algsimp#2"; None if no part is known to be wrong."""
        found = self.report.get('culprit') or {}
        return f"{found['kind']} {found['name']}" if found.get('name') else None

    def __str__(self):
        return '  '.join(part for part in (self.word, self.report.get('detail'), self.culprit and
                                           f'who is wrong: {self.culprit}') if part)


@dataclasses.dataclass(frozen=True)
class Difference:
    """The result of `hlo diff`. It is true if there is a difference, or if this could not be decided (`equal` is None)."""
    equal: Optional[bool]
    report: Dict[str, Any]  # hlo.diff/1.
    text: str

    def __bool__(self):
        return self.equal is not True

    def __str__(self):
        return self.text


def _bytes_of(module):
    """Returns the bytes of a module, or None if it is a path."""
    if hasattr(module, 'compiler_ir'):  # jax.stages.Lowered
        module = module.compiler_ir('hlo')
    if hasattr(module, 'as_serialized_hlo_module_proto'):
        module = module.as_serialized_hlo_module_proto()
    if isinstance(module, bytes):
        return module
    if isinstance(module, str) and ('\n' in module or '(' in module and not os.path.exists(module)):
        return module.encode()
    return None


def _module(module):
    """Returns the word for the module on the command line, and the bytes for stdin."""
    content = _bytes_of(module)
    if content is not None:
        return '-', content
    path = os.fspath(module)
    return os.path.join('.', path) if path.startswith('-') else path, b''


def _with_commas(names):
    return ','.join(names) if isinstance(names, (list, tuple)) else names


def _report(done):
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise error_of(done.returncode or 70, done.stderr or done.stdout) from None


def _of_one(done, path):
    """Returns the report of a run of one module. A directory with several modules is an error."""
    report = _report(done)
    if isinstance(report, list):
        raise UsageError(f'hlokit: {path} has {len(report)} modules, but this function runs only one')
    return report


def _run(folder, *words, **options):
    """Calls `hlo run` with arguments in files of the folder. Errors name the arrays instead of these files."""
    try:
        return call('run', *words, accept=_JUDGED, **options)
    except HloError as error:
        raise type(error)(in_words_of_arrays(str(error), folder), error.exit, error.report) from None


def example(name='poisson_jacobi') -> Path:
    """Returns the path of an example module of this package. If there is no such example, FileNotFoundError lists the names."""
    folder = Path(__file__).parent / 'examples'
    path = folder / f'{name}.hlo'
    if not path.exists():
        names = sorted(file.stem for file in folder.glob('*.hlo')) or ['none (only the installed package has examples)']
        raise FileNotFoundError(f'hlokit: no example is called {name!r}; the examples are: {", ".join(names)}')
    return path


def run(module, args=None, *, timeout=None, **flags) -> List[Any]:
    """Runs a module and returns its results as a list of arrays. A nested tuple of results is a tuple.

    `args` is a sequence of arrays, or a dictionary or the result of numpy.load with names or numbers as keys. An argument
    that is None or missing is generated from random_seed. Python numbers and lists of them get the type of the parameter.
    Nothing is compared unless a flag requires it (reference_platform='default'). Then NegativeError means a mismatch, and
    InconclusiveError means that the comparison could not be decided. bf16 arrays have the type ml_dtypes.bfloat16 if ml_dtypes is
    installed; otherwise see to_float32. LimitError means that the run took more than `timeout` seconds. A bundle is a
    module too.
    """
    need_numpy()
    flags = {'reference_platform': 'none', **flags}
    path, content = _module(module)
    with tempfile.TemporaryDirectory(prefix='hlokit-') as folder:
        outputs = os.path.join(folder, 'outputs.npz')
        words = flag_words(flags) + argument_words(args, folder)
        done = _run(folder, '-q', '--json', *words, f'--save_outputs={outputs}', '--', path, input=content,
                    timeout=timeout)
        report = _of_one(done, path)
        if done.returncode != 0:
            raise error_of(done.returncode, done.stderr or str(Verdict(report['verdict'], done.returncode, report, '')),
                           report)
        return read_outputs(outputs)


def verdict(module, args=None, *, timeout=None, **flags) -> Verdict:
    """Runs a module as run() does and compares every kernel and the passes with the interpreter."""
    path, content = _module(module)
    with tempfile.TemporaryDirectory(prefix='hlokit-') as folder:
        words = flag_words(flags) + argument_words(args, folder)
        done = _run(folder, '--json', *words, '--', path, input=content, timeout=timeout)
    report = _of_one(done, path)
    return Verdict(report['verdict'], done.returncode, report, done.stderr)


def check(module, **flags) -> List[Diagnostic]:
    """Returns the errors and warnings of a module. A valid module has no errors."""
    path, content = _module(module)
    done = call('check', *flag_words(flags), '--', path, input=content, accept=(0, 3))
    return diagnostics_in(done.stderr)


def opt(module, passes=None, *, timeout=None, **flags) -> str:
    """Returns the text of a module after the default pipeline, or after these passes (`hlo opt --list_passes`), possibly none.
    stage='ptx' and other stages return the code of the kernels."""
    path, content = _module(module)
    done = call('opt', '-q', *flag_words({'passes': _with_commas(passes), **flags}), '--', path, input=content,
                timeout=timeout)
    return done.stdout


def fmt(module, **flags) -> str:
    """Returns the formatted text with its comments."""
    path, content = _module(module)
    return call('fmt', *flag_words(flags), '--', path, input=content).stdout


def inspect(question, module, **flags) -> Dict[str, Any]:
    """Returns the result of `hlo inspect QUESTION`: 'stats', 'cost', 'memory' or 'literals'."""
    path, content = _module(module)
    return _report(call('inspect', question, '--json', *flag_words(flags), '--', path, input=content))


def doctor(**flags) -> Dict[str, Any]:
    """Returns the devices and libraries that work on this machine, and why the others do not."""
    return _report(call('doctor', '--json', *flag_words(flags)))


def diff(left, right, *, timeout=None, **flags) -> Difference:
    """Compares two modules, or two sequences or dictionaries of arrays."""
    with tempfile.TemporaryDirectory(prefix='hlokit-') as folder:
        paths = [_side(side, os.path.join(folder, name)) for side, name in ((left, 'left'), (right, 'right'))]
        done = call('diff', f'--json={folder}/diff.json', *flag_words(flags), '--', *paths, accept=(0, 1, 7),
                    timeout=timeout)
        with open(f'{folder}/diff.json', encoding='utf-8') as file:
            report = json.load(file)
    return Difference({0: True, 1: False}.get(done.returncode), report, done.stdout)


def _side(side, path):
    """Returns the path of a side's file, which is written if the side is not a path."""
    if isinstance(side, (list, tuple)) or hasattr(side, 'keys'):
        write_arrays(path + '.npz', side)
        return path + '.npz'
    content = _bytes_of(side)
    if content is None:
        return os.fspath(side)
    with open(path + '.hlo', 'wb') as file:
        file.write(content)
    return path + '.hlo'
