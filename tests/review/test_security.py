"""Who may do what: every route without a session, with every role, with other people's ids, and forged."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from argon2 import PasswordHasher
from fastapi import APIRouter
from fastapi.routing import APIRoute
from itsdangerous import URLSafeSerializer
from sqlalchemy import delete, select, update
from starlette.routing import Mount, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.testclient import TestClient

from pipeline.review import accounts
from pipeline.review.accounts import Role, add_user
from pipeline.review.rights import private_tree
from pipeline.review.tables import audit, moment, sessions, users
from pipeline.review.web.app import create_app
from pipeline.review.web.guard import MAX_BODY
from tests.review.made import ORIGIN, PASSWORD, House, Person, Project, complete, edit, write_draft

ROLES = ("annotator", "adjudicator", "reader", "administrator")
EVERYBODY = frozenset(ROLES)
ADMINISTRATORS = frozenset({"administrator"})
ANNOTATORS = frozenset({"annotator"})
ADJUDICATORS = frozenset({"adjudicator"})
ASSIGNED = frozenset({"annotator", "reader"})

OWN = "{own}"
"""Stands for the assignment of the one who asks: the annotator works, the adjudicator adjudicates, the reader reads."""

TABLE: dict[tuple[str, str], tuple[Any, frozenset[str]]] = {
    # Route to a body and the roles that get an answer other than 404, with an assignment of their own.
    ("GET", "/api/assignments"): (None, EVERYBODY),
    ("GET", "/api/assignments/{assignment}"): (None, ASSIGNED | ADJUDICATORS),
    ("GET", "/api/assignments/{assignment}/media"): (None, ASSIGNED | ADJUDICATORS),
    ("GET", "/api/assignments/{assignment}/waveform"): (None, ASSIGNED | ADJUDICATORS),
    ("POST", "/api/assignments/{assignment}/changes"): ("change", ASSIGNED | ADJUDICATORS),
    ("GET", "/api/assignments/{assignment}/changes"): (None, ASSIGNED | ADJUDICATORS),
    ("POST", "/api/assignments/{assignment}/check"): ("check", ANNOTATORS),
    ("GET", "/api/assignments/{assignment}/rows/{row_id}/history"): (None, ANNOTATORS),
    ("GET", "/api/assignments/{assignment}/rows/{row_id}/history/{version}"): (None, ANNOTATORS),
    ("GET", "/api/assignments/{assignment}/history"): (None, ASSIGNED | ADJUDICATORS),
    ("POST", "/api/assignments/{assignment}/done"): ({"done": True}, ASSIGNED | ADJUDICATORS),
    ("GET", "/api/assignments/{assignment}/versions"): (None, ADJUDICATORS),
    ("GET", "/api/guidelines"): (None, EVERYBODY),
    ("GET", "/api/ratings"): (None, EVERYBODY),
    ("GET", "/api/ratings/{batch}"): (None, frozenset()),
    ("PUT", "/api/ratings/{batch}/items/{item}"): ({"score": 3}, frozenset()),
    ("GET", "/api/users"): (None, ADMINISTRATORS),
    ("POST", "/api/users"): ({"name": "new", "role": "reader"}, ADMINISTRATORS),
    ("PATCH", "/api/users/{user_id}"): ({"role": "reader"}, ADMINISTRATORS),
    ("GET", "/api/conversations"): (None, ADMINISTRATORS),
    ("POST", "/api/conversations/{key}/assignments"): ({"user_id": 1, "task": "read"}, ADMINISTRATORS),
    ("DELETE", "/api/conversations/{key}/assignments/{assignment}"): (None, frozenset()),
    ("POST", "/api/conversations/{key}/export"): ({}, ADMINISTRATORS),
    ("GET", "/api/batches"): (None, ADMINISTRATORS),
    ("POST", "/api/batches"): ({"title": "x", "runs": ["none"], "user_ids": [1]}, ADMINISTRATORS),
    ("POST", "/api/batches/{batch}/export"): ({}, frozenset()),
    ("GET", "/api/audit"): (None, ADMINISTRATORS),
}
PAGES = {("GET", path) for path in (
    "/", "/sign-in", "/work/{_}", "/adjudicate/{_}", "/rate", "/rate/{_}", "/admin",
)}  # fmt: skip
OPEN = {("GET", "/api/session"), ("POST", "/api/session")}
SESSION = {("DELETE", "/api/session"), ("POST", "/api/session/password")}


@pytest.fixture
def peopled(house: House) -> House:
    """One person a role, each with what the role is for on the same conversation."""
    for role in ROLES:
        house.add(role, role)
    house.assign("annotator")
    house.assign("adjudicator", task="adjudicate")
    house.assign("reader", task="read")
    return house


def _routes(routes: Any) -> Iterator[tuple[str, str]]:
    """Every route of the application: method and address. A kind that is not known here fails."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from _routes(inner.routes)
        elif isinstance(route, APIRoute):
            yield from ((method, route.path) for method in sorted(route.methods or ()))
        elif isinstance(route, Mount) and isinstance(route.app, StaticFiles):
            yield "MOUNT", route.path
        else:
            raise AssertionError(route)


def _own_assignment(person: Person) -> str:
    found = person.get("/api/assignments")["assignments"]
    return found[0]["id"] if found else str(uuid4())


def _filled(path: str, *, assignment: str, row_id: str) -> str:
    values = {
        "assignment": assignment,
        "row_id": row_id,
        "version": "1",
        "batch": str(uuid4()),
        "item": str(uuid4()),
        "user_id": "2",
        "key": "pair",
    }
    return re.sub(r"\{(\w+)\}", lambda match: values[match[1]], path)


def _body(kind: Any, row_id: str) -> Any:
    if kind == "change":
        return {"change_id": str(uuid4()), "edits": [{"op": "edit", "row_id": row_id, "base_version": 1, "fields": {}}]}
    return {"row_id": row_id, "fields": {}} if kind == "check" else kind


def test_the_table_names_every_route(house: House) -> None:
    assert set(_routes(house.app.routes)) == set(TABLE) | OPEN | SESSION | PAGES | {("MOUNT", "/static")}


def test_a_new_route_without_an_entry_is_found(house: House) -> None:
    before = set(_routes(house.app.routes))
    house.app.add_api_route("/api/assignments/{assignment}/secrets", lambda: None, methods=["GET"])
    router = APIRouter(prefix="/api")
    router.add_api_route("/others", lambda: None, methods=["POST"])
    house.app.include_router(router)
    new = set(_routes(house.app.routes)) - before
    assert new == {("GET", "/api/assignments/{assignment}/secrets"), ("POST", "/api/others")}
    house.app.router.routes.append(WebSocketRoute("/api/listen", lambda socket: None))
    with pytest.raises(AssertionError):
        set(_routes(house.app.routes))


@pytest.mark.parametrize("role", [None, *ROLES])
def test_pages_are_the_same_for_everybody_and_hold_nothing(peopled: House, role: str | None) -> None:
    person = peopled.browser(role or "nobody", signed_in=role is not None)
    shown = set()
    for method, path in PAGES:
        answer = person.ask(method, path.replace("{_}", _own_assignment(person) if role else str(uuid4())))
        assert answer.status_code == 200, path
        shown.add(answer.text)
    assert shown == {peopled.browser(signed_in=False).ask("GET", "/").text}


def test_no_route_answers_without_a_session(peopled: House) -> None:
    stranger = peopled.browser(signed_in=False)
    for method, path in (*TABLE, *SESSION):
        kind, _ = TABLE.get((method, path), (None, None))
        answer = stranger.ask(
            method, _filled(path, assignment=str(uuid4()), row_id=str(uuid4())), _body(kind, str(uuid4()))
        )
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "signed_out"), (method, path)


@pytest.mark.parametrize("role", ROLES)
def test_every_route_with_every_role(peopled: House, role: str) -> None:
    person = peopled.browser(role)
    assignment = _own_assignment(person)
    row_id = str(uuid4())
    if role == "annotator":
        row_id = person.get(f"/api/assignments/{assignment}")["rows"][0]["row_id"]
    wrong = {}
    for (method, path), (kind, allowed) in TABLE.items():
        answer = person.ask(method, _filled(path, assignment=assignment, row_id=row_id), _body(kind, row_id))
        assert answer.status_code < 500, (method, path, answer.text)
        there = not (answer.status_code == 404 and answer.json()["error"]["code"] == "not_found")
        if there != (role in allowed):
            wrong[method, path] = answer.status_code
    assert wrong == {}


@pytest.mark.parametrize("role", ROLES)
def test_what_belongs_to_others_looks_like_what_does_not_exist(peopled: House, role: str) -> None:
    owner = next(name for name in ("annotator", "reader") if name != role)
    theirs = _own_assignment(peopled.browser(owner))
    person = peopled.browser(role)
    for (method, path), (kind, _) in TABLE.items():
        if "/assignments/{assignment}" not in path or path.startswith("/api/conversations"):
            continue
        row_id = str(uuid4())
        bodies = _body(kind, row_id)
        found = person.ask(method, _filled(path, assignment=theirs, row_id=row_id), bodies)
        nothing = person.ask(method, _filled(path, assignment=str(uuid4()), row_id=row_id), bodies)
        assert (found.status_code, found.content) == (nothing.status_code, nothing.content), (method, path)
        assert found.status_code == 404
        assert set(found.headers) == set(nothing.headers)


def test_an_annotator_never_sees_another_ones_answer(house: House) -> None:
    people = {}
    for name in ("ann", "bob"):
        house.add(name)
        people[name] = (house.browser(name), house.assign(name))
    ann, hers = people["ann"]
    bob, his = people["bob"]
    complete(ann, hers, tone_of_voice="a secret of ann")
    ann.post(f"/api/assignments/{hers}/done", {"done": True})
    house.add("boss", "administrator")
    house.browser("boss").post("/api/conversations/pair/export", {})
    row = ann.get(f"/api/assignments/{hers}")["rows"][0]["row_id"]
    seen = [
        bob.ask("GET", path).text
        for path in (
            "/api/assignments", f"/api/assignments/{his}", f"/api/assignments/{his}/history",
            f"/api/assignments/{his}/versions", f"/api/assignments/{hers}", f"/api/assignments/{hers}/history",
            f"/api/assignments/{his}/rows/{row}/history", f"/api/assignments/{his}/changes?since=0",
            "/api/conversations", "/api/audit",
        )
    ]  # fmt: skip
    assert not any("a secret of ann" in text for text in seen)
    # Nor by being given another task, or a fresh layer made of her exported file.
    with pytest.raises(Exception, match="has a task on this conversation already"):
        house.assign("bob", task="read")
    house.add("cleo")
    cleo, third = house.browser("cleo"), house.assign("cleo")
    assert "a secret of ann" not in cleo.ask("GET", f"/api/assignments/{third}").text


def test_a_broken_file_of_another_annotator_is_told_to_administrators_alone(house: House) -> None:
    house.add("boss", "administrator")
    boss = house.browser("boss")
    key = "/api/conversations/pair/assignments"
    waiting = {}
    for name in ("ann", "bob"):
        house.add(name)
        waiting[name] = house.assign(name)
    folder = house.project.raw / "pair" / "annotations"
    folder.mkdir()
    (folder / "zoe.json").write_text('{"rows": [{"row_index": 1, "dialogue_cleaned": "a secret of zoe"', "utf-8")
    (folder / "zoe.csv").write_text("what,ever\na secret of zoe,1\n", "utf-8")
    for name in ("ann", "bob"):  # the first rows are made now
        answer = house.browser(name).ask("GET", f"/api/assignments/{waiting[name]}")
        assert answer.status_code == 200
        assert len(answer.json()["rows"]) == 4
        assert "zoe" not in answer.text
    (notes,) = [one["notes"] for one in boss.get("/api/conversations")["conversations"] if one["id"] == "pair"]
    assert ["zoe.csv" in notes[0], "zoe.json" in notes[1]] == [True, True]
    # Where a draft is asked for, only who asks on the office's side reads which file is at fault.
    house.add("cleo")
    body = {"user_id": house.users["cleo"].id, "task": "independent", "source": "draft"}
    assert "zoe.json" in boss.post(key, body, 422)["error"]["hint"]
    assert "draft" not in boss.get("/api/conversations")["conversations"][0]["sources"]


def test_a_draft_that_breaks_after_it_was_given_names_no_file(house: House) -> None:
    draft = write_draft(house.project.workspace("pair"))
    house.add("ann")
    work = house.assign("ann", source="draft")
    draft.write_text("{", "utf-8")
    error = house.browser("ann").get(f"/api/assignments/{work}", 422)["error"]
    assert "there is no draft to begin with" in error["message"]
    assert draft.stem not in str(error)


def test_who_has_seen_answers_cannot_annotate_independently(peopled: House) -> None:
    boss = peopled.browser("administrator")
    key = "/api/conversations/pair/assignments"
    mine = next(
        one for one in boss.get("/api/conversations")["conversations"][0]["assignments"] if one["user"] == "reader"
    )
    assert boss.ask("DELETE", f"{key}/{mine['id']}").status_code == 204
    boss.ask("PATCH", f"/api/users/{mine['user_id']}", {"role": "annotator"})
    told = boss.post(key, {"user_id": mine["user_id"], "task": "independent"}, 409)
    assert "may have seen" in told["error"]["message"]


def test_a_withdrawn_assignment_is_gone_for_its_person(peopled: House) -> None:
    annotator, boss = peopled.browser("annotator"), peopled.browser("administrator")
    mine = _own_assignment(annotator)
    annotator.get(f"/api/assignments/{mine}")
    boss.ask("DELETE", f"/api/conversations/pair/assignments/{mine}")
    annotator.get(f"/api/assignments/{mine}", 404)
    assert annotator.ask("GET", f"/api/assignments/{mine}/media").status_code == 404


@pytest.mark.parametrize("token", ["", "0" * 64, "é", None])
def test_a_change_needs_the_token_of_its_own_session(peopled: House, token: str | None) -> None:
    annotator, other = peopled.browser("annotator"), peopled.browser("administrator")
    mine = _own_assignment(annotator)
    row = annotator.get(f"/api/assignments/{mine}")["rows"][0]
    body = _body("change", row["row_id"])
    headers = {} if token is None else {"X-CSRF-Token": token.encode()}
    answer = annotator.client.post(f"/api/assignments/{mine}/changes", json=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "csrf")
    forged = annotator.client.post(f"/api/assignments/{mine}/changes", json=body, headers={"X-CSRF-Token": other.csrf})
    assert forged.status_code == 403


def test_forged_and_ended_sessions_are_none(peopled: House) -> None:
    person = peopled.browser("annotator")
    cookie = person.client.cookies["rescue_session"]
    payload, _, signature = cookie.rpartition(".")
    # The first letter: the last one of 32 bytes in base64 has bits that say nothing.
    changed = f"{payload}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"
    other_key = URLSafeSerializer(b"another key", salt="session", signer_kwargs={"digest_method": sha256})
    token = other_key.loads_unsafe(cookie)[1]
    for forged in (changed, other_key.dumps(token), "x", payload, f"{payload}.", '"1".x'):
        stranger = TestClient(peopled.app, base_url=ORIGIN, cookies={"rescue_session": forged})
        assert stranger.get("/api/assignments").status_code == 401
    assert person.ask("DELETE", "/api/session").status_code == 204
    again = TestClient(peopled.app, base_url=ORIGIN, cookies={"rescue_session": cookie})
    assert again.get("/api/assignments").status_code == 401


def test_the_cookie_is_out_of_reach_of_scripts_and_other_pages(house: House) -> None:
    house.add("ann")
    answer = TestClient(house.app, base_url=ORIGIN).post("/api/session", json={"name": "ann", "password": PASSWORD})
    cookie = answer.headers["set-cookie"].casefold()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    secure = TestClient(house.app, base_url="https://localhost").post(
        "/api/session", json={"name": "ann", "password": PASSWORD}
    )
    assert "secure" in secure.headers["set-cookie"].casefold()
    assert "strict-transport-security" in secure.headers


def test_a_disabled_person_and_a_changed_password_end_every_session(peopled: House) -> None:
    annotator, boss = peopled.browser("annotator"), peopled.browser("administrator")
    body = {"current": PASSWORD, "new": "another long password"}
    second = peopled.browser("annotator")
    annotator.csrf = annotator.post("/api/session/password", body)["csrf"]
    assert second.get("/api/assignments", 401)["error"]["code"] == "signed_out"
    annotator.get("/api/assignments")
    boss.ask("PATCH", f"/api/users/{peopled.users['annotator'].id}", {"disabled": True})
    annotator.get("/api/assignments", 401)
    with pytest.raises(AssertionError, match="wrong_credentials"):
        annotator.sign_in("another long password")


def test_a_one_time_password_is_good_for_nothing_but_a_new_one(house: House) -> None:
    house.add("boss", "administrator")
    made = house.browser("boss").post("/api/users", {"name": "ann", "role": "annotator"}, 201)
    ann = house.browser("ann", signed_in=False)
    ann.sign_in(made["password"])
    assert ann.get("/api/assignments", 403)["error"]["code"] == "password_change_needed"
    short = ann.post("/api/session/password", {"current": made["password"], "new": "short"}, 422)
    assert "5 characters" in short["error"]["message"]
    ann.post("/api/session/password", {"current": made["password"], "new": PASSWORD})
    assert ann.get("/api/assignments") == {"assignments": []}


def _end_one_time_passwords(house: House) -> None:
    with house.database.writing() as connection:
        known = connection.execute(select(users.c.id, users.c.password_ends_at)).all()
        for one in known:
            if one.password_ends_at is not None:
                ended = moment(datetime.fromisoformat(one.password_ends_at) - timedelta(days=7, seconds=1))
                connection.execute(update(users).where(users.c.id == one.id).values(password_ends_at=ended))


def test_a_one_time_password_ends(either: House) -> None:
    either.add("boss", "administrator")
    boss = either.browser("boss")
    made = boss.post("/api/users", {"name": "ann", "role": "annotator"}, 201)
    again = boss.ask("PATCH", f"/api/users/{made['user']['id']}", {"reset_password": True}).json()
    for password in (made["password"], again["password"]):
        _end_one_time_passwords(either)
        client = TestClient(either.app, base_url=ORIGIN)
        answer = client.post("/api/session", json={"name": "ann", "password": password})
        assert answer.status_code == 401
        # Whoever only guesses does not learn that there was such a password.
        wanted = "password_ended" if password == again["password"] else "wrong_credentials"
        assert answer.json()["error"]["code"] == wanted
        assert "rescue_session" not in client.cookies
    fresh = boss.ask("PATCH", f"/api/users/{made['user']['id']}", {"reset_password": True}).json()["password"]
    ann = either.browser("ann", signed_in=False)
    ann.sign_in(fresh)
    ann.post("/api/session/password", {"current": fresh, "new": PASSWORD})
    _end_one_time_passwords(either)
    either.browser("ann")  # a password of one's own stays
    either.browser("boss")


def test_how_long_a_one_time_password_lives_is_a_setting(project: Project) -> None:
    database = project.open()
    settings = project.settings
    section = settings.review.model_copy(update={"one_time_password_days": 0.5})
    app = create_app(settings.model_copy(update={"review": section}), database)
    assert app.state.one_time_life == timedelta(hours=12)
    with database.writing() as connection:
        add_user(connection, "ann", Role.ANNOTATOR, life=app.state.one_time_life)
        (ends,) = connection.execute(select(users.c.password_ends_at)).one()
    database.close()
    left = datetime.fromisoformat(ends) - datetime.now(UTC)
    assert timedelta(hours=11.9) < left <= timedelta(hours=12)


@pytest.fixture
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords that are checked fast enough to be guessed a hundred times."""
    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(accounts, "_hasher", lambda: quick)


def _try(house: House, address: str, name: str, password: str) -> int:
    client = TestClient(house.app, base_url=ORIGIN, client=(address, 4000))
    return client.post("/api/session", json={"name": name, "password": password}).status_code


@pytest.mark.usefixtures("quick_hashes")
def test_guessing_keeps_nobody_out_who_comes_from_elsewhere(house: House) -> None:
    house.add("ann")
    assert [_try(house, "203.0.113.7", "ann", "a guess") for _ in range(6)] == [401] * 5 + [429]
    assert _try(house, "203.0.113.7", "ann", PASSWORD) == 429
    assert _try(house, "198.51.100.4", "ann", PASSWORD) == 200
    # From many addresses: the name is slower for everybody then, and open all the same.
    codes = [_try(house, f"192.0.2.{number % 250}", "ann", "a guess") for number in range(60)]
    assert codes.count(401) >= 45
    late = [_try(house, "198.51.100.5", "ann", "a guess") for _ in range(3)]
    assert late == [401, 401, 429]
    assert _try(house, "198.51.100.6", "ann", PASSWORD) == 200


@pytest.mark.usefixtures("quick_hashes")
def test_one_address_cannot_try_all_names(house: House) -> None:
    codes = [_try(house, "203.0.113.7", f"name{number}", "a guess") for number in range(32)]
    assert codes == [401] * 30 + [429] * 2


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:203.0.113.7", "203.0.113.7", True),
        ("203.0.113.7", "203.0.113.8", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
    ],
)
@pytest.mark.usefixtures("quick_hashes")
def test_the_addresses_of_one_network_count_as_one(house: House, first: str, second: str, *, together: bool) -> None:
    house.add("ann")
    for _ in range(5):
        _try(house, first, "ann", "a guess")
    assert _try(house, second, "ann", PASSWORD) == (429 if together else 200)


def test_a_new_password_forgets_what_others_tried(house: House) -> None:
    house.add("boss", "administrator")
    house.add("ann")
    for _ in range(6):
        _try(house, "testclient", "ann", "a guess")
    boss = house.browser("boss")
    told = boss.ask("PATCH", f"/api/users/{house.users['ann'].id}", {"reset_password": True}).json()["password"]
    house.browser("ann", signed_in=False).sign_in(told)


def test_guessing_is_stopped_and_others_still_come_in(house: House) -> None:
    house.add("ann")
    house.add("bob")
    client = TestClient(house.app, base_url=ORIGIN)
    codes = [
        client.post("/api/session", json={"name": "ANN", "password": f"guess {number}"}).status_code
        for number in range(7)
    ]
    assert codes == [401] * 5 + [429] * 2
    blocked = client.post("/api/session", json={"name": "ann", "password": PASSWORD})
    assert blocked.status_code == 429
    assert 0 < int(blocked.headers["retry-after"]) <= 900
    house.browser("bob")


def test_passwords_are_argon2_and_tokens_are_not_stored(house: House) -> None:
    house.add("ann")
    ann = house.browser("ann")
    with house.database.reading() as connection:
        (person,) = connection.execute(users.select())
        (session,) = connection.execute(sessions.select())
    assert person.password_hash.startswith("$argon2id$")
    assert session.digest not in ann.client.cookies["rescue_session"]
    assert oct((house.project.settings.review_dir / "secret.key").stat().st_mode)[-3:] == "600"
    assert oct(house.project.settings.review_dir.stat().st_mode)[-3:] == "700"


@pytest.fixture
def lax() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def _open_to_others(*places: Path) -> list[str]:
    found = [path for place in places for path in (place, *place.rglob("*"))]
    return [str(path.relative_to(path.parents[2])) for path in found if path.stat().st_mode & 0o077]


@pytest.mark.usefixtures("lax")
def test_files_are_for_their_owner_alone_whatever_the_umask(house: House) -> None:
    house.add("ann")
    house.add("boss", "administrator")
    ann, boss, work = house.browser("ann"), house.browser("boss"), house.assign("ann")
    ann.client.get(f"/api/assignments/{work}/waveform")
    complete(ann, work)
    ann.post(f"/api/assignments/{work}/done", {"done": True})
    boss.post("/api/conversations/pair/export", {})
    workspace = house.project.workspace("pair")
    review = house.project.settings.review_dir
    assert {path.name for path in review.iterdir()} >= {"review.db", "review.db-wal", "secret.key", "waveform"}
    files = [path for path in review.rglob("*") if path.is_file()]
    exported = [workspace.raw / "annotations/ann.json", workspace.raw / "annotations.json"]
    for path in (*files, *exported, workspace.artifact("review.json")):
        assert oct(path.stat().st_mode)[-3:] == "600", path
    assert oct(review.stat().st_mode)[-3:] == "700"


@pytest.mark.usefixtures("lax")
def test_rights_that_others_have_are_taken_away_at_the_start(house: House) -> None:
    house.database.close()
    review = house.project.settings.review_dir
    (review / "ratings").mkdir()
    (review / "ratings" / "some.csv").write_text("x", "utf-8")
    for path in (review, review / "review.db", review / "secret.key"):
        path.chmod(0o777)
    found = private_tree(review)
    assert set(found) >= {".", "review.db", "secret.key", "ratings", "ratings/some.csv"}
    assert _open_to_others(review) == []
    assert private_tree(review) == []


@pytest.mark.parametrize("path", ["/", "/sign-in", "/api/session", "/static/icon.svg", "/nothing", "/api/assignments"])
def test_every_answer_bears_the_policy(house: House, path: str) -> None:
    headers = TestClient(house.app, base_url=ORIGIN).get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../pyproject.toml", "/static/%2e%2e/%2e%2e/settings.py", "/static/..%2f..%2fsettings.py",
        "/api/assignments/..%2f..%2fusers", "/api/assignments/../users", "/api/assignments/%00",
        "/work/../../etc/passwd",
        "/api/conversations/..%2f..%2fpair/export", "/static//etc/passwd", "/static/%2fetc/passwd",
    ],
)  # fmt: skip
def test_no_address_leads_out_of_the_page(peopled: House, path: str) -> None:
    person = peopled.browser("annotator")
    answer = person.ask("GET", path)
    assert answer.status_code in (200, 404)
    if answer.status_code == 200:
        assert '<div id="app">' in answer.text
    assert "root:" not in answer.text
    assert "BaseSettings" not in answer.text


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "[", "[::1", "a@127.0.0.1", "127.0.0.1/../x", "127.0.0.1:x"]
)
def test_another_name_for_this_server_is_refused(house: House, host: str) -> None:
    answer = TestClient(house.app, base_url=ORIGIN).get("/api/session", headers={"host": host})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}]
)
def test_a_sign_in_from_another_page_is_refused(house: House, headers: dict[str, str]) -> None:
    house.add("ann")
    client = TestClient(house.app, base_url=ORIGIN)
    answer = client.post("/api/session", json={"name": "ann", "password": PASSWORD}, headers=headers)
    assert answer.status_code == 400


def test_bodies_have_a_limit_and_a_form(house: House) -> None:
    client = TestClient(house.app, base_url=ORIGIN)
    large = client.post("/api/session", content=b" " * (MAX_BODY + 1), headers={"content-type": "application/json"})
    assert large.status_code == 413
    assert client.post("/api/session", content=b"{", headers={"content-type": "application/json"}).status_code == 400
    extra = client.post("/api/session", json={"name": "a", "password": "secret", "admin": True})
    assert extra.status_code == 422
    assert "secret" not in extra.text


MARKUP = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}"


def test_markup_in_every_text_field_stays_text(peopled: House) -> None:
    person = peopled.browser("annotator")
    mine = _own_assignment(person)
    row = person.get(f"/api/assignments/{mine}")["rows"][0]
    fields = {
        "primary_speaker": MARKUP, "target": [MARKUP], "dialogue_cleaned": MARKUP, "utterance_type": MARKUP,
        "tone_of_voice": MARKUP, "relation_pattern": MARKUP, "relation_pattern_reason": MARKUP,
        "relation_cycle_state": MARKUP, "relation_cycle_reason": MARKUP,
        "background_dialogue": [{"speaker": MARKUP, "target": [MARKUP], "content": MARKUP}],
        "body_posture": [{"person": MARKUP, "description": MARKUP}],
        "facial_expressions": [{"person": MARKUP, "description": MARKUP}],
        "self_directed_behavior": [{"person": MARKUP, "description": MARKUP}],
        "interaction_behavior": [{"initiator": MARKUP, "target": [MARKUP], "description": MARKUP}],
        "internal_emotion": [{"person": MARKUP, "emotion_description": MARKUP, "intensity": 3.0}],
        "viewpoints_attitudes": [{"source": MARKUP, "target": MARKUP, "viewpoint": MARKUP, "attitude": MARKUP}],
        "support_strategy": [
            {"provider": MARKUP, "target": [MARKUP], "strategy_type": MARKUP, "strategy_content": MARKUP}
        ],
    }  # fmt: skip
    answer = person.ask(
        "POST", f"/api/assignments/{mine}/changes", {"change_id": str(uuid4()), "edits": [edit(row, **fields)]}
    )
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    saved = answer.json()["rows"][0]["fields"]
    assert {name: saved[name] for name in fields} == fields
    reason = {"op": "discard", "row_id": row["row_id"], "base_version": 2, "reason": MARKUP}
    assert person.save(mine, reason)["rows"][0]["discard_reason"] == MARKUP
    # Nothing of it, nor of the title of the conversation, is ever in a page: pages hold no data.
    assert "script>alert" not in person.client.get(f"/work/{mine}").text


def test_nothing_secret_is_logged(peopled: House, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        person = peopled.browser("annotator")
        mine = _own_assignment(person)
        row = person.get(f"/api/assignments/{mine}")["rows"][0]
        person.save(mine, edit(row, tone_of_voice="something private"))
        person.ask("POST", "/api/session", {"name": "annotator", "password": "a wrong password"})
    ours = "\n".join(
        record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))
    )
    for secret in (
        PASSWORD,
        "a wrong password",
        person.csrf,
        person.client.cookies["rescue_session"],
        "something private",
    ):
        assert secret not in ours


def test_the_audit_log_says_who_opened_what(peopled: House) -> None:
    person, boss = peopled.browser("annotator"), peopled.browser("administrator")
    mine = _own_assignment(person)
    person.get(f"/api/assignments/{mine}")
    person.ask("GET", f"/api/assignments/{mine}/media")
    entries = boss.get("/api/audit?limit=1000")["entries"]
    seen = [(one["user"], one["action"], one["conversation"]) for one in entries]
    assert ("annotator", "open", "pair") in seen
    assert ("annotator", "play", "pair") in seen
    assert ("annotator", "sign_in", None) in seen
    older = boss.get(f"/api/audit?limit=1&before={entries[0]['id']}")["entries"]
    assert older == entries[1:2]


@pytest.mark.parametrize(
    "asked", ["bytes=0-", "bytes=1-", "bytes=-99999999", "Bytes=0-", "bytes= 0-", "bytes=00-", "bytes=1-,0-0"]
)
def test_a_recording_leaves_an_entry_however_it_is_asked_for(peopled: House, asked: str) -> None:
    person, boss = peopled.browser("annotator"), peopled.browser("administrator")
    mine = _own_assignment(person)
    for _ in range(3):
        person.ask("GET", f"/api/assignments/{mine}/media", range=asked)
    entries = boss.get("/api/audit?limit=1000")["entries"]
    assert [(one["user"], one["action"]) for one in entries if one["action"] == "play"] == [("annotator", "play")]


def test_reading_what_is_saved_leaves_an_entry_too(peopled: House) -> None:
    person, boss = peopled.browser("annotator"), peopled.browser("administrator")
    mine = _own_assignment(person)
    person.get(f"/api/assignments/{mine}")
    person.get(f"/api/assignments/{mine}/history")
    person.ask("DELETE", "/api/session")
    seen = {(one["user"], one["action"]) for one in boss.get("/api/audit?limit=1000")["entries"]}
    assert {("annotator", "open"), ("annotator", "history"), ("annotator", "sign_out")} <= seen


@pytest.mark.parametrize("way", ["changes?since=1", "rows/{row}/history", "rows/{row}/history/1"])
def test_no_way_to_the_words_leaves_no_entry(peopled: House, way: str) -> None:
    person, boss = peopled.browser("annotator"), peopled.browser("administrator")
    mine = _own_assignment(person)
    rows = person.get(f"/api/assignments/{mine}")["rows"]
    with peopled.database.writing() as connection:
        connection.execute(delete(audit).where(audit.c.action.in_(("open", "history"))))
    for _ in range(2):
        person.get(f"/api/assignments/{mine}/{way.format(row=rows[0]['row_id'])}")
    seen = [one["action"] for one in boss.get("/api/audit?limit=1000")["entries"] if one["user"] == "annotator"]
    assert len([action for action in seen if action in ("open", "history")]) == 1


def test_the_current_password_cannot_be_guessed_without_end(peopled: House) -> None:
    person, boss = peopled.browser("annotator"), peopled.browser("administrator")
    body = {"current": "not this one", "new": "a password that is long"}
    codes = [person.ask("POST", "/api/session/password", body).status_code for _ in range(8)]
    assert codes[0] == 401
    assert codes[-1] == 429
    entries = boss.get("/api/audit?limit=1000")["entries"]
    assert ("annotator", "change_password_failed") in {(one["user"], one["action"]) for one in entries}


def test_the_last_administrator_stays(house: House) -> None:
    house.add("boss", "administrator")
    boss = house.browser("boss")
    told = boss.ask("PATCH", f"/api/users/{house.users['boss'].id}", {"role": "reader"})
    assert told.status_code == 409


def test_no_request_is_handed_to_telemetry(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry import trace

    started: list[str] = []

    class Tracer(trace.NoOpTracer):
        def start_span(self, name: str, *args: Any, **kwargs: Any) -> Any:
            started.append(name)
            return super().start_span(name, *args, **kwargs)

    class Provider(trace.NoOpTracerProvider):
        def get_tracer(self, *args: Any, **kwargs: Any) -> Any:
            return Tracer()

    monkeypatch.setattr(trace, "get_tracer_provider", Provider)
    TestClient(House(house.project).app, base_url=ORIGIN).get("/api/session")
    assert started == []


def test_odd_characters_in_names_and_addresses_are_no_fault(either: House) -> None:
    either.add("boss", "administrator")
    boss = either.browser("boss")
    for path in ("/api/assignments/%00", "/api/ratings/%ED%A0%80", "/api/assignments/x%00/media", "/work/%00"):
        assert boss.ask("GET", path).status_code in (200, 404), path
    headers = {"content-type": "application/json", "X-CSRF-Token": boss.csrf}
    for name in (r"a\u0000b", r"\ud83d", "x" * 150, "", "../../etc"):
        for path, body in (
            ("/api/session", f'{{"name": "{name}", "password": "{name}"}}'),
            ("/api/users", f'{{"name": "{name}", "role": "reader"}}'),
            ("/api/conversations/pair/assignments", f'{{"user_id": 1, "task": "{name}"}}'),
            ("/api/batches", f'{{"title": "{name}", "runs": ["{name}"], "user_ids": [1]}}'),
        ):
            answer = boss.client.post(path, content=body.encode(), headers=headers)
            assert 400 <= answer.status_code < 500, (path, name, answer.text)
