// What was changed, by whom and when; any earlier state can be looked at and restored.

import { dialog, failed, load, note } from "../dialogs.js";
import { fill, h } from "../dom.js";
import { moment } from "../times.js";
import { nameOf, readable } from "./fields.js";

const DID = {
  seed: "came in",
  edit: "changed",
  insert: "inserted",
  discard: "discarded",
  undiscard: "brought back",
  restore: "restored an earlier state",
  machine_seen: "noted the new recognition",
};

function changesTable(changes, index) {
  if (!changes.length) return null;
  return h(
    "table.changes",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Field"),
        h("th", { scope: "col" }, "From"),
        h("th", { scope: "col" }, "To"),
      ),
    ),
    h(
      "tbody",
      {},
      changes.map(({ field, from, to }) =>
        h(
          "tr",
          {},
          h("td", {}, nameOf(field)),
          h("td.was", {}, h("span.value", {}, readable(field, from, index))),
          h("td.now", {}, h("span.value", {}, readable(field, to, index))),
        ),
      ),
    ),
  );
}

/** All versions of one row. */
export function rowHistory(routes, rows, id, writable) {
  const place = h("div");
  const shown = h("div");
  return dialog(`History of row ${rows.index.get(id) ?? "(discarded)"}`, (close) => {
    const restore = async (row) => {
      await rows.restore(id, row.version, row);
      close();
      note(`Version ${row.version} is restored as a new version.`);
    };
    const look = async (version) => {
      try {
        const row = await routes.rowAt(id, version);
        const now = rows.get(id);
        const fields = Object.keys(row.fields).filter(
          (field) => JSON.stringify(row.fields[field]) !== JSON.stringify(now.fields[field]),
        );
        const changes = fields.map((field) => ({ field, from: now.fields[field], to: row.fields[field] }));
        for (const field of ["status", "discarded"])
          if (row[field] !== now[field]) changes.push({ field, from: now[field], to: row[field] });
        fill(
          shown,
          h("h3", {}, `Version ${version}`, changes.length ? " — what restoring it changes" : " is the same as now"),
          changesTable(changes, rows.index),
          writable && changes.length
            ? h(
                "p",
                {},
                h(
                  "button.primary",
                  { type: "button", on: { click: () => restore(row) } },
                  `Restore version ${version}`,
                ),
              )
            : null,
        );
        shown.scrollIntoView({ block: "nearest" });
      } catch (error) {
        failed(error);
      }
    };
    load(
      place,
      () => routes.rowHistory(id),
      ({ entries }) =>
        h(
          "ol.versions",
          { reversed: true },
          entries.map((entry) =>
            h(
              "li.version",
              {},
              h(
                "div.spread",
                {},
                h(
                  "span",
                  {},
                  h("b", {}, `Version ${entry.version}: ${DID[entry.op] ?? entry.op}`),
                  ` by ${entry.by}, ${moment(entry.at)}`,
                ),
                h("button.small", { type: "button", on: { click: () => look(entry.version) } }, "Look at it"),
              ),
              entry.op === "seed" ? null : changesTable(entry.changes, rows.index),
            ),
          ),
        ),
    );
    return [shown, place, h("div.actions", {}, h("button", { type: "button", on: { click: () => close() } }, "Close"))];
  });
}

/** Everything that happened in a conversation, newest first. */
export function allHistory(routes, rows, select) {
  const list = h("ol.versions");
  const place = h("div", {}, list);
  return dialog("History of the conversation", (close) => {
    const more = h("button", { type: "button", hidden: true, on: { click: () => next() } }, "Show older ones");
    let before = null;
    const next = async () => {
      try {
        const { entries } = await routes.history(before);
        for (const entry of entries) {
          const go = () => (close(), select(entry.row_id));
          const changes = entry.op === "seed" ? [] : entry.changes;
          list.append(
            h(
              "li.version",
              {},
              h(
                "div.spread",
                {},
                h(
                  "span",
                  {},
                  h("b", {}, `Row ${rows.index.get(entry.row_id) ?? "(discarded)"}: ${DID[entry.op] ?? entry.op}`),
                  ` by ${entry.by}, ${moment(entry.at)}`,
                ),
                h("button.small", { type: "button", on: { click: go } }, "Go to the row"),
              ),
              changesTable(changes, rows.index),
            ),
          );
        }
        if (!list.children.length) fill(place, h("p.empty", {}, "Nothing happened yet."));
        before = entries.at(-1)?.layer_version;
        more.hidden = entries.length < 100;
      } catch (error) {
        failed(error);
      }
    };
    next();
    return [place, more, h("div.actions", {}, h("button", { type: "button", on: { click: () => close() } }, "Close"))];
  });
}
