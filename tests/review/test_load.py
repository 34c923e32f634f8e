"""Many windows at once, and a server that is killed between saves."""

from __future__ import annotations

import pytest

from tests.review.load import under_load
from tests.review.made import House, Project


def _people(project: Project, names: tuple[str, ...]) -> dict[str, str]:
    house = House(project)
    try:
        for name in names:
            house.add(name)
        made = {name: house.assign(name) for name in names}
        for name, assignment in made.items():
            house.browser(name).get(f"/api/assignments/{assignment}")
    finally:
        house.database.close()
    return made


@pytest.mark.slow
def test_no_acknowledged_change_is_lost_and_none_applied_twice(project: Project, address: str | None) -> None:
    project.database_address = address
    people = _people(project, ("ann", "bob"))
    clients, found = under_load(project, people, windows=3, kills=3)
    assert found["acknowledged"] > 20
    assert found["refused"] > 0, "windows never met on a field: the test tests nothing"
    assert found["resent"] > 0, "no change was on its way when the server died: the test tests nothing"
    assert all(client.acknowledged for client in clients)
