// One conversation on one screen: brings picture, timeline, rows and form together. Each part knows its own job; what
// one person does in one place reaches the others here.

import * as api from "../api.js";
import { askText, confirm, dialog, failed, note } from "../dialogs.js";
import { fill, h } from "../dom.js";
import { clock, milliseconds } from "../times.js";
import { Differences } from "../review/differences.js";
import { Drawer } from "../review/drawer.js";
import { Editor, finding } from "../review/editor.js";
import { rowHistory } from "../review/history.js";
import { actions } from "../review/keys.js";
import { build } from "../review/layout.js";
import { Outbox } from "../review/outbox.js";
import { Player } from "../review/player.js";
import { RowList } from "../review/rowlist.js";
import { Rows } from "../review/rows.js";
import { Shortcuts } from "../review/shortcuts.js";
import { Timeline } from "../review/timeline.js";
import { Trouble } from "../review/trouble.js";

const POLL = 5000;
const NEW_ROW = 2;
/** How long verifying waits for the findings of what was typed last, in milliseconds. */
const PATIENCE = 2000;
const REASONS = ["cannot be heard", "nobody in view and voice unclear", "no speech", "not part of the conversation"];

const STATES = {
  saved: () => "All changes saved",
  saving: () => "Saving …",
  waiting: (count) => `${count} change${count === 1 ? "" : "s"} waiting for the server`,
  conflict: () => "A conflict needs you",
  refused: () => "A change was not taken",
};

/** Load and show an assignment. */
export async function work(user, id, adjudicate) {
  const routes = api.assignment(id);
  const loaded = await routes.read();
  // After it: the first reading makes the rows of the result, which the versions then name.
  const versions = adjudicate ? await routes.versions() : null;
  const outbox = new Outbox(`${user.id}/${id}`, routes.save);
  await outbox.start();
  return new Workspace(user, routes, loaded, versions, outbox).element;
}

export class Workspace {
  constructor(user, routes, loaded, versions, outbox) {
    Object.assign(this, { user, routes, loaded, outbox });
    this.writable = loaded.writable;
    this.conversation = loaded.conversation;
    this.rows = new Rows(loaded, outbox);
    this.trouble = new Trouble(outbox, this.rows, user);
    this.differences = versions && new Differences(versions, this.rows, (id) => this.select(id));
    this.names = this.conversation.entities.filter((name) => name !== this.conversation.group_label);
    this.media = this.makeMedia();
    this.player = new Player(this.media, { fps: loaded.media?.fps });
    this.drawer = new Drawer(loaded.labels);
    this.list = new RowList(this.rows, {
      tint: (name) => this.tint(name),
      differing: (id) => this.differences?.count(id) ?? 0,
      adjudicate: Boolean(versions),
    });
    this.timeline = new Timeline({ duration: this.duration(), cues: loaded.cues, turns: loaded.turns });
    this.timeline.frozen = !this.writable;
    this.editor = new Editor(this.rows, {
      conversation: this.conversation,
      labels: loaded.labels,
      now: () => milliseconds(this.player.time),
      check: routes.check,
      writable: this.writable,
    });
    this.selected = null;
    this.element = build(this, versions);
    this.shortcuts = new Shortcuts(actions(this).filter((action) => this.writable || !action.changes));
    this.connect();
    if (loaded.waveform) api.waveform(loaded.waveform).then((wave) => this.timeline.setWave(wave), failed);
    this.showRows();
    const first = this.rows.ordered.find((row) => row.status !== "verified") ?? this.rows.ordered[0];
    this.select(first?.row_id ?? null, { seek: false });
    this.poll();
    outbox.run();
    if (versions?.versions_changed)
      note("An annotator changed rows after this result was made: compare again.", { error: true });
  }

  duration() {
    const ends = [...this.loaded.rows.map((row) => row.fields.end_time), ...this.loaded.turns.map((turn) => turn.end)];
    return this.conversation.duration ?? Math.max(0, ...ends) + 1;
  }

  /** Everyone who has a lane: the closed list, and whoever speaks although not on it. */
  speakers() {
    const all = new Set([...this.names, ...this.rows.ordered.map((row) => row.fields.primary_speaker)]);
    // Rows without a speaker get the last lane.
    return [...all].sort((one, other) => (one === "") - (other === ""));
  }

  /** Colour of a speaker; none for a row that has no speaker yet. */
  tint(name) {
    const at = name ? this.speakers().indexOf(name) : -1;
    return at < 0 ? null : at % 6;
  }

  makeMedia() {
    const { media } = this.loaded;
    const kind = media?.kind === "audio" ? "audio" : "video";
    // The browser's own controls take no part: their keys and seeking would bypass the exact ones here.
    return h(kind, {
      src: media?.url ?? null,
      preload: "auto",
      playsinline: true,
      tabindex: "-1",
      "aria-label": "Recording of the conversation",
    });
  }

  // --- what reaches what

  connect() {
    const { rows, timeline, list, player, editor, outbox } = this;
    list.addEventListener("select", ({ detail }) => this.select(detail.id));
    timeline.addEventListener("select", ({ detail }) => this.select(detail.uid));
    timeline.addEventListener("seek", ({ detail }) => this.seek(detail.time));
    timeline.addEventListener("dragging", ({ detail }) =>
      player.seek(detail.edge === "end" ? detail.time - 0.002 : detail.time),
    );
    timeline.addEventListener("edges", ({ detail }) =>
      rows.setFields(detail.uid, { start_time: detail.start, end_time: detail.end }, "move edge"),
    );
    editor.addEventListener("define", ({ detail }) => this.drawer.definitions(detail.set));
    player.addEventListener("time", () => this.showTime());
    player.addEventListener("state", () => this.showState());
    rows.addEventListener("rows", () => {
      this.showRows();
      this.showHead();
    });
    rows.addEventListener("findings", () => {
      this.showRows();
      this.showHead();
    });
    rows.addEventListener("history", () => this.showUndo());
    editor.addEventListener("saved", ({ detail }) => "primary_speaker" in detail.fields && this.offerVoice(detail.id));
    outbox.addEventListener("state", ({ detail }) => this.showSaveState(detail));
    editor.addEventListener("typing", () => this.showSaveState({ state: outbox.state, waiting: outbox.waiting }));
    this.showSaveState({ state: outbox.state, waiting: outbox.waiting });
    this.showUndo();
    this.showDone();
    window.addEventListener("beforeunload", (event) => {
      this.editor.flush();
      // They are safe in the browser; but whoever leaves for good should know.
      if (outbox.waiting && outbox.state !== "saving") event.preventDefault();
    });
  }

  showRows() {
    const speakers = this.speakers();
    const boxes = this.rows.ordered.map((row) => ({
      uid: row.row_id,
      index: this.rows.index.get(row.row_id),
      start: row.fields.start_time,
      end: row.fields.end_time,
      speaker: row.fields.primary_speaker,
      text: row.fields.dialogue_cleaned,
      verified: row.status === "verified",
      errors: this.rows.findingsOf(row.row_id).some((one) => one.severity === "error"),
    }));
    this.timeline.setRows(boxes, speakers);
  }

  showTime() {
    const { time } = this.player;
    this.position.textContent = `${clock(time)} / ${clock(this.duration(), 0)}`;
    this.timeline.setTime(time, this.player.playing);
    const at = this.rows.ordered.find((row) => row.fields.start_time <= time && time < row.fields.end_time);
    this.list.setPlaying(at?.row_id ?? null);
  }

  showState() {
    const { player } = this;
    this.playButton.textContent = player.playing ? "⏸ Pause" : "▶ Play";
    this.loopButton.setAttribute("aria-pressed", String(player.loop));
    this.rateText.textContent = `${this.media.playbackRate}×`;
    this.showTime();
  }

  showSaveState({ state: sent, waiting }) {
    const state = sent === "saved" && this.editor.typing ? "saving" : sent;
    this.saveState.dataset.state = state;
    const text = STATES[state](waiting);
    if (this.saveState.textContent !== text) this.saveState.textContent = text;
  }

  showUndo() {
    this.undoButton.disabled = !this.writable || !this.rows.canUndo;
    this.redoButton.disabled = !this.writable || !this.rows.canRedo;
  }

  showDone() {
    this.doneButton.textContent = this.loaded.done ? "Open again" : "I am done";
    this.doneButton.classList.toggle("primary", !this.loaded.done);
  }

  showHead() {
    const row = this.rows.get(this.selected);
    this.verifyButton.disabled = this.discardButton.disabled = !row || !this.writable;
    this.historyButton.disabled = !row;
    this.differences?.show(this.selected, this.writable);
    if (!row) {
      fill(this.head, h("p.hint", {}, "Choose a row, or insert one with ", h("kbd", {}, "n"), "."));
      return;
    }
    const found = this.rows.findingsOf(row.row_id);
    const count = (severity) => found.filter((one) => one.severity === severity).length;
    const errors = count("error");
    this.discardButton.textContent = row.discarded ? "Bring back" : "Discard …";
    this.verifyButton.disabled ||= row.discarded;
    this.verifyButton.textContent = row.status === "verified" ? "Next row" : "Verify and next";
    const status = row.discarded
      ? h("span.tag", {}, "discarded")
      : row.status === "verified"
        ? h("span.tag.good", {}, "✓ verified")
        : h("span.tag", {}, "draft");
    fill(
      this.head,
      h(
        "div.line",
        {},
        h("h2", {}, `Row ${this.rows.index.get(row.row_id) ?? "–"}`),
        status,
        errors ? h("span.tag.error", {}, `${errors} error${errors > 1 ? "s" : ""}: cannot be verified`) : null,
        count("warning") ? h("span.tag.warning", {}, `${count("warning")} to look at`) : null,
        h("span.grow"),
        h("span.hint", {}, `${(row.fields.end_time - row.fields.start_time).toFixed(2)} s`),
      ),
      row.machine && row.machine.text !== row.fields.dialogue_cleaned ? this.machineLine(row) : null,
    );
  }

  machineLine(row) {
    const take = () =>
      this.rows.setFields(row.row_id, { dialogue_cleaned: row.machine.text }, "take the machine's words");
    return h(
      "p.hint",
      {},
      `Machine (${row.machine.speaker ?? "?"}): `,
      h("q", {}, row.machine.text),
      " ",
      this.writable && !row.discarded
        ? h("button.small.quiet", { type: "button", on: { click: take } }, "Take these words")
        : null,
    );
  }

  // --- doing things

  select(id, { seek = true } = {}) {
    if (id === this.selected && seek === false) return;
    this.selected = id;
    const row = this.rows.get(id);
    this.editor.show(id);
    this.list.select(id);
    this.timeline.select(id);
    this.showHead();
    if (row && seek) this.seek(row.fields.start_time);
  }

  seek(time) {
    this.player.stretch = null;
    this.player.seek(time);
  }

  toggle() {
    if (this.player.playing) this.player.pause();
    else this.player.playFree().catch(failed);
  }

  playRow() {
    const row = this.rows.get(this.selected);
    if (!row) return;
    if (this.player.playing && this.player.stretch) this.player.pause();
    else this.player.playStretch(row.fields.start_time, row.fields.end_time).catch(failed);
  }

  go(step) {
    const id = this.list.beside(step);
    if (!id) return;
    const again = this.player.playing && this.player.stretch;
    this.select(id);
    if (again) this.playRow();
  }

  nextUnverified() {
    const order = this.rows.ordered;
    const at = order.findIndex((row) => row.row_id === this.selected);
    const next = [...order.slice(at + 1), ...order.slice(0, Math.max(at, 0))].find((row) => row.status !== "verified");
    if (next) this.select(next.row_id);
    else note("Every row is verified.");
  }

  async verify() {
    this.editor.flush();
    const row = this.rows.get(this.selected);
    if (!row || row.discarded || !this.writable) return;
    const typing =
      this.editor.element.contains(document.activeElement) && document.activeElement !== this.editor.element;
    // The findings of what was typed last come with its answer. Without a network the server decides later.
    await this.outbox.settled(PATIENCE);
    const next = this.list.beside(1) ?? null;
    if (row.status !== "verified") {
      const errors = this.rows.findingsOf(row.row_id).filter((one) => one.severity === "error");
      if (errors.length) {
        const known = errors.find((one) => this.editor.controls.has(one.field));
        note(`Row ${this.rows.index.get(row.row_id)} has errors and stays a draft: ${errors[0].message}`, {
          error: true,
        });
        if (known && this.selected === row.row_id) this.editor.focus(known.field);
        return;
      }
      await this.rows.setStatus(row.row_id, "verified");
    }
    // Whoever has gone to another row meanwhile stays there.
    if (this.selected !== row.row_id) return;
    if (next) {
      this.select(next);
      if (typing) this.editor.focus("dialogue_cleaned");
      else this.list.list.focus({ preventScroll: true });
    } else note("This was the last row.");
  }

  async split() {
    this.editor.flush();
    const row = this.rows.get(this.selected);
    const time = milliseconds(this.player.time);
    if (!row || row.discarded) return;
    if (time <= row.fields.start_time + 0.05 || time >= row.fields.end_time - 0.05) {
      note("Put the playhead inside the row, then split.", { error: true });
      return;
    }
    const words = this.loaded.turns.flatMap((turn) => turn.words ?? []);
    this.select(await this.rows.split(row.row_id, time, words));
    note("Split in two.", { action: "Undo", run: () => this.undo() });
  }

  async merge() {
    this.editor.flush();
    const { order } = this.rows;
    const at = order.indexOf(this.selected);
    if (at < 0 || at + 1 >= order.length) return void note("There is no next row to merge with.", { error: true });
    const [one, other] = [this.rows.get(order[at]), this.rows.get(order[at + 1])];
    if (one.fields.primary_speaker !== other.fields.primary_speaker) {
      const [first, second] = [one, other].map((row) => row.fields.primary_speaker || "nobody");
      const text = `In the one speaks ${first}, in the other ${second}. The merged row keeps the first speaker.`;
      if (!(await confirm("Two speakers", text, "Merge all the same"))) return;
    }
    await this.rows.merge(one.row_id, other.row_id);
    this.select(one.row_id, { seek: false });
    note("Merged with the next row.", { action: "Undo", run: () => this.undo() });
  }

  async insert() {
    this.editor.flush();
    const start = milliseconds(this.player.time);
    const next = this.rows.ordered.find((row) => row.fields.start_time > start + 0.1);
    const end = milliseconds(Math.min(start + NEW_ROW, next?.fields.start_time ?? Infinity, this.duration()));
    const turn = this.loaded.turns.find((one) => one.start <= start && start < one.end);
    const id = await this.rows.insert({ start_time: start, end_time: Math.max(end, milliseconds(start + 0.2)) });
    this.select(id, { seek: false });
    this.editor.focus("primary_speaker");
    note(turn ? "Inserted. The machine heard someone here." : "Inserted.", { action: "Undo", run: () => this.undo() });
  }

  async discard() {
    this.editor.flush();
    const row = this.rows.get(this.selected);
    if (!row) return;
    if (row.discarded) {
      await this.rows.undiscard(row.row_id);
      note("Brought back as a draft.");
      return;
    }
    const number = this.rows.index.get(row.row_id);
    const reason = await askText(`Discard row ${number}`, "Why can it not be used?", {
      choices: REASONS,
      action: "Discard",
    });
    if (!reason) return;
    const next = this.list.beside(1) ?? this.list.beside(-1);
    await this.rows.discard(row.row_id, reason);
    this.select(next);
    note(`Row ${number} is discarded; its history stays.`, { action: "Undo", run: () => this.undo() });
  }

  async undo() {
    this.editor.flush();
    const step = await this.rows.undo();
    if (step) this.shown(step, `Undone: ${step.label ?? "change"}.`);
  }

  async redo() {
    const step = await this.rows.redo();
    if (step) this.shown(step, `Redone: ${step.label ?? "change"}.`);
  }

  shown(step, text) {
    note(text);
    const id = step.ids.find((one) => this.rows.get(one) && !this.rows.get(one).discarded);
    if (id) this.select(id, { seek: false });
    this.editor.refresh();
    this.showHead();
  }

  /** The machine tells voices apart but not whose they are: one answer may name all rows of a voice. */
  offerVoice(id) {
    const row = this.rows.get(id);
    const voice = row?.machine?.speaker;
    const name = row?.fields.primary_speaker;
    if (!voice || !name) return;
    const others = this.rows.ordered.filter((one) => one.machine?.speaker === voice && !one.fields.primary_speaker);
    if (!others.length) return;
    const run = () =>
      this.rows.change(
        others.map((one) => ({ op: "edit", row_id: one.row_id, fields: { primary_speaker: name } })),
        { label: "name a voice" },
      );
    note(`${others.length} more row${others.length > 1 ? "s" : ""} of ${voice} without a speaker.`, {
      action: `All are ${name}`,
      run,
      stays: true,
    });
  }

  setEdge(field) {
    const row = this.rows.get(this.selected);
    if (!row || row.discarded) return;
    this.rows.setFields(
      row.row_id,
      { [field]: milliseconds(this.player.time) },
      `set ${field === "start_time" ? "start" : "end"}`,
    );
  }

  rowHistory() {
    if (this.selected) rowHistory(this.routes, this.rows, this.selected, this.writable);
  }

  async done() {
    this.editor.flush();
    if (this.outbox.waiting)
      return void note("Changes still wait for the server: try again when all are saved.", { error: true });
    const done = !this.loaded.done;
    if (
      done &&
      !(await confirm("I am done", "The rows can then no longer be changed until you open them again.", "Done"))
    )
      return;
    try {
      await this.routes.done(done);
      location.assign(done ? "/" : location.pathname);
    } catch (error) {
      if (error.code !== "not_verified") return void failed(error);
      const open = error.more.rows.map((id) => this.rows.index.get(id)).filter(Boolean);
      await dialog(
        "Not all rows are verified",
        (close) => [
          h(
            "p",
            {},
            `${open.length} row${open.length === 1 ? " is" : "s are"} neither verified nor discarded: `,
            open.slice(0, 30).join(", "),
            open.length > 30 ? ", …" : ".",
          ),
          h(
            "div.actions",
            {},
            h(
              "button.primary",
              { type: "button", on: { click: () => (close(), this.nextUnverified()) } },
              "Go to the next one",
            ),
          ),
        ],
        { narrow: true },
      );
    }
  }

  help() {
    const whole = this.rows.findingsOf("");
    dialog("Keys", (close) => [
      whole.length ? [h("h3", {}, "About the conversation as a whole"), whole.map(finding)] : null,
      this.shortcuts.table(),
      h("div.actions", {}, h("button.primary", { type: "button", on: { click: () => close() } }, "Close")),
    ]);
  }

  // --- other windows

  /** What was saved elsewhere, every few seconds while the page is in view. */
  async poll() {
    setTimeout(() => this.poll(), POLL);
    if (document.visibilityState === "hidden" || this.outbox.waiting) return;
    try {
      const news = await this.routes.since(this.rows.version);
      if (news.version > this.rows.version) this.rows.take(news);
    } catch (error) {
      if (error.code === "signed_out") {
        if (!this.trouble.busy && !document.querySelector("dialog[open]")) {
          this.trouble.busy = true;
          await this.trouble.signIn();
          this.trouble.busy = false;
        }
      } else if (!error.passing) failed(error);
    }
  }
}
