// The rows as the page shows them: what the server has acknowledged, with the changes that wait laid over it. The view
// is always computed from these two, so an acknowledged, a waiting and a foreign change cannot wipe one another out.

import { milliseconds } from "../times.js";
import { BLANK } from "./fields.js";

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** The row after one edit, as the server will make it. */
export function applied(row, edit, preview) {
  const next = { ...row, unsent: true };
  if (edit.op === "insert") {
    const made = {
      version: null,
      status: "draft",
      discarded: false,
      discard_reason: null,
      machine: null,
      machine_now: null,
      open: [],
    };
    return { ...made, unsent: true, row_id: edit.row_id, fields: { ...BLANK, ...edit.fields } };
  }
  if (edit.op === "edit") {
    next.fields = { ...row.fields, ...edit.fields };
    if (edit.status) next.status = edit.status;
    else if (Object.keys(edit.fields ?? {}).length) next.status = "draft";
  } else if (edit.op === "discard") {
    next.discarded = true;
    next.discard_reason = edit.reason;
  } else if (edit.op === "undiscard") {
    next.discarded = false;
    next.discard_reason = null;
    next.status = "draft";
  } else if (edit.op === "restore" && preview) {
    Object.assign(next, preview);
  } else if (edit.op === "machine_seen") {
    next.machine = { ...row.machine, ...row.machine_now };
    next.machine_now = null;
  }
  return next;
}

/** What of a row a person can change. */
const snapshot = (row) =>
  row &&
  structuredClone({
    fields: row.fields,
    status: row.status,
    discarded: row.discarded,
    discard_reason: row.discard_reason,
  });

/**
 * Events: `rows` ({ids}: these look different now, or `all`), `findings` ({ids}), `history` (undo or redo changed).
 */
export class Rows extends EventTarget {
  constructor(loaded, outbox) {
    super();
    this.outbox = outbox;
    this.version = loaded.version;
    this.server = new Map(loaded.rows.map((row) => [row.row_id, row]));
    this.findings = new Map(Object.entries(loaded.findings));
    this.view = new Map();
    this.undone = [];
    this.turn = Promise.resolve();
    this.underway = 0;
    this.made = [];
    outbox.addEventListener("queued", ({ detail }) => this.refresh(detail.change.edits.map((edit) => edit.row_id)));
    outbox.addEventListener("sent", ({ detail }) => this.take(detail.answer));
    this.compute();
  }

  get(id) {
    return this.view.get(id);
  }

  /** Rows that count, in order of time. */
  get ordered() {
    return this.order.map((id) => this.view.get(id));
  }

  /** Discarded rows; one whose making was undone is left to the history. */
  get discarded() {
    return [...this.view.values()].filter((row) => row.discarded && row.discard_reason !== UNDONE);
  }

  findingsOf(id) {
    return this.findings.get(id) ?? [];
  }

  compute() {
    this.view = new Map(this.server);
    for (const change of this.outbox.queue) {
      for (const edit of change.edits) {
        const row = this.view.get(edit.row_id);
        if (row || edit.op === "insert") this.view.set(edit.row_id, applied(row, edit, change.previews?.[edit.row_id]));
      }
    }
    const place = new Map([...this.view.keys()].map((id, index) => [id, index]));
    this.order = [...this.view.values()]
      .filter((row) => !row.discarded)
      .sort(
        (one, other) =>
          one.fields.start_time - other.fields.start_time ||
          (one.row_index ?? Infinity) - (other.row_index ?? Infinity) ||
          place.get(one.row_id) - place.get(other.row_id),
      )
      .map((row) => row.row_id);
    this.index = new Map(this.order.map((id, index) => [id, index + 1]));
  }

  refresh(ids) {
    const before = this.order;
    this.compute();
    this.tell("rows", { ids, all: !same(before, this.order) });
  }

  /** Take in what the server says. */
  take({ version, rows, findings = {} }) {
    this.version = Math.max(this.version, version);
    for (const row of rows) {
      const known = this.server.get(row.row_id);
      if (!known || known.version <= row.version) this.server.set(row.row_id, row);
    }
    this.refresh(rows.map((row) => row.row_id));
    for (const [id, found] of Object.entries(findings)) this.findings.set(id, found);
    this.tell("findings", { ids: Object.keys(findings) });
  }

  /** Findings of what is being typed; the next save brings those of the server. */
  setFindings(id, found) {
    if (same(this.findingsOf(id), found)) return;
    this.findings.set(id, found);
    this.tell("findings", { ids: [id] });
  }

  // --- changes

  /** Make a change that can be undone. Returns when it lies safely in the browser. */
  change(edits, { label, previews = {} } = {}) {
    return this.inTurn(() => this.changeNow(edits, label, previews));
  }

  /** One after the other: an undo that overtakes a change on its way would take back the one before it. */
  inTurn(work) {
    // At once if nothing is on its way: what waits to be sent must show as such from the first moment.
    const done = this.underway ? this.turn.then(work) : work();
    this.underway += 1;
    this.turn = done.catch(() => {}).finally(() => (this.underway -= 1));
    return done;
  }

  async changeNow(edits, label, previews) {
    const ids = edits.map((edit) => edit.row_id);
    const before = new Map(ids.map((id) => [id, snapshot(this.get(id))]));
    await this.send(edits, previews);
    const after = new Map(ids.map((id) => [id, snapshot(this.get(id))]));
    const top = this.made.at(-1);
    const [edit] = edits;
    const typing = edits.length === 1 && edit.op === "edit" && !edit.status;
    // Keystrokes in one field are one step of undo.
    const fields = typing ? Object.keys(edit.fields).join() : null;
    if (top?.fields === fields && fields && top.ids.join() === ids.join() && Date.now() - top.at < 4000)
      Object.assign(top, { after, at: Date.now() });
    else this.made.push({ label, ids, before, after, fields, at: Date.now() });
    this.undone = [];
    this.tell("history", {});
  }

  async send(edits, previews = {}) {
    for (const edit of edits) if (edit.op !== "insert") edit.base_version = this.base(edit.row_id);
    await this.outbox.add(edits, previews);
  }

  base(id) {
    return this.server.get(id)?.version ?? null;
  }

  setFields(id, fields, label) {
    const row = this.get(id);
    const changed = Object.fromEntries(
      Object.entries(fields).filter(([field, value]) => !same(row.fields[field], value)),
    );
    if (!Object.keys(changed).length) return Promise.resolve();
    return this.change([{ op: "edit", row_id: id, fields: changed }], { label });
  }

  setStatus(id, status) {
    const label = status === "verified" ? "verify" : "mark as draft";
    return this.change([{ op: "edit", row_id: id, fields: {}, status }], { label });
  }

  async insert(fields) {
    const row_id = crypto.randomUUID();
    await this.change([{ op: "insert", row_id, fields }], { label: "insert" });
    return row_id;
  }

  discard(id, reason) {
    return this.change([{ op: "discard", row_id: id, reason }], { label: "discard" });
  }

  undiscard(id) {
    return this.change([{ op: "undiscard", row_id: id }], { label: "bring back" });
  }

  restore(id, version, shown) {
    return this.change([{ op: "restore", row_id: id, to_version: version }], {
      label: "restore",
      previews: { [id]: snapshot(shown) },
    });
  }

  machineSeen(id) {
    return this.send([{ op: "machine_seen", row_id: id }]);
  }

  /** Cut a row in two at a time; the words go where the machine heard them. Returns the second row's id. */
  async split(id, time, words) {
    const row = this.get(id);
    const [first, second] = cut(row.fields, time, words);
    const made = crypto.randomUUID();
    const kept = { ...row.fields };
    // What was seen and felt belongs to the first part until someone says otherwise.
    const { primary_speaker, target, utterance_type } = kept;
    await this.change(
      [
        { op: "edit", row_id: id, fields: { end_time: milliseconds(time), dialogue_cleaned: first } },
        {
          op: "insert",
          row_id: made,
          fields: {
            start_time: milliseconds(time),
            end_time: row.fields.end_time,
            dialogue_cleaned: second,
            primary_speaker,
            target,
            utterance_type,
          },
        },
      ],
      { label: "split" },
    );
    return made;
  }

  /** Join a row with the next one: nothing that either holds is dropped. */
  async merge(id, otherId) {
    const [one, other] = [this.get(id).fields, this.get(otherId).fields];
    const fields = { end_time: Math.max(one.end_time, other.end_time) };
    fields.dialogue_cleaned = [one.dialogue_cleaned, other.dialogue_cleaned].filter(Boolean).join(" ");
    for (const [field, value] of Object.entries(other)) {
      if (["start_time", "end_time", "dialogue_cleaned", "primary_speaker"].includes(field)) continue;
      if (Array.isArray(value)) {
        const more = value.filter((item) => !(one[field] ?? []).some((mine) => same(mine, item)));
        if (more.length) fields[field] = [...(one[field] ?? []), ...more];
      } else if ((one[field] === null || one[field] === "") && value) fields[field] = value;
      else if (TEXTS.includes(field) && value && value !== one[field]) fields[field] = `${one[field]}; ${value}`;
    }
    await this.change(
      [
        { op: "edit", row_id: id, fields },
        { op: "discard", row_id: otherId, reason: `merged into row ${this.index.get(id)}` },
      ],
      { label: "merge" },
    );
  }

  // --- undo

  get canUndo() {
    return this.made.length > 0;
  }

  get canRedo() {
    return this.undone.length > 0;
  }

  undo() {
    return this.inTurn(() => this.undoNow());
  }

  redo() {
    return this.inTurn(() => this.redoNow());
  }

  async undoNow() {
    const step = this.made.pop();
    if (!step) return null;
    await this.toward(step.after, step.before);
    this.undone.push(step);
    this.tell("history", {});
    return step;
  }

  async redoNow() {
    const step = this.undone.pop();
    if (!step) return null;
    await this.toward(step.before, step.after);
    this.made.push(step);
    this.tell("history", {});
    return step;
  }

  /** Bring rows from one state to another, leaving fields alone that the step did not touch. */
  async toward(from, to) {
    const whole = [];
    const after = [];
    for (const [id, wanted] of to) {
      const now = from.get(id);
      if (!wanted) {
        whole.push({ op: "discard", row_id: id, reason: UNDONE });
        continue;
      }
      if (wanted.discarded !== (now?.discarded ?? true)) {
        whole.push(
          wanted.discarded
            ? { op: "discard", row_id: id, reason: wanted.discard_reason ?? UNDONE }
            : { op: "undiscard", row_id: id },
        );
        if (!wanted.discarded && wanted.status === "verified")
          after.push({ op: "edit", row_id: id, fields: {}, status: "verified" });
        continue;
      }
      const fields = {};
      for (const [field, value] of Object.entries(wanted.fields))
        if (!same(value, now.fields[field])) fields[field] = value;
      const edit = { op: "edit", row_id: id, fields };
      if (wanted.status !== now.status) edit.status = wanted.status;
      if (edit.status || Object.keys(fields).length) whole.push(edit);
    }
    // A change holds each row once, so a row that is brought back is verified again by a change of its own.
    if (whole.length) await this.send(whole);
    if (after.length) await this.send(after);
  }

  tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

const UNDONE = "undone";
const TEXTS = ["tone_of_voice", "relation_pattern_reason", "relation_cycle_reason"];

/** The text before and after a time: by the times of the machine's words, else by the share of time that has passed. */
function cut({ dialogue_cleaned: text, start_time: start, end_time: end }, time, words = []) {
  const spoken = text.split(/\s+/).filter(Boolean);
  const heard = words.filter((word) => word.end > start && word.start < end);
  const share =
    heard.length >= 2
      ? heard.filter((word) => (word.start + word.end) / 2 < time).length / heard.length
      : (time - start) / (end - start);
  const first = Math.round(spoken.length * share);
  return [spoken.slice(0, first).join(" "), spoken.slice(first).join(" ")];
}
