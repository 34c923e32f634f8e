// Adjudication: of two or more people's rows for the same stretch, only the fields that differ, side by side.

import { dialog } from "../dialogs.js";
import { fill, freshId, h } from "../dom.js";
import { clock } from "../times.js";
import { BLANK, EVIDENCE, nameOf, readable } from "./fields.js";

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

export class Differences {
  /** @param {{authors: string[], units: object[], agreement: object[]|null, window_diff: number|null}} versions */
  constructor(versions, rows, select) {
    this.versions = versions;
    this.rows = rows;
    this.select = select;
    this.units = new Map(versions.units.filter((unit) => unit.row_id).map((unit) => [unit.row_id, unit]));
    this.element = h("section.differences", { "aria-label": "Differences between the annotators", hidden: true });
  }

  /** How many fields of a row differ between those who have it. */
  count(id) {
    return this.units.get(id)?.differing.length ?? 0;
  }

  show(id, writable) {
    this.id = id;
    const unit = this.units.get(id);
    const row = this.rows.get(id);
    this.element.hidden = !row;
    if (!row) return;
    if (!unit)
      return void fill(
        this.element,
        h("h3", {}, "Differences"),
        h("p.hint", {}, "This row was made here; no annotator has it."),
      );
    const missing = this.versions.authors.filter((author) => !(author in unit.versions));
    fill(
      this.element,
      h(
        "h3",
        {},
        unit.differing.length
          ? `${unit.differing.length} field${unit.differing.length > 1 ? "s differ" : " differs"}`
          : "All agree on this row",
      ),
      missing.length ? h("p.notice.warning", {}, `Not a row of: ${missing.join(", ")}`) : null,
      unit.differing.map((field) => this.field(field, unit, row, writable)),
    );
  }

  field(field, unit, row, writable) {
    const name = freshId(field);
    const open = row.open?.some((one) => one.field === field);
    const groups = [];
    for (const [author, fields] of Object.entries(unit.versions)) {
      const value = fields[field] ?? null;
      const known = groups.find((group) => same(group.value, value));
      if (known) known.authors.push(author);
      else groups.push({ value, authors: [author] });
    }
    // Evidence names rows of the author's own numbering, which are no rows of this result.
    const may = writable && !EVIDENCE.includes(field) && !row.discarded;
    const side = ({ value, authors }) => {
      const take = () =>
        this.rows.setFields(row.row_id, { [field]: value }, `take ${nameOf(field).toLowerCase()} of ${authors[0]}`);
      const input = h("input", {
        type: "radio",
        name,
        checked: same(row.fields[field], value),
        disabled: !may,
        on: { change: take },
      });
      const shown = readable(field, value);
      return h("label.side", {}, input, h("div", {}, h("div.who", {}, authors.join(", ")), h("div.value", {}, shown)));
    };
    return h(
      "fieldset.group.differing",
      {},
      h("legend", {}, nameOf(field), open ? h("span.tag.warning", {}, "open: the rule does not decide") : null),
      h("div.sides", {}, groups.map(side)),
      EVIDENCE.includes(field)
        ? h("p.hint", {}, "Row numbers are those of each annotator; set the rows in the form below.")
        : null,
    );
  }

  /** Agreement figures, and stretches that did not become a row. */
  figures(writable) {
    const { agreement, window_diff: borders, units, authors } = this.versions;
    const left = units.filter((unit) => !unit.row_id);
    const number = (value) => (value === null || value === undefined ? "not defined" : value.toFixed(3));
    return dialog("Agreement", (close) => [
      agreement
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
                  ["Field", "Rows", "Alpha", "Same value", "Kappa by pair"].map((name, at) =>
                    h(at && at < 4 ? "th.number" : "th", { scope: "col" }, name),
                  ),
                ),
              ),
              h(
                "tbody",
                {},
                agreement.map((one) =>
                  h(
                    "tr",
                    {},
                    h("td", {}, nameOf(one.field)),
                    h("td.number", {}, one.units),
                    h("td.number", {}, number(one.alpha)),
                    h("td.number", {}, one.same === null ? "–" : `${Math.round(one.same * 100)} %`),
                    h(
                      "td",
                      {},
                      Object.entries(one.kappa)
                        .map(([pair, kappa]) => `${pair}: ${number(kappa)}`)
                        .join("; ") || "–",
                    ),
                  ),
                ),
              ),
            ),
          )
        : h("p.notice.warning", {}, "Agreement figures need the libraries of the extra “publish” on the server."),
      h(
        "p.hint",
        {},
        "Krippendorff's alpha: 1 is perfect, 0 is chance. ",
        `Borders of rows (WindowDiff, 0 is perfect): ${number(borders)}.`,
      ),
      h(
        "p.hint",
        {},
        `Versions of ${authors.join(", ")}. A stretch is a row if more than half have it; `,
        "a field takes the value that more than half gave, else it is open.",
      ),
      left.length ? h("h3", {}, "Stretches that are no row of the result") : null,
      left.map((unit) => {
        const [author, fields] = Object.entries(unit.versions)[0];
        const take = async () => {
          const known = Object.fromEntries(
            Object.entries(fields).filter(([field]) => field in BLANK && !EVIDENCE.includes(field)),
          );
          const id = await this.rows.insert({ ...known, start_time: unit.start_time, end_time: unit.end_time });
          close();
          this.select(id);
        };
        return h(
          "div.version.spread",
          {},
          h(
            "span",
            {},
            `${clock(unit.start_time, 1)} – ${clock(unit.end_time, 1)}, ${Object.keys(unit.versions).join(", ")}: `,
            `${fields.primary_speaker}: ${fields.dialogue_cleaned}`,
          ),
          writable ? h("button.small", { type: "button", on: { click: take } }, `Take the row of ${author}`) : null,
        );
      }),
      h("div.actions", {}, h("button.primary", { type: "button", on: { click: () => close() } }, "Close")),
    ]);
  }
}
