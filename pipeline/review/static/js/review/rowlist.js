// The list of rows. Elements are made once and changed one by one; the browser skips drawing those out of view
// (content-visibility), so 300 rows cost little and find-in-page still finds every word.

import { fill, h } from "../dom.js";
import { clock } from "../times.js";

const FILTERS = [
  ["all", "All rows"],
  ["draft", "Not verified"],
  ["findings", "With errors or warnings"],
  ["moved", "Recognition changed"],
  ["open", "Open differences"],
  ["discarded", "Discarded"],
];

/** Events: `select` ({id}). */
export class RowList extends EventTarget {
  /**
   * @param {import("./rows.js").Rows} rows
   * @param {{tint: (speaker: string) => number, differing: (id: string) => number, adjudicate: boolean}} look
   */
  constructor(rows, look) {
    super();
    this.rows = rows;
    this.look = look;
    this.items = new Map();
    this.selected = null;
    this.filter = h(
      "select",
      { "aria-label": "Which rows are shown", on: { change: () => this.draw() } },
      FILTERS.filter(([key]) => key !== "open" || look.adjudicate).map(([value, name]) => h("option", { value }, name)),
    );
    this.summary = h("span.hint", { "aria-live": "polite" });
    this.list = h("ul.row-list", { role: "listbox", tabindex: "0", "aria-label": "Rows" });
    this.element = h(
      "section.rows",
      { "aria-label": "Rows" },
      h("div.rows-head", {}, this.filter, this.summary),
      this.list,
    );
    this.list.addEventListener("click", (event) => {
      const item = event.target.closest("[data-id]");
      if (item) this.tell(item.dataset.id);
    });
    rows.addEventListener("rows", ({ detail }) => (detail.all ? this.draw() : this.redraw(detail.ids)));
    rows.addEventListener("findings", ({ detail }) => this.redraw(detail.ids));
    this.draw();
  }

  tell(id) {
    this.dispatchEvent(new CustomEvent("select", { detail: { id } }));
  }

  shown() {
    const { rows } = this;
    const filter = this.filter.value;
    if (filter === "discarded") return rows.discarded;
    const bad = (row) => rows.findingsOf(row.row_id).some((one) => one.severity !== "info");
    const keep = {
      all: () => true,
      draft: (row) => row.status !== "verified",
      findings: bad,
      moved: (row) => row.machine_now,
      open: (row) => row.open?.length,
    }[filter];
    return rows.ordered.filter(keep);
  }

  draw() {
    const shown = this.shown();
    fill(
      this.list,
      shown.map((row) => this.item(row)),
    );
    if (!shown.length)
      this.list.append(
        h(
          "li.empty",
          { role: "option", "aria-disabled": "true" },
          this.filter.value === "all" ? "No rows yet. Press n to insert one at the playhead." : "No row is like this.",
        ),
      );
    this.mark();
    this.count();
  }

  /** Which row comes after or before the selected one among those shown. */
  beside(step) {
    const shown = this.shown().map((row) => row.row_id);
    const at = shown.indexOf(this.selected);
    if (at >= 0) return shown[at + step] ?? null;
    const order = this.rows.order;
    const from = order.indexOf(this.selected);
    const rest = step > 0 ? order.slice(from + 1) : order.slice(0, Math.max(from, 0)).reverse();
    return rest.find((id) => shown.includes(id)) ?? shown[0] ?? null;
  }

  redraw(ids) {
    for (const id of ids) {
      const row = this.rows.get(id);
      const item = this.items.get(id);
      if (row && item?.isConnected) item.replaceWith(this.item(row));
    }
    this.mark();
    this.count();
  }

  item(row) {
    const { fields } = row;
    const findings = this.rows.findingsOf(row.row_id);
    const count = (severity) => findings.filter((one) => one.severity === severity).length;
    const [errors, warnings] = [count("error"), count("warning")];
    const differing = row.status === "verified" ? 0 : this.look.differing(row.row_id);
    const who = fields.target.length
      ? `${fields.primary_speaker || "?"} → ${fields.target.join(", ")}`
      : fields.primary_speaker || "nobody yet";
    const marks = [
      row.discarded
        ? h("span.tag", {}, `discarded: ${row.discard_reason ?? ""}`)
        : row.status === "verified"
          ? h("span.tag.good", {}, "✓ verified")
          : null,
      errors ? h("span.tag.error", {}, `${errors} error${errors > 1 ? "s" : ""}`) : null,
      warnings ? h("span.tag.warning", {}, `${warnings} warning${warnings > 1 ? "s" : ""}`) : null,
      row.machine_now ? h("span.tag.info", {}, "recognition changed") : null,
      differing ? h("span.tag.info", {}, `${differing} differ${differing === 1 ? "s" : ""}`) : null,
      row.unsent ? h("span.tag", {}, "not saved yet") : null,
    ].filter(Boolean);
    const tint = this.look.tint(fields.primary_speaker);
    const item = h(
      tint === null ? "li.row-item" : `li.row-item.tint-${tint}`,
      {
        role: "option",
        id: `row-${row.row_id}`,
        data: { id: row.row_id },
        "aria-selected": String(row.row_id === this.selected),
      },
      h(
        "div.row-top",
        {},
        h("span.row-number", {}, this.rows.index.get(row.row_id) ?? "–"),
        h("span.row-who", {}, who),
        h("span.row-time", {}, clock(fields.start_time, 1)),
      ),
      h("div.row-text", {}, fields.dialogue_cleaned || "(nothing is said)"),
      marks.length ? h("div.row-marks", {}, marks) : null,
    );
    item.classList.toggle("discarded", row.discarded);
    item.classList.toggle("playing", row.row_id === this.playing);
    this.items.set(row.row_id, item);
    return item;
  }

  select(id) {
    this.selected = id;
    this.mark();
    this.items.get(id)?.scrollIntoView?.({ block: "nearest" });
  }

  setPlaying(id) {
    if (id === this.playing) return;
    this.items.get(this.playing)?.classList.remove("playing");
    this.playing = id;
    this.items.get(id)?.classList.add("playing");
  }

  mark() {
    for (const item of this.list.querySelectorAll('[aria-selected="true"]'))
      if (item.dataset.id !== this.selected) item.setAttribute("aria-selected", "false");
    const item = this.items.get(this.selected);
    item?.setAttribute("aria-selected", "true");
    if (item?.isConnected) this.list.setAttribute("aria-activedescendant", item.id);
    else this.list.removeAttribute("aria-activedescendant");
  }

  count() {
    const all = this.rows.ordered;
    const verified = all.filter((row) => row.status === "verified").length;
    fill(
      this.summary,
      `${verified} of ${all.length} verified`,
      this.rows.discarded.length ? `, ${this.rows.discarded.length} discarded` : "",
    );
  }
}
