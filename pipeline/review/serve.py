"""The server process: a socket, the store, the application, until it is told to end."""

from __future__ import annotations

import socket
from datetime import timedelta

import uvicorn

from pipeline.errors import PrerequisiteError
from pipeline.review import trail
from pipeline.review.accounts import NewPassword, Role, add_user, any_user
from pipeline.review.database import Database
from pipeline.review.web.app import LOOPBACK, create_app
from pipeline.settings import Settings

__all__ = ["FIRST_NAME", "first_administrator", "is_loopback", "listen", "serve"]

_FIRST_PORT = 8720
FIRST_NAME = "admin"
"""The account that the first start makes."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    return host in LOOPBACK


def listen(host: str, port: int | None) -> socket.socket:
    """A socket to listen on: at the port, or the first free one from 8720.

    Raises:
        PrerequisiteError: If it is taken, or the host is not one of this machine.
    """
    reason = ""
    for tried in [port] if port is not None else range(_FIRST_PORT, _FIRST_PORT + 100):
        opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a restart need not wait for old connections
        try:
            opened.bind((host, tried))
            opened.listen(128)
        except OSError as error:
            opened.close()
            reason = error.strerror or str(error)
            continue
        return opened
    msg = f"no server can listen on {host}: {reason}"
    raise PrerequisiteError(msg, hint="name another port with --port, or another --host")


def first_administrator(database: Database, life: timedelta) -> NewPassword | None:
    """Make the first account where there is none; its password is to be changed within ``life``."""
    with database.writing() as connection:
        if any_user(connection):
            return None
        trail.note(connection, trail.at_the_command_line(), "add_user", detail=f"{FIRST_NAME}, {Role.ADMINISTRATOR}")
        return add_user(connection, FIRST_NAME, Role.ADMINISTRATOR, life=life)


def serve(settings: Settings, database: Database, opened: socket.socket, host: str) -> None:
    """Answer requests until the process is told to end."""
    app = create_app(settings, database, hosts=() if host in ("0.0.0.0", "::") else (host,))  # noqa: S104
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,  # addresses say who works on what; the audit log is the place for that
        server_header=False,
        # Whoever reaches loopback could name any address: it is believed only where a proxy is said to stand in front.
        proxy_headers=bool(settings.review.host_names),
        forwarded_allow_ips=["127.0.0.1", "::1"],
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run(sockets=[opened])
