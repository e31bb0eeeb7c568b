"""Runs a command without a network: in a network namespace of its own, in which only loopback is up. Linux only.

usage: python -m openclawbench.collect.isolation COMMAND [ARGUMENT…]
"""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # linux/sched.h
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1  # linux/sockios.h, linux/if.h
TRY_S = 30


def without_network(command: list[str]) -> list[str]:
    """The command that runs `command` without a network."""
    return [sys.executable, "-P", "-m", "openclawbench.collect.isolation", *command]


@cache
def can_isolate() -> bool:
    """Whether this machine lets a user make a network namespace: containers and some distributions do not."""
    if sys.platform != "linux":
        return False
    tried = subprocess.run(without_network(["true"]), capture_output=True, timeout=TRY_S)
    return tried.returncode == 0


def unshare() -> None:
    """Leave the network behind. OSError if that is not allowed."""
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0:
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny")
        (own / "uid_map").write_text(f"{user} {user} 1")
        (own / "gid_map").write_text(f"{group} {group} 1")
    elif libc.unshare(CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def raise_loopback() -> None:
    """Bring the namespace's loopback interface up: the agent reaches its relay over it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        _, flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


if __name__ == "__main__":
    try:
        unshare()
        raise_loopback()
    except OSError as error:
        sys.exit(f"cannot make a network namespace: {error.strerror}")
    os.execvp(sys.argv[1], sys.argv[1:])
