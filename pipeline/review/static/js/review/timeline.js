// The timeline: waveform, subtitle cues, machine turns and one lane a speaker with its rows, drawn on one canvas.
// It draws only what is in view, so its cost does not grow with the length of the recording. Everything it offers is
// also reachable from the keyboard and in the list of rows; the canvas is a picture for assistive technology.

import { h, plain } from "../dom.js";
import { clock, milliseconds } from "../times.js";

const RULER = 20;
const WAVE = 56;
const CUE_LANE = 18;
const TURN_LANE = 14;
const ROW_LANE = 30;
const GAP = 4;
const GRIP = 6;
const SHORTEST = 0.05;
const STEPS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600];

/**
 * Events: `seek` ({time}), `select` ({uid}), `edges` ({uid, start, end}) when an edge was dragged.
 */
export class Timeline extends EventTarget {
  /** @param {{duration: number, cues: Array, turns: Array}} material */
  constructor({ duration, cues = [], turns = [] }) {
    super();
    this.duration = Math.max(duration, 1);
    this.cues = cues;
    this.turns = turns;
    this.rows = [];
    this.selected = null;
    this.time = 0;
    this.peaks = null;
    this.scale = null;
    this.drag = null;
    this.due = false;
    this.names = [];
    this.canvas = h("canvas", { role: "img", "aria-label": "Timeline of the recording with all rows" });
    this.space = h("div.timeline-space", {}, this.canvas);
    this.scroller = h(
      "div.timeline-scroller",
      { tabindex: "0", role: "region", "aria-label": "Timeline, scrolls sideways" },
      this.space,
    );
    this.labels = h("div.timeline-labels", { "aria-hidden": "true" });
    this.element = h("div.timeline", {}, this.labels, this.scroller);
    this.scroller.addEventListener("scroll", () => this.redraw());
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerup", (event) => this.release(event));
    this.canvas.addEventListener("pointercancel", () => this.cancel());
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.scroller);
  }

  close() {
    this.observer.disconnect();
  }

  setRows(rows, names) {
    this.rows = [...rows].sort((one, other) => one.start - other.start);
    this.names = names;
    this.layout();
    this.redraw();
  }

  /** @param {{rate: number, peaks: number[]}} wave largest absolute level in each of `rate` bins a second, 0 to 1 */
  setWave(wave) {
    this.peaks = wave;
    this.redraw();
  }

  setTime(time, follow) {
    this.time = time;
    if (follow) this.follow(time);
    this.redraw();
  }

  select(uid) {
    this.selected = uid;
    const row = this.rows.find((one) => one.uid === uid);
    if (row) this.reveal(row.start, row.end);
    this.redraw();
  }

  // --- geometry

  get turnNames() {
    return [...new Set(this.turns.map((turn) => turn.speaker))];
  }

  layout() {
    let top = RULER;
    const lane = (kind, name, height, label = name, title = label) => {
      const made = { kind, name, label, title, top, height };
      top += height + GAP;
      return made;
    };
    this.lanes = [lane("wave", "wave", WAVE, "Sound")];
    if (this.cues.length) this.lanes.push(lane("cues", "cues", CUE_LANE, "Subtitles"));
    for (const name of this.turnNames)
      this.lanes.push(lane("turns", name, TURN_LANE, name ?? "?", `Machine turns of ${name ?? "nobody"}`));
    for (const name of this.names) this.lanes.push(lane("rows", name, ROW_LANE, name || "no speaker yet"));
    this.height = top;
    this.labels.replaceChildren(
      h("div.lane-label.ruler", {}, ""),
      ...this.lanes.map((one) =>
        h(`div.lane-label.${one.kind === "rows" ? "person" : one.kind}`, { title: one.title }, one.label),
      ),
    );
    this.canvas.style.height = `${this.height}px`;
    this.space.style.height = `${this.height}px`;
    this.size();
  }

  resize() {
    if (!this.scale && this.scroller.clientWidth) this.scale = Math.max(this.scroller.clientWidth / 40, this.least());
    if (!this.lanes) this.layout();
    this.size();
    this.redraw();
  }

  least() {
    return this.scroller.clientWidth / this.duration;
  }

  size() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.scroller.clientWidth;
    this.canvas.style.width = `${width}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.space.style.width = `${Math.ceil((this.scale ?? 1) * this.duration)}px`;
  }

  x(time) {
    return time * this.scale - this.scroller.scrollLeft;
  }

  at(x) {
    return Math.max(0, Math.min(this.duration, (x + this.scroller.scrollLeft) / this.scale));
  }

  zoom(factor, about = this.time) {
    const x = this.x(about);
    const kept = x < 0 || x > this.scroller.clientWidth ? this.scroller.clientWidth / 2 : x;
    this.scale = Math.max(this.least(), Math.min(1000, this.scale * factor));
    this.size();
    this.scroller.scrollLeft = about * this.scale - kept;
    this.redraw();
  }

  fit() {
    this.zoom(0);
  }

  reveal(start, end) {
    if (!this.scale) return;
    const width = this.scroller.clientWidth;
    if (this.x(start) >= 8 && this.x(end) <= width - 8) return;
    const length = (end - start) * this.scale;
    this.scroller.scrollLeft = start * this.scale - Math.max(24, (width - length) / 2);
  }

  follow(time) {
    const x = this.x(time);
    const width = this.scroller.clientWidth;
    if (x > width - 40 || x < 0) this.scroller.scrollLeft = time * this.scale - width * 0.1;
  }

  // --- drawing

  redraw() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      if (this.scale && this.canvas.isConnected) this.draw();
    });
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const context = this.canvas.getContext("2d");
    const style = getComputedStyle(this.element);
    const colour = (name) => style.getPropertyValue(name).trim();
    const width = this.scroller.clientWidth;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, this.height);
    context.font = `12px ${style.fontFamily}`;
    context.textBaseline = "middle";
    const from = this.at(0);
    const to = this.at(width);
    this.drawRuler(context, colour, from, to, width);
    for (const lane of this.lanes) {
      context.fillStyle = colour("--lane");
      context.fillRect(0, lane.top, width, lane.height);
      if (lane.kind === "wave") this.drawWave(context, colour, lane, width);
      else if (lane.kind === "cues")
        this.drawBoxes(context, lane, this.cues, from, to, () => [colour("--cue"), colour("--ink")]);
      else if (lane.kind === "turns") this.drawTurns(context, colour, lane, from, to);
      else this.drawRows(context, colour, lane, from, to);
    }
    const x = Math.round(this.x(this.time)) + 0.5;
    context.fillStyle = colour("--playhead");
    context.fillRect(x - 1, 0, 2, this.height);
    context.beginPath();
    context.moveTo(x - 5, 0);
    context.lineTo(x + 5, 0);
    context.lineTo(x, 8);
    context.fill();
  }

  drawRuler(context, colour, from, to, width) {
    const step = STEPS.find((one) => one * this.scale >= 80) ?? 1800;
    context.fillStyle = colour("--muted");
    for (let time = Math.floor(from / step) * step; time <= to; time += step) {
      const x = this.x(time);
      context.fillRect(Math.round(x), RULER - 5, 1, 5);
      if (x < width - 20) context.fillText(clock(time, step < 1 ? 2 : 0), x + 4, RULER / 2 - 1);
    }
  }

  drawWave(context, colour, lane, width) {
    if (!this.peaks) return;
    const { rate, peaks } = this.peaks;
    const middle = lane.top + lane.height / 2;
    context.fillStyle = colour("--wave");
    for (let x = 0; x < width; x += 1) {
      const first = Math.floor(this.at(x) * rate);
      const after = Math.max(first + 1, Math.floor(this.at(x + 1) * rate));
      let level = 0;
      for (let bin = first; bin < after && bin < peaks.length; bin += 1) level = Math.max(level, peaks[bin]);
      // The square root shows quiet speech beside loud speech.
      const tall = Math.max(0.5, (Math.sqrt(level) * lane.height) / 2);
      context.fillRect(x, middle - tall, 1, 2 * tall);
    }
  }

  drawTurns(context, colour, lane, from, to) {
    const mine = this.turns.filter((turn) => turn.speaker === lane.name);
    this.drawBoxes(context, lane, mine, from, to, () => [colour("--turn"), colour("--ink")]);
  }

  drawRows(context, colour, lane, from, to) {
    const mine = this.rows.filter((row) => row.speaker === lane.name);
    const tint = lane.name ? colour(`--speaker-${this.names.indexOf(lane.name) % 6}`) : colour("--line");
    for (const row of mine) {
      if (row.end < from || row.start > to) continue;
      const chosen = row.uid === this.selected;
      const x = this.x(row.start);
      const wide = Math.max(2, this.x(row.end) - x);
      context.globalAlpha = row.verified || chosen ? 1 : 0.75;
      context.fillStyle = tint;
      context.fillRect(x, lane.top + 1, wide, lane.height - 2);
      context.globalAlpha = 1;
      if (row.errors) this.mark(context, colour("--error"), x, lane.top + 1, wide);
      else if (row.verified) this.mark(context, colour("--good"), x, lane.top + 1, wide);
      context.strokeStyle = chosen ? colour("--ink") : colour("--paper");
      context.lineWidth = chosen ? 2 : 1;
      context.strokeRect(x + 0.5, lane.top + 1.5, wide - 1, lane.height - 3);
      this.write(context, colour("--ink"), `${row.index}  ${row.text}`, x, lane, wide);
      if (chosen) {
        context.fillStyle = colour("--ink");
        context.fillRect(x - 1, lane.top + 7, 4, lane.height - 14);
        context.fillRect(x + wide - 3, lane.top + 7, 4, lane.height - 14);
      }
    }
  }

  drawBoxes(context, lane, boxes, from, to, colours) {
    const [back, ink] = colours();
    for (const box of boxes) {
      if (box.end < from || box.start > to) continue;
      const x = this.x(box.start);
      const wide = Math.max(1, this.x(box.end) - x - 1);
      context.fillStyle = back;
      context.fillRect(x, lane.top + 1, wide, lane.height - 2);
      this.write(context, ink, box.text ?? "", x, lane, wide);
    }
  }

  mark(context, colour, x, y, wide) {
    context.fillStyle = colour;
    context.fillRect(x, y, wide, 3);
  }

  write(context, colour, text, x, lane, wide) {
    const left = Math.max(x, 0);
    const room = wide - (left - x) - 8;
    if (room < 16) return;
    context.save();
    context.beginPath();
    context.rect(left, lane.top, room + 5, lane.height);
    context.clip();
    context.fillStyle = colour;
    context.fillText(plain(text.slice(0, 200)), left + 5, lane.top + lane.height / 2 + 1);
    context.restore();
  }

  // --- pointer

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  hit({ x, y }) {
    const lane = this.lanes?.find((one) => y >= one.top && y < one.top + one.height);
    if (lane?.kind !== "rows") return { lane };
    const near = (row, edge) => Math.abs(this.x(row[edge]) - x) <= GRIP;
    const mine = this.rows.filter((row) => row.speaker === lane.name);
    const chosen = mine.find((row) => row.uid === this.selected);
    if (chosen && near(chosen, "end")) return { lane, row: chosen, edge: "end" };
    if (chosen && near(chosen, "start")) return { lane, row: chosen, edge: "start" };
    const inside = mine.filter((row) => this.x(row.start) <= x && this.x(row.end) >= x).at(-1);
    const edge = mine.find((row) => near(row, "end")) ?? mine.find((row) => near(row, "start"));
    if (edge && !inside) return { lane, row: edge, edge: near(edge, "end") ? "end" : "start" };
    if (!inside) return { lane };
    if (near(inside, "end")) return { lane, row: inside, edge: "end" };
    if (near(inside, "start")) return { lane, row: inside, edge: "start" };
    return { lane, row: inside };
  }

  press(event) {
    if (event.button !== 0) return;
    const place = this.point(event);
    const { lane, row, edge } = this.hit(place);
    if (row) {
      if (row.uid !== this.selected) this.tell("select", { uid: row.uid });
      if (edge && !this.frozen) {
        this.drag = { row, edge, start: row.start, end: row.end, moved: false };
        this.canvas.setPointerCapture(event.pointerId);
      }
      return;
    }
    this.tell("seek", { time: this.at(place.x) });
    if (lane?.kind === "wave" || !lane) {
      this.drag = { scrub: true };
      this.canvas.setPointerCapture(event.pointerId);
    }
  }

  move(event) {
    const place = this.point(event);
    if (!this.drag) {
      const { row, edge } = this.hit(place);
      this.canvas.style.cursor = edge && !this.frozen ? "ew-resize" : row ? "pointer" : "text";
      return;
    }
    if (this.drag.scrub) return void this.tell("seek", { time: this.at(place.x) });
    const { row, edge } = this.drag;
    const time = milliseconds(this.at(place.x));
    this.drag.moved = true;
    if (edge === "start") row.start = Math.min(time, row.end - SHORTEST);
    else row.end = Math.max(time, row.start + SHORTEST);
    this.tell("dragging", { uid: row.uid, edge, time: row[edge] });
    this.redraw();
  }

  release() {
    const drag = this.drag;
    this.drag = null;
    if (!drag?.moved) return;
    const { uid, start, end } = drag.row;
    this.tell("edges", { uid, start: milliseconds(start), end: milliseconds(end) });
  }

  cancel() {
    if (this.drag?.row) Object.assign(this.drag.row, { start: this.drag.start, end: this.drag.end });
    this.drag = null;
    this.redraw();
  }

  wheel(event) {
    if (event.ctrlKey) return; // the browser's own zoom
    if (event.altKey) {
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, this.at(this.point(event).x));
    } else if (!event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX)) {
      event.preventDefault();
      this.scroller.scrollLeft += event.deltaY;
    }
  }

  tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
