// The form of one row: every field with its control, findings beside the field while typing, and what saves them.

import { debounce, fill, freshId, h } from "../dom.js";
import * as controls from "./controls.js";
import { EVIDENCE, nameOf, newRecord, RECORDS } from "./fields.js";

const SECTIONS = [
  { title: "When and who", fields: ["start_time", "end_time", "primary_speaker", "target"] },
  { title: "What is said", fields: ["dialogue_cleaned", "utterance_type", "background_dialogue"] },
  {
    title: "What shows",
    fields: ["tone_of_voice", "facial_expressions", "body_posture", "self_directed_behavior", "interaction_behavior"],
  },
  { title: "What is felt and thought", fields: ["internal_emotion", "viewpoints_attitudes"] },
  { title: "What the therapist does", fields: ["support_strategy"] },
  {
    title: "Relation pattern",
    fields: ["relation_pattern", "relation_pattern_reason", "relation_pattern_evidence_rows"],
  },
  {
    title: "Older fields of the pattern",
    fields: ["relation_cycle_state", "relation_cycle_reason", "relation_cycle_evidence_rows"],
    quiet: true,
  },
];
const PAIRS = new Set(["start_time", "end_time"]);
const NO_PATTERN = [
  [null, "not annotated"],
  ["", "no clear pattern"],
];

/** How long typing rests before its findings are asked for, and before it is saved, in milliseconds. */
const CHECK = 250;
const SAVE = 900;

/**
 * Events: `define` ({set}: show the definitions of a label set), `saved` ({id, fields}: what was typed is queued),
 * `typing` (something is typed that is not queued yet, or no longer).
 */
export class Editor extends EventTarget {
  /**
   * @param {import("./rows.js").Rows} rows
   * @param {{conversation: object, labels: object, now: () => number, check: Function, writable: boolean}} context
   */
  constructor(rows, context) {
    super();
    this.rows = rows;
    this.context = context;
    this.typed = {};
    this.id = null;
    this.checking = debounce(() => this.check(), CHECK);
    this.saving = debounce(() => this.save(), SAVE);
    this.controls = new Map();
    this.lead = h("div.stack");
    this.body = h(
      "fieldset.editor-fields.group",
      { disabled: !context.writable },
      h("legend.visually-hidden", {}, "Fields of the row"),
    );
    this.form = h(
      "form",
      { on: { submit: (event) => event.preventDefault(), focusout: () => this.flush() } },
      this.lead,
      this.body,
    );
    this.element = h("div.editor-body", { tabindex: "-1" }, this.form);
    this.build();
    rows.addEventListener("rows", ({ detail }) => (detail.all || detail.ids.includes(this.id)) && this.refresh());
    rows.addEventListener(
      "findings",
      ({ detail }) => (detail.ids.includes(this.id) || detail.ids.includes("")) && this.showFindings(),
    );
    window.addEventListener("pagehide", () => this.flush());
    document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && this.flush());
  }

  build() {
    for (const section of SECTIONS) {
      const made = section.fields.map((field) => [field, this.control(field)]);
      const paired = made.filter(([field]) => PAIRS.has(field)).map(([, element]) => element);
      const rest = made.filter(([field]) => !PAIRS.has(field)).map(([, element]) => element);
      const inside = h("div.fields", {}, paired.length ? h("div.pair", {}, paired) : null, rest);
      if (section.quiet) {
        this.older = h("details.group", {}, h("summary.label", {}, section.title), inside);
        this.body.append(this.older);
      } else
        this.body.append(
          h("section.group", { "aria-label": section.title }, h("h3.section-title", {}, section.title), inside),
        );
    }
  }

  control(field) {
    const { conversation, labels, now } = this.context;
    const { entities: names, group_label: group } = conversation;
    const persons = names.filter((name) => name !== group);
    const id = freshId(field);
    const tell = (value) => this.input(field, value);
    const define = (set) => () => this.dispatchEvent(new CustomEvent("define", { detail: { set } }));
    let made;
    if (field in RECORDS) {
      const row = () => ({ ...this.rows.get(this.id).fields, ...this.typed });
      const options = {
        make: () => newRecord(field, row(), group),
        names,
        persons,
        group,
        labels: labels.support_strategies,
        define: define("support_strategies"),
      };
      made = controls.records(field, tell, options);
      this.controls.set(field, made);
    } else if (PAIRS.has(field)) made = controls.time(id, tell, { now, label: nameOf(field) });
    else if (field === "primary_speaker") made = controls.person(id, tell, { names: persons });
    else if (field === "target") made = controls.people(id, tell, { names, label: nameOf(field), group });
    else if (field === "dialogue_cleaned") made = controls.text(id, tell, { lines: 3 });
    else if (field === "utterance_type") {
      made = controls.label(id, tell, {
        labels: labels.utterance_types,
        choices: [[null, "none"]],
        define: define("utterance_types"),
      });
    } else if (field === "relation_pattern" || field === "relation_cycle_state") {
      made = controls.label(id, tell, {
        labels: labels.relation_patterns,
        choices: NO_PATTERN,
        define: define("relation_patterns"),
      });
    } else if (EVIDENCE.includes(field)) {
      const idOf = (number) => this.rows.order[number - 1];
      made = controls.evidence(id, tell, { numberOf: (rowId) => this.rows.index.get(rowId), idOf });
    } else made = controls.text(id, tell, { lines: field.endsWith("_reason") ? 2 : 1, empty: null });
    const findings = h("div.findings", { id: freshId("findings") });
    made.input?.setAttribute(
      "aria-describedby",
      [made.input.getAttribute("aria-describedby"), findings.id].filter(Boolean).join(" "),
    );
    const single = made.input && !(field in RECORDS);
    const title = single ? h("label", { for: id }, nameOf(field)) : h("span.label", {}, nameOf(field));
    const element = h("div.control", { data: { field } }, title, made.element, findings);
    this.controls.set(field, { ...made, element, findings });
    return element;
  }

  /** Show a row; null shows none. */
  show(id) {
    this.flush();
    this.id = id;
    this.element.scrollTop = 0;
    this.refresh();
    this.showFindings();
  }

  refresh() {
    const row = this.rows.get(this.id);
    this.form.hidden = !row;
    if (!row) return;
    for (const [field, control] of this.controls) if (!(field in this.typed)) control.set(row.fields[field]);
    const {
      relation_cycle_state: state,
      relation_cycle_reason: reason,
      relation_cycle_evidence_rows: rows,
    } = row.fields;
    if (state || reason || rows?.length) this.older.open = true;
    this.body.disabled = !this.context.writable || row.discarded;
    const clear = () => this.rows.machineSeen(this.id);
    fill(
      this.lead,
      row.discarded ? h("p.notice.warning", {}, `Discarded: ${row.discard_reason ?? "no reason"}`) : null,
      row.machine_now
        ? h(
            "div.notice.warning",
            {},
            h(
              "p",
              {},
              "The recognition says something else now: ",
              h("q", {}, row.machine_now.text),
              ` (${row.machine_now.speaker ?? "?"})`,
            ),
            this.context.writable
              ? h("button.small", { type: "button", on: { click: clear } }, "Seen, keep my row")
              : null,
          )
        : null,
    );
  }

  // --- typing

  input(field, value) {
    this.typed[field] = value;
    this.dispatchEvent(new Event("typing"));
    this.checking();
    this.saving();
  }

  /** Whether something is typed that is not queued yet. */
  get typing() {
    return Object.keys(this.typed).length > 0;
  }

  /** Queue what was typed now. */
  flush() {
    this.saving.flush();
  }

  save() {
    const fields = this.typed;
    this.typed = {};
    this.dispatchEvent(new Event("typing"));
    if (!this.id || !Object.keys(fields).length) return;
    const { id } = this;
    const label = `change ${Object.keys(fields).map(nameOf).join(", ").toLowerCase()}`;
    this.rows
      .setFields(id, fields, label)
      .then(() => this.dispatchEvent(new CustomEvent("saved", { detail: { id, fields } })));
  }

  async check() {
    const { id } = this;
    const fields = { ...this.typed };
    if (!id || !Object.keys(fields).length || this.rows.base(id) === null) return;
    try {
      const { findings } = await this.context.check(id, fields);
      // Only while it is still what stands there.
      if (id === this.id && Object.entries(fields).every(([field, value]) => this.typed[field] === value))
        this.rows.setFindings(id, findings);
    } catch (error) {
      // The save brings them too; it waits for the network and says so.
      if (!error.passing && error.status !== 404) throw error;
    }
  }

  // --- findings

  showFindings() {
    const found = this.id ? this.rows.findingsOf(this.id) : [];
    for (const [field, control] of this.controls) {
      const mine = found.filter((one) => one.field === field);
      fill(control.findings, mine.map(finding));
      control.element.classList.toggle(
        "has-error",
        mine.some((one) => one.severity === "error"),
      );
      const invalid = mine.some((one) => one.severity === "error");
      if (control.input && !(field in RECORDS)) control.input.setAttribute("aria-invalid", String(invalid));
    }
    const elsewhere = found.filter((one) => !this.controls.has(one.field));
    this.lead.querySelectorAll(".finding").forEach((element) => element.remove());
    this.lead.append(...elsewhere.map(finding));
  }

  /** Put the focus into a field. */
  focus(field) {
    const control = this.controls.get(field);
    (control?.input ?? control?.element.querySelector("input, select, textarea"))?.focus();
    control?.element.scrollIntoView({ block: "nearest" });
  }

  /** Add a record to a list field and put the focus into it. */
  add(field) {
    if (this.body.disabled) return;
    this.controls.get(field).addOne();
  }
}

/** One finding as text. */
export function finding({ severity, message, suggestion }) {
  const word = { error: "Error", warning: "Warning", info: "Note" }[severity];
  return h(
    `p.finding.${severity}`,
    {},
    h("b", {}, `${word}: `),
    message,
    suggestion ? h("span.fix", {}, ` — ${suggestion}`) : null,
  );
}
