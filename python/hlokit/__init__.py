"""Runs, compiles, compares and debugs HLO text with the program hlo.

    import hlokit
    outputs = hlokit.run('model.hlo', [x, y])              # NumPy arrays in and out
    verdict = hlokit.verdict('model.hlo', [x, y])          # compared with the interpreter; true if right
    print(verdict)                                         # MATCH  1 output, 4096 elements ...
    for found in hlokit.check(text): print(found)          # errors and warnings of a text, with their places
    text = hlokit.opt(text, passes=['algsimp', 'dce'])

A module is a path, a text, the bytes of a protocol buffer, or the result of jax.jit(f).lower(x). A keyword is a flag of
the command: hlokit.run(m, platform='cpu', num_repeats=3) is `hlo run --platform=cpu --num_repeats=3 m`, and
`hlo run --help` lists the flags. A failure raises the exception for the exit code of hlo, such as RejectedError for 3.

verdict(), diff() and check() return Verdict, Difference and Diagnostics. All exceptions derive from HloError, which has
.code, .exit, .errors and .report: NegativeError (1), UsageError (2), RejectedError (3), UnsupportedError (4), LimitError (5),
DeviceError (6), InconclusiveError (7), InternalError (70). help(hlokit.Verdict) describes Verdict.

Only the functions with arrays need NumPy. Each call runs hlo once, as a process of its own, and keeps no state.
"""
from .arrays import to_float32
from .commands import Difference as Difference  # Public without being in __all__, which keeps help() short.
from .commands import Verdict as Verdict
from .commands import check, diff, doctor, example, fmt, inspect, opt, run, verdict
from .errors import DeviceError as DeviceError
from .errors import Diagnostic as Diagnostic
from .errors import HloError as HloError
from .errors import InconclusiveError as InconclusiveError
from .errors import InternalError as InternalError
from .errors import LimitError as LimitError
from .errors import NegativeError as NegativeError
from .errors import RejectedError as RejectedError
from .errors import UnsupportedError as UnsupportedError
from .errors import UsageError as UsageError
from .process import call, program, version

__all__ = [
    'run', 'verdict', 'check', 'opt', 'fmt', 'diff', 'inspect', 'doctor', 'example', 'call', 'program', 'version', 'to_float32'
]
