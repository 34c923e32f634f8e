// Administration: people, who works on what, sets to rate, and who opened what.

import * as api from "../api.js";
import { confirm, dialog, failed, load, note } from "../dialogs.js";
import { fill, freshId, h } from "../dom.js";
import { clock, moment } from "../times.js";

const ROLES = ["annotator", "adjudicator", "reader", "administrator"];
const TASKS = { independent: "annotate independently", adjudicate: "adjudicate", read: "read only" };
const SOURCES = {
  auto: "best there is",
  turns: "machine turns",
  annotation: "annotation",
  draft: "model's draft",
  empty: "nothing",
};
const TABS = [
  ["conversations", "Conversations", conversations],
  ["users", "People", users],
  ["batches", "Ratings", batches],
  ["audit", "Audit log", audit],
];

const options = (values, chosen) =>
  values.map(([value, name]) => h("option", { value, selected: value === chosen }, name));
const field = (name, input) => h("div.field", {}, h("label", { for: input.id }, name), input);
const select = (values, chosen, more = {}) => h("select", { id: freshId("select"), ...more }, options(values, chosen));
const head = (names) =>
  h(
    "thead",
    {},
    h(
      "tr",
      {},
      names.map((name) => h("th", { scope: "col" }, name)),
    ),
  );

export async function admin(user) {
  const panel = h("div", { role: "tabpanel", id: freshId("panel") });
  const tabs = TABS.map(([key, name]) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${key}`,
        "aria-controls": panel.id,
        data: { key },
        on: { click: () => show(key) },
      },
      name,
    ),
  );
  const list = h("div.tabs", { role: "tablist", "aria-label": "Administration" }, tabs);
  const show = (wanted) => {
    const [key, , view] = TABS.find(([one]) => one === wanted) ?? TABS[0];
    history.replaceState(null, "", `#${key}`);
    for (const tab of tabs) {
      const chosen = tab.dataset.key === key;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `tab-${key}`);
    const again = () =>
      load(
        panel,
        () => view(user, again),
        (element) => element,
      );
    again();
  };
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = tabs.indexOf(document.activeElement);
    const tab = tabs[(at + step + tabs.length) % tabs.length];
    tab.focus();
    tab.click();
  });
  show(location.hash.slice(1));
  return h("main.page", {}, h("header", {}, h("h1", {}, "Administration")), list, panel);
}

/** Run something; then draw again, or say what went wrong. */
async function doing(run, again) {
  try {
    const answer = await run();
    if (again) again();
    return answer;
  } catch (error) {
    failed(error);
    return null;
  }
}

const showPassword = (name, { password, password_days: days }) =>
  dialog(
    `Password of ${name}`,
    (close) => [
      h(
        "p",
        {},
        "It is shown once. Give it to them in person; they choose their own at the first sign-in, ",
        `within ${days} days.`,
      ),
      h("p", {}, h("code.secret", { tabindex: "0" }, password)),
      h("div.actions", {}, h("button.primary", { type: "button", on: { click: () => close() } }, "Noted")),
    ],
    { narrow: true },
  );

// --- people

async function users(me, again) {
  const { users: all } = await api.admin.users();
  const name = h("input", { id: freshId("name"), type: "text", required: true, autocomplete: "off" });
  const role = select(
    ROLES.map((one) => [one, one]),
    "annotator",
  );
  const add = async (event) => {
    event.preventDefault();
    const made = await doing(() => api.admin.addUser(name.value.trim(), role.value));
    if (!made) return;
    await showPassword(made.user.name, made);
    again();
  };
  const reset = async (one) => {
    if (
      !(await confirm(
        `New password for ${one.name}`,
        "Their password ends, and all their sessions.",
        "Make a new password",
      ))
    )
      return;
    const made = await doing(() => api.admin.changeUser(one.id, { reset_password: true }));
    if (made) await showPassword(one.name, made);
  };
  const row = (one) => {
    const chosen = select(
      ROLES.map((key) => [key, key]),
      one.role,
      { "aria-label": `Role of ${one.name}`, disabled: one.id === me.id },
    );
    chosen.addEventListener("change", () => doing(() => api.admin.changeUser(one.id, { role: chosen.value }), again));
    const toggle = () => doing(() => api.admin.changeUser(one.id, { disabled: !one.disabled }), again);
    return h(
      "tr",
      {},
      h("td", {}, one.name, " ", one.disabled ? h("span.tag.warning", {}, "disabled") : null),
      h("td", {}, chosen),
      h("td.hint", {}, one.last_seen_at ? moment(one.last_seen_at) : "never"),
      h(
        "td",
        {},
        h(
          "div.line",
          {},
          h("button.small", { type: "button", on: { click: () => reset(one) } }, "New password"),
          h(
            "button.small",
            { type: "button", disabled: one.id === me.id, on: { click: toggle } },
            one.disabled ? "Enable" : "Disable",
          ),
        ),
      ),
    );
  };
  return [
    h(
      "form.card.form-row",
      { on: { submit: add } },
      field("Name", name),
      field("Role", role),
      h("div", {}, h("button.primary", { type: "submit" }, "Add a person")),
    ),
    h(
      "div.table-frame",
      {},
      h("table", {}, head(["Name", "Role", "Last seen", "Account"]), h("tbody", {}, all.map(row))),
    ),
  ];
}

// --- conversations

async function conversations(me, again) {
  const [{ conversations: all }, { users: people }] = await Promise.all([api.admin.conversations(), api.admin.users()]);
  if (!all.length)
    return h(
      "div.card.empty",
      {},
      "No conversation is here yet. Add one with ",
      h("code", {}, "rescue add"),
      " and build it.",
    );
  return all.map((one) =>
    conversation(
      one,
      people.filter((user) => !user.disabled),
      again,
    ),
  );
}

function conversation(one, people, again) {
  const free = people.filter((user) => !one.assignments.some((given) => given.user_id === user.id));
  const user = select(
    free.map(({ id, name, role }) => [id, `${name} (${role})`]),
    free[0]?.id,
  );
  const task = select(Object.entries(TASKS), "independent");
  const source = select(
    [["auto", SOURCES.auto], ...one.sources.map((key) => [key, SOURCES[key] ?? key]), ["empty", SOURCES.empty]],
    "auto",
  );
  const assign = (event) => {
    event.preventDefault();
    doing(() => api.admin.assign(one.key, Number(user.value), task.value, source.value), again);
  };
  const take = async (given) => {
    const text = `${given.user} can then no longer open it. The rows and their history stay.`;
    if (await confirm("Take the assignment away", text, "Take away", { danger: true }))
      doing(() => api.admin.unassign(one.key, given.id), again);
  };
  const send = async (replace) => {
    try {
      const { files, notes } = await api.admin.exportConversation(one.key, replace);
      await dialog(
        "Exported",
        (close) => [
          h(
            "ul",
            {},
            files.map((file) => h("li", {}, h("code", {}, file))),
          ),
          files.length ? null : h("p", {}, "Nothing was written."),
          notes.map((text) => h("p.notice", {}, text)),
          h("div.actions", {}, h("button.primary", { type: "button", on: { click: () => close() } }, "Close")),
        ],
        { narrow: true },
      );
    } catch (error) {
      if (error.code !== "exists") return void failed(error);
      if (await confirm("The file is there already", error.message, "Replace it", { danger: true })) await send(true);
    }
  };
  return h(
    "section.card.stack",
    { "aria-label": one.title || one.id },
    h(
      "div.spread",
      {},
      h(
        "div",
        {},
        h("h2", {}, one.title || one.id),
        h("p.hint", {}, `${one.id} · ${one.scenario ?? "?"}${one.duration ? ` · ${clock(one.duration, 0)}` : ""}`),
      ),
      h(
        "button.small",
        { type: "button", disabled: !one.assignments.length, on: { click: () => send(false) } },
        "Export annotations",
      ),
    ),
    one.problem ? h("p.notice.error", {}, one.problem) : null,
    one.notes.map((text) => h("p.notice.warning", {}, text)),
    one.assignments.length
      ? h(
          "div.table-frame",
          {},
          h(
            "table",
            {},
            head(["Person", "Task", "Verified", "State", "Last change", ""]),
            h(
              "tbody",
              {},
              one.assignments.map((given) =>
                h(
                  "tr",
                  {},
                  h("td", {}, given.user),
                  h("td", {}, TASKS[given.task]),
                  h(
                    "td",
                    {},
                    h(
                      "div.line",
                      {},
                      h("progress", {
                        max: given.progress.rows || 1,
                        value: given.progress.verified,
                        "aria-label": `Verified by ${given.user}`,
                      }),
                      `${given.progress.verified} of ${given.progress.rows}`,
                    ),
                  ),
                  h("td", {}, given.done ? h("span.tag.good", {}, "✓ done") : h("span.tag", {}, "open")),
                  h("td.hint", {}, given.changed_at ? moment(given.changed_at) : "–"),
                  h(
                    "td",
                    {},
                    h(
                      "button.small",
                      {
                        type: "button",
                        "aria-label": `Take ${one.id} away from ${given.user}`,
                        on: { click: () => take(given) },
                      },
                      "Take away",
                    ),
                  ),
                ),
              ),
            ),
          ),
        )
      : h("p.hint", {}, "Assigned to nobody."),
    one.problem || !free.length
      ? null
      : h(
          "form.form-row",
          { on: { submit: assign } },
          field("Person", user),
          field("Task", task),
          field("First rows from", source),
          h("div", {}, h("button", { type: "submit" }, "Assign")),
        ),
  );
}

// --- sets to rate

async function batches(me, again) {
  const [{ batches: all, runs }, { users: people }] = await Promise.all([api.admin.batches(), api.admin.users()]);
  const title = h("input", { id: freshId("title"), type: "text", required: true });
  const limit = h("input", { id: freshId("limit"), type: "number", min: 1, max: 2000, value: 50, required: true });
  const seed = h("input", { id: freshId("seed"), type: "number", min: 0, value: 0, required: true });
  const chosen = (values, name) =>
    h(
      "fieldset.group",
      {},
      h("legend", {}, name),
      h(
        "div.chips",
        {},
        values.map(([value, text, on]) =>
          h("label.chip", {}, h("input", { type: "checkbox", value, checked: Boolean(on) }), h("span", {}, text)),
        ),
      ),
    );
  const from = chosen(
    runs.map(({ run, answers }) => [
      run,
      `${run} (${Object.entries(answers)
        .map(([task, count]) => `${count} ${task.toUpperCase()}`)
        .join(", ")})`,
      true,
    ]),
    "Answers of the runs",
  );
  const tasks = chosen(
    [
      ["er", "emotions (ER)", true],
      ["vp", "viewpoints (VP)", true],
    ],
    "Tasks",
  );
  const raters = chosen(
    people.filter((one) => !one.disabled).map(({ id, name }) => [id, name]),
    "Raters",
  );
  const picked = (element) => [...element.querySelectorAll("input:checked")].map((input) => input.value);
  const add = (event) => {
    event.preventDefault();
    const batch = {
      title: title.value,
      runs: picked(from),
      tasks: picked(tasks),
      limit: Number(limit.value),
      seed: Number(seed.value),
      user_ids: picked(raters).map(Number),
    };
    if (!batch.runs.length || !batch.tasks.length || !batch.user_ids.length)
      return void note("Choose at least one run, one task and one rater.", { error: true });
    return doing(() => api.admin.addBatch(batch), again);
  };
  const send = (one) =>
    doing(async () => {
      const { files } = await api.admin.exportBatch(one.id);
      note(`Written: ${files.join(", ")}`);
    });
  return [
    all.length
      ? h(
          "div.table-frame",
          {},
          h(
            "table",
            {},
            head(["Set", "Answers", "Rated by", ""]),
            h(
              "tbody",
              {},
              all.map((one) =>
                h(
                  "tr",
                  {},
                  h("td", {}, one.title),
                  h("td", {}, one.items),
                  h("td", {}, one.raters.map((rater) => `${rater.name}: ${rater.rated}`).join(", ")),
                  h("td", {}, h("button.small", { type: "button", on: { click: () => send(one) } }, "Export ratings")),
                ),
              ),
            ),
          ),
        )
      : h("div.card.empty", {}, "No set of answers to rate yet."),
    runs.length
      ? h(
          "form.card.stack",
          { on: { submit: add } },
          h("h2", {}, "New set"),
          h(
            "div.form-row",
            {},
            field("Title", title),
            field("At most, answers a task", limit),
            field("Seed of the order", seed),
          ),
          from,
          tasks,
          raters,
          h("div", {}, h("button.primary", { type: "submit" }, "Make the set")),
        )
      : h("p.notice", {}, "There are no answers of models yet: run ", h("code", {}, "rescue eval"), " first."),
  ];
}

// --- audit

async function audit() {
  const body = h("tbody");
  const more = h(
    "button",
    { type: "button", hidden: true, on: { click: () => next().catch(failed) } },
    "Show older ones",
  );
  let before = null;
  const next = async () => {
    const { entries } = await api.admin.audit(before);
    for (const one of entries) {
      const detail = one.detail && typeof one.detail === "object" ? JSON.stringify(one.detail) : one.detail;
      body.append(
        h(
          "tr",
          {},
          h("td.when", {}, moment(one.at)),
          h("td", {}, one.user ?? "–"),
          h("td", {}, one.action.replaceAll("_", " ")),
          h("td", {}, one.conversation ?? "–"),
          h("td.hint", {}, detail ?? ""),
        ),
      );
    }
    before = entries.at(-1)?.id;
    more.hidden = entries.length < 100;
  };
  await next();
  return [
    h("div.table-frame", {}, h("table", {}, head(["When", "Who", "Action", "Conversation", "Detail"]), body)),
    h("p.line", {}, more),
  ];
}
