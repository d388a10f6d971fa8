"""The exceptions, one for each exit code of hlo, and the diagnostics of hlo."""
import dataclasses
import re
from typing import List, Optional


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One error or warning. `line` and `column` begin at 1. `file`, `line` and `column` are None if there is no place."""
    severity: str  # 'error', 'warning'
    code: str  # 'V030'; `hlo help V030` explains it.
    message: str
    file: Optional[str] = None
    line: Optional[int] = None
    column: Optional[int] = None
    hint: Optional[str] = None

    def __str__(self):
        place = f'{self.file}:{self.line}:{self.column}: ' if self.line else f'{self.file}: ' if self.file else ''
        return f'{place}{self.severity}: [{self.code}] {self.message}'


_HEAD = re.compile(r'(?P<file>.*?)(?::(?P<line>\d+):(?P<column>\d+))?: (?P<severity>error|warning): '
                   r'\[(?P<code>[A-Z]\d+)\] (?P<message>.*)')
_TOOL = re.compile(r'hlo(-[a-z]+)?')  # The name of the command, if there is no file.


def diagnostics_in(text: str) -> List[Diagnostic]:
    """The diagnostics in the text that the program wrote to stderr, in their order."""
    found: List[Diagnostic] = []
    for line in text.splitlines():
        head = _HEAD.fullmatch(line)
        if head:
            file = None if _TOOL.fullmatch(head['file']) else head['file']
            place = (int(head['line']), int(head['column'])) if head['line'] else (None, None)
            found.append(Diagnostic(head['severity'], head['code'], head['message'], file, *place))
        elif line.startswith('hint: ') and found:
            found[-1] = dataclasses.replace(found[-1], hint=line[len('hint: '):])
    return found


class HloError(Exception):
    """A failure: the text that the program printed (str), its exit code, its errors, and its JSON report if there is one."""
    exit = None

    def __init__(self, said, exit=None, report=None):
        super().__init__(said)
        self.errors = [d for d in diagnostics_in(said) if d.severity == 'error']
        self.report = report
        if exit is not None:
            self.exit = exit

    @property
    def code(self):
        """The code of the first error, such as 'P031'; None if there is no error."""
        return self.errors[0].code if self.errors else None


class NegativeError(HloError):
    """A negative answer, such as a mismatch, a difference or a failed check."""
    exit = 1


class UsageError(HloError):
    """A flag is unknown or has a wrong value."""
    exit = 2


class RejectedError(HloError):
    """The module or an argument was rejected, because of its syntax, the verifier, unreadable data, or a wrong shape or type."""
    exit = 3


class UnsupportedError(HloError):
    """The module is valid, but the platform cannot run it."""
    exit = 4


class LimitError(HloError):
    """A limit of memory, time, steps or depth was reached. The message names the flag that raises the limit."""
    exit = 5


class DeviceError(HloError):
    """The device, its driver or a library failed, or the program does not run on this machine."""
    exit = 6


class InconclusiveError(HloError):
    """A comparison could not be decided."""
    exit = 7


class InternalError(HloError):
    """A bug in hlokit."""
    exit = 70


_BY_EXIT = {kind.exit: kind for kind in HloError.__subclasses__()}


def error_of(exit, said, report=None):
    """Returns the exception for an exit code. A negative code is a signal that ended the program."""
    if exit == 130:
        return KeyboardInterrupt()
    if exit < 0:
        said = f'{said.rstrip()}\nhlo was ended by signal {-exit}'.lstrip()
    return _BY_EXIT.get(exit, InternalError)(said.rstrip() or f'hlo ended with exit code {exit}', exit, report)
