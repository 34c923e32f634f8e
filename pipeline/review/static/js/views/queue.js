// My conversations: what waits, how far it is.

import * as api from "../api.js";
import { h } from "../dom.js";
import { clock, moment } from "../times.js";

const TASKS = { independent: "annotate", adjudicate: "adjudicate", read: "read only" };

function address({ id, task }) {
  return `${task === "adjudicate" ? "/adjudicate/" : "/work/"}${encodeURIComponent(id)}`;
}

function line(one) {
  const { conversation, progress, task, waiting } = one;
  const share = progress.rows ? progress.verified / progress.rows : 0;
  const ready = task !== "adjudicate" || !waiting;
  const state = one.done
    ? h("span.tag.good", {}, "✓ done")
    : !ready
      ? h("span.tag.warning", {}, `waits for ${waiting} annotator${waiting === 1 ? "" : "s"}`)
      : progress.verified
        ? h("span.tag.info", {}, "in work")
        : h("span.tag", {}, "not begun");
  const name = conversation.title || conversation.id;
  const length = conversation.duration && clock(conversation.duration, 0);
  const kind = conversation.has_video ? "video" : conversation.has_audio ? "sound" : "no recording";
  return h(
    "tr",
    {},
    h(
      "td",
      {},
      ready ? h("a", { href: address(one) }, name) : name,
      h("div.hint", {}, [conversation.id, conversation.scenario, kind, length].filter(Boolean).join(" · ")),
    ),
    h("td", {}, TASKS[task]),
    h(
      "td",
      {},
      h(
        "div.line",
        {},
        h("progress", { max: 1, value: share, "aria-label": `${name}: ${Math.round(share * 100)} % verified` }),
        h("span", {}, `${progress.verified} of ${progress.rows}`),
      ),
      progress.discarded ? h("div.hint", {}, `${progress.discarded} discarded`) : null,
    ),
    h("td", {}, state),
    h("td.hint", {}, one.changed_at ? moment(one.changed_at) : "–"),
  );
}

export async function queue(user) {
  const { assignments } = await api.assignments();
  const open = assignments.filter((one) => !one.done);
  const next = open.find((one) => one.task !== "adjudicate" || !one.waiting);
  return h(
    "main.page",
    {},
    h(
      "header",
      {},
      h("h1", {}, "My conversations"),
      h("p", {}, assignments.length ? `${open.length} open, ${assignments.length - open.length} done` : ""),
      h("span.grow"),
      next ? h("a.button.primary", { href: address(next) }, "Go on with the next one") : null,
    ),
    assignments.length
      ? h(
          "div.table-frame",
          {},
          h(
            "table",
            {},
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ["Conversation", "Task", "Verified rows", "State", "Last change"].map((name) =>
                  h("th", { scope: "col" }, name),
                ),
              ),
            ),
            h("tbody", {}, [...open, ...assignments.filter((one) => one.done)].map(line)),
          ),
        )
      : h(
          "div.card.empty",
          {},
          h("p", {}, "No conversation is assigned to you yet."),
          user.role === "administrator"
            ? h("p", {}, h("a", { href: "/admin" }, "Assign one under Administration"))
            : h("p", {}, "An administrator assigns them."),
        ),
  );
}
