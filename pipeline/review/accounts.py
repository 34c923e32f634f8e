"""Who may come in: people with roles, passwords by argon2, sessions, a limit on failed sign-ins."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from ipaddress import IPv6Address, ip_address, ip_network

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, Row, delete, func, insert, select, update

from pipeline.annotation.adjudicate import AUTHOR
from pipeline.errors import UsageError
from pipeline.review.database import Database
from pipeline.review.errors import NotFound, Refused
from pipeline.review.tables import assignments, attempts, sessions, users
from pipeline.review.tables import moment as text_of
from pipeline.store import Json

__all__ = [
    "MIN_PASSWORD",
    "NewPassword",
    "Role",
    "User",
    "add_user",
    "any_user",
    "change_password",
    "change_user",
    "find_user",
    "list_users",
    "new_password",
    "open_session",
    "session_user",
    "sign_in",
    "sign_out",
    "touch_session",
    "user_named",
]

MIN_PASSWORD = 12
"""Characters of a password that a person chooses."""
_MAX_PASSWORD = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
"""A name is the name of a file under ``annotations`` too."""
_WINDOW = timedelta(minutes=15)
_FAILURES_OF_NAME_HERE = 5
_FAILURES_HERE = 30
"""Failed sign-ins within the window before more are refused: of a name from an address, of an address."""
_FAILURES_OF_NAME = 50
_FAILURES_WHEN_GUESSED = 2
"""Once a name was tried so often from anywhere, this many are left to every address. The name is never closed: whoever
guesses must not be able to keep its owner out."""
_LONGEST_SESSION = timedelta(days=7)
_WEEK = timedelta(days=7)
_SEEN_EVERY = timedelta(minutes=5)


class Role(StrEnum):
    """What an account is for."""

    ANNOTATOR = "annotator"
    ADJUDICATOR = "adjudicator"
    READER = "reader"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True)
class User:
    """A person with an account."""

    id: int
    name: str
    role: Role
    must_change_password: bool
    disabled: bool
    created_at: str
    last_seen_at: str | None

    def to_json(self) -> dict[str, Json]:
        """The form that administrators see."""
        return {
            "id": self.id,
            "name": self.name,
            "role": self.role.value,
            "disabled": self.disabled,
            "created_at": self.created_at,
            "last_seen_at": self.last_seen_at,
        }


@dataclass(frozen=True)
class NewPassword:
    """A password to tell once; it is stored only as its hash."""

    user: User
    password: str


def _user(row: Row[tuple[object, ...]]) -> User:
    return User(
        row.id, row.name, Role(row.role), row.must_change_password, row.disabled, row.created_at, row.last_seen_at
    )


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()


@cache
def _nobodys_hash() -> str:
    return _hasher().hash(secrets.token_urlsafe(16))


def new_password() -> str:
    """A password of 80 random bits, in groups that can be read out."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"  # none that look alike
    return "-".join("".join(secrets.choice(letters) for _ in range(4)) for _ in range(4))


def any_user(connection: Connection) -> bool:
    """Whether there is an account."""
    return connection.scalar(select(func.count()).select_from(users)) != 0


def add_user(
    connection: Connection, name: str, role: Role, password: str | None = None, *, life: timedelta = _WEEK
) -> NewPassword:
    """Make an account. Without a password one is made up, to be changed at the first sign-in, within ``life``.

    Raises:
        UsageError: If the name or the password will not do.
        Refused: If the name is taken.
    """
    if not _NAME.fullmatch(name) or name.casefold() == AUTHOR:
        msg = f"{name[:50]!r} is no name for an account"
        raise UsageError(msg, hint="up to 40 letters, digits, - and _; it names the person's annotation files")
    _check(password)
    if connection.scalar(select(users.c.id).where(users.c.folded == name.casefold())) is not None:
        raise Refused(409, "exists", f"there is an account {name!r} already", hint="take another name")
    told = password or new_password()
    made = connection.execute(
        insert(users)
        .values(
            name=name,
            folded=name.casefold(),
            role=role.value,
            password_hash=_hasher().hash(told),
            must_change_password=password is None,
            password_ends_at=text_of(datetime.now(UTC) + life) if password is None else None,
            disabled=False,
            created_at=text_of(),
        )
        .returning(users)
    ).one()
    return NewPassword(_user(made), told)


def _check(password: str | None) -> None:
    if password is not None and not MIN_PASSWORD <= len(password) <= _MAX_PASSWORD:
        msg = f"the password has {len(password)} characters"
        raise UsageError(msg, hint=f"take {MIN_PASSWORD} to {_MAX_PASSWORD} characters")


def list_users(connection: Connection) -> list[User]:
    """Everybody, by name."""
    return [_user(row) for row in connection.execute(select(users).order_by(users.c.folded))]


def find_user(connection: Connection, user_id: int) -> User:
    """The person with this id.

    Raises:
        NotFound: If there is none.
    """
    row = connection.execute(select(users).where(users.c.id == user_id)).one_or_none()
    if row is None:
        raise NotFound
    return _user(row)


def user_named(connection: Connection, name: str) -> User:
    """The person with this name.

    Raises:
        UsageError: If there is none.
    """
    row = connection.execute(select(users).where(users.c.folded == name.casefold())).one_or_none()
    if row is None:
        names = ", ".join(user.name for user in list_users(connection)) or "nobody yet"
        msg = f"there is no account {name!r}"
        raise UsageError(msg, hint=f"there are: {names}; `rescue review user add` makes one")
    return _user(row)


def change_user(
    connection: Connection,
    user_id: int,
    *,
    role: Role | None = None,
    disabled: bool | None = None,
    reset_password: bool = False,
    life: timedelta = _WEEK,
) -> tuple[User, str | None]:
    """Change an account; a new password is made up on request and told once, to be used within ``life``.

    Every session of the person ends. With a new password, failed sign-ins of the name are forgotten.

    Raises:
        NotFound: If there is no such account.
        Refused: If no administrator would be left, or the person has work that the new role may not do.
    """
    before = find_user(connection, user_id)
    leaves = disabled or (role is not None and role is not Role.ADMINISTRATOR)
    if before.role is Role.ADMINISTRATOR and leaves:
        others = select(func.count()).select_from(users).where(
            users.c.role == Role.ADMINISTRATOR.value, users.c.id != user_id, users.c.disabled.is_(False)
        )  # fmt: skip
        if not connection.scalar(others):
            hint = "make somebody else administrator first"
            raise Refused(409, "exists", "this is the only administrator", hint=hint)
    if role is not None and role is not before.role:
        held = select(func.count()).select_from(assignments).where(
            assignments.c.user_id == user_id, assignments.c.withdrawn.is_(False)
        )  # fmt: skip
        if connection.scalar(held):
            hint = "withdraw the assignments first, or make a second account"
            raise Refused(409, "exists", "the person has assignments under the old role", hint=hint)
    password = new_password() if reset_password else None
    values: dict[str, object] = {}
    if role is not None:
        values["role"] = role.value
    if disabled is not None:
        values["disabled"] = disabled
    if password is not None:
        ends = text_of(datetime.now(UTC) + life)
        values |= {"password_hash": _hasher().hash(password), "must_change_password": True, "password_ends_at": ends}
        # Where this person tried, the address may be closed by the tries of others.
        name = before.name.casefold()
        tried = select(attempts.c.address).where(attempts.c.name == name).scalar_subquery()
        connection.execute(delete(attempts).where((attempts.c.name == name) | attempts.c.address.in_(tried)))
    if values:
        connection.execute(update(users).where(users.c.id == user_id).values(**values))
        connection.execute(delete(sessions).where(sessions.c.user_id == user_id))
    return find_user(connection, user_id), password


def sign_in(database: Database, name: str, password: str, address: str) -> tuple[User, str] | None:
    """The person with this name and password, and the token of a new session; None if there is none.

    Takes as long for a name that nobody has. A try counts as failed from its start, so that many at once do not slip
    through; and no transaction is open while the password is checked, which is slow by intention.

    Raises:
        Refused: If there were too many failures, or the password is a one-time password that has ended.
    """
    origin = _origin(address)
    folded = name.replace("\0", "").casefold()[:40]
    with database.writing() as connection:
        _check_attempts(connection, folded, origin)
        connection.execute(insert(attempts).values(name=folded, address=origin, at=text_of()))
        row = connection.execute(select(users).where(users.c.folded == folded)).one_or_none()
    try:
        _hasher().verify(row.password_hash if row else _nobodys_hash(), password)
    except (VerificationError, InvalidHashError):
        return None
    if row is None or row.disabled:
        return None
    if row.must_change_password and row.password_ends_at is not None and row.password_ends_at < text_of():
        # Said only to who knows the password.
        hint = "ask your administrator for a new one"
        raise Refused(401, "password_ended", "this one-time password was not used in time", hint=hint)
    user = _user(row)
    with database.writing() as connection:
        connection.execute(delete(attempts).where(attempts.c.name == folded, attempts.c.address == origin))
        return user, open_session(connection, user)


def _origin(address: str) -> str:
    """Whose tries count together: an address; of IPv6 the /64, since whoever has one address there has them all."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ip_network((found, 64), strict=False))
    return str(found)


def _check_attempts(connection: Connection, folded: str, origin: str) -> None:
    since = datetime.now(UTC) - _WINDOW
    connection.execute(delete(attempts).where(attempts.c.at < text_of(since)))
    tried = connection.scalar(select(func.count()).select_from(attempts).where(attempts.c.name == folded)) or 0
    limits = (
        (
            _FAILURES_WHEN_GUESSED if tried >= _FAILURES_OF_NAME else _FAILURES_OF_NAME_HERE,
            (attempts.c.name == folded) & (attempts.c.address == origin),
        ),
        (_FAILURES_HERE, attempts.c.address == origin),
    )
    for limit, which in limits:
        found = connection.execute(select(attempts.c.at).where(which).order_by(attempts.c.at.desc()).limit(limit)).all()
        if len(found) == limit:
            freed = datetime.fromisoformat(found[-1].at) + _WINDOW
            wait = max(1, int((freed - datetime.now(UTC)).total_seconds()))
            hint = f"wait {-(-wait // 60)} minutes, or ask your administrator"
            raise Refused(429, "too_many_attempts", "too many failed sign-ins", hint=hint, retry_after=wait)


def change_password(database: Database, user: User, current: str, new: str, address: str) -> None:
    """Take a new password; every session of the person ends. Guessing the current one is limited as signing in is.

    Raises:
        Refused: If the current one is wrong, or there were too many failures.
        UsageError: If the new one will not do.
    """
    folded, origin = user.name.casefold(), _origin(address)
    with database.writing() as connection:
        _check_attempts(connection, folded, origin)
        connection.execute(insert(attempts).values(name=folded, address=origin, at=text_of()))
        known = connection.execute(select(users.c.password_hash).where(users.c.id == user.id)).scalar_one()
    # Both hashes are slow by intention: nobody's save waits for them.
    try:
        _hasher().verify(known, current)
    except VerificationError:
        raise Refused(401, "wrong_credentials", "the current password is wrong", hint="type it again") from None
    _check(new)
    if new == current:
        msg = "the new password is the old one"
        raise UsageError(msg, hint="take another")
    values = {"password_hash": _hasher().hash(new), "must_change_password": False, "password_ends_at": None}
    with database.writing() as connection:
        unchanged = (users.c.id == user.id) & (users.c.password_hash == known)
        if not connection.execute(update(users).where(unchanged).values(**values)).rowcount:
            raise Refused(409, "exists", "the password was changed meanwhile", hint="sign in again")
        connection.execute(delete(sessions).where(sessions.c.user_id == user.id))
        connection.execute(delete(attempts).where(attempts.c.name == folded, attempts.c.address == origin))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def open_session(connection: Connection, user: User) -> str:
    """A new session; returns its token, of which only a digest is stored."""
    token = secrets.token_urlsafe(32)
    now = text_of()
    oldest = text_of(datetime.now(UTC) - _LONGEST_SESSION)
    connection.execute(delete(sessions).where(sessions.c.created_at < oldest))
    connection.execute(insert(sessions).values(digest=_digest(token), user_id=user.id, created_at=now, seen_at=now))
    connection.execute(update(users).where(users.c.id == user.id).values(last_seen_at=now))
    return token


def session_user(connection: Connection, token: str, idle: timedelta) -> tuple[User | None, bool]:
    """The person whose session this is, and whether `touch_session` is due; None if it ended."""
    now = datetime.now(UTC)
    row = connection.execute(
        select(users, sessions.c.seen_at)
        .join(sessions, sessions.c.user_id == users.c.id)
        .where(
            sessions.c.digest == _digest(token),
            sessions.c.seen_at >= text_of(now - idle),
            sessions.c.created_at >= text_of(now - _LONGEST_SESSION),
            users.c.disabled.is_(False),
        )
    ).one_or_none()
    return (None, False) if row is None else (_user(row), row.seen_at < text_of(now - _SEEN_EVERY))


def touch_session(connection: Connection, token: str, user: User) -> None:
    """Note that the person is still there."""
    now = text_of()
    connection.execute(update(sessions).where(sessions.c.digest == _digest(token)).values(seen_at=now))
    connection.execute(update(users).where(users.c.id == user.id).values(last_seen_at=now))


def sign_out(connection: Connection, token: str) -> None:
    """End a session."""
    connection.execute(delete(sessions).where(sessions.c.digest == _digest(token)))
