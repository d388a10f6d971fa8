"""Finds the program hlo and runs it."""
import os
import platform
import shutil
import subprocess
import sysconfig
from pathlib import Path

from .errors import DeviceError, LimitError, error_of


def program() -> str:
    """Returns the path of hlo: the path in HLO_PROGRAM, the program that was installed with this package, or hlo on the PATH."""
    if os.environ.get('HLO_PROGRAM'):
        return os.environ['HLO_PROGRAM']
    site = Path(__file__).resolve().parents[1]  # .../lib/python3.N/site-packages, or the folder of pip's --target.
    folders = [site / 'bin', *[up / 'bin' for up in list(site.parents)[2:3]], Path(sysconfig.get_path('scripts'))]
    for folder in folders:
        if os.access(folder / 'hlo', os.X_OK):
            return str(folder / 'hlo')
    found = shutil.which('hlo')
    if found is None:
        raise DeviceError('the program hlo was not found: install it with pip install hlokit, or set HLO_PROGRAM to its path')
    return found


def version() -> str:
    """Returns the version of hlo, such as '0.1.0'."""
    return call('version').stdout.split()[1]


def call(command, *words, input=b'', accept=(0,), timeout=None) -> subprocess.CompletedProcess:
    """Runs `hlo COMMAND WORD...`. Exit codes that are not in `accept` become exceptions, and so does a `timeout` in
    seconds (LimitError). The result has the exit code and stdout and stderr as text."""
    try:
        done = subprocess.run([program(), command, *map(str, words)], input=input, capture_output=True, timeout=timeout)
    except OSError as error:
        raise DeviceError(f'{program()} does not start: {error.strerror} (hlo needs x86-64 Linux, and this is '
                          f'{platform.machine()} {platform.system()})') from None
    except subprocess.TimeoutExpired as late:
        said = (late.stderr or b'').decode('utf-8', 'replace')
        raise LimitError(f'{said}hlo {command} took more than {timeout:g} s (timeout)') from None
    done.stdout = done.stdout.decode('utf-8', 'replace')
    done.stderr = done.stderr.decode('utf-8', 'replace')
    if done.returncode in accept and not _lacks_glibc(done):
        return done
    if _lacks_glibc(done):
        raise DeviceError(f'hlo needs a newer glibc than {" ".join(platform.libc_ver())}, which this system has')
    raise error_of(done.returncode, done.stderr or done.stdout)


def _lacks_glibc(done):
    """Returns true if the loader could not start hlo, which has exit code 1 too."""
    return done.returncode == 1 and "version `GLIBC_" in done.stderr


def flag_words(flags):
    """Returns the words of the command line for keyword arguments. A list repeats the flag, and None omits it."""
    words = []
    for name, value in flags.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(f'--{name}')
            elif one is False:
                words.append(f'--{name}=false')
            elif one is not None:
                words.append(f'--{name}={os.fspath(one) if isinstance(one, os.PathLike) else one}')
    return words
