// One control for each kind of value. A control has an `element`, shows a value by `set`, and calls `tell(value)` on
// input. It never shows a value again that it has just told, so the caret stays where it is.

import { fill, freshId, h } from "../dom.js";
import { clock, milliseconds, seconds } from "../times.js";
import { RECORDS } from "./fields.js";

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Names to choose from: the closed list, and a name that stands there although it is not on it. */
const withPresent = (names, present) => [...names, ...present.filter((name) => name && !names.includes(name))];

/** Text of one or more lines; `empty` is what no text means. */
export function text(id, tell, { lines = 1, empty = "", hint = null } = {}) {
  const props = {
    id,
    placeholder: hint,
    on: { input: () => tell(input.value === "" ? empty : input.value) },
    autocomplete: "off",
    spellcheck: "true",
  };
  const input = lines > 1 ? h("textarea", { ...props, rows: lines }) : h("input", { ...props, type: "text" });
  const set = (value) => {
    if (input.value !== (value ?? "")) input.value = value ?? "";
  };
  return { element: input, input, set };
}

/** A time in seconds, written as minutes and seconds; arrows move it by a hundredth, with Shift by a tenth. */
export function time(id, tell, { now, label }) {
  let shown = 0;
  const input = h("input", { id, type: "text", inputmode: "decimal", autocomplete: "off" });
  const give = (value) => {
    shown = Math.max(0, milliseconds(value));
    input.value = clock(shown, 3);
    tell(shown);
  };
  input.addEventListener("change", () => {
    const value = seconds(input.value);
    input.setAttribute("aria-invalid", String(value === null));
    if (value !== null) give(value);
  });
  input.addEventListener("keydown", (event) => {
    const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    give(shown + way * (event.shiftKey ? 0.1 : 0.01));
  });
  const here = h(
    "button.small",
    { type: "button", title: `${label} where the playhead stands`, on: { click: () => give(now()) } },
    "Set here",
  );
  const set = (value) => {
    shown = value;
    if (document.activeElement !== input || seconds(input.value) !== value) input.value = clock(value, 3);
  };
  return { element: h("div.time-control", {}, input, here), input, set };
}

/** One name of a closed list. */
export function person(id, tell, { names, empty = "" }) {
  const input = h("select", { id, on: { change: () => tell(input.value || empty) } });
  const set = (value) => {
    const options = [
      h("option", { value: "" }, "choose …"),
      ...withPresent(names, [value]).map((name) => h("option", { value: name }, name)),
    ];
    fill(input, options);
    input.value = value ?? "";
  };
  set(null);
  return { element: input, input, set };
}

/** Some names of a closed list. */
export function people(id, tell, { names, label, group = null }) {
  const element = h("div.chips", { role: "group", "aria-label": label, id });
  let shown = null;
  const give = (name, on) => {
    // The group stands alone: it means everyone.
    const kept = on
      ? shown.filter((one) => (group && (name === group || one === group) ? false : one !== name))
      : shown.filter((one) => one !== name);
    const order = withPresent(names, shown);
    const next = on ? [...kept, name] : kept;
    next.sort((one, other) => order.indexOf(one) - order.indexOf(other));
    draw(next);
    tell(next);
  };
  const draw = (value) => {
    const focused = element.contains(document.activeElement) ? document.activeElement.value : null;
    shown = value;
    fill(
      element,
      withPresent(names, value).map((name) =>
        h(
          "label.chip",
          {},
          h("input", {
            type: "checkbox",
            value: name,
            checked: value.includes(name),
            on: { change: (event) => give(name, event.target.checked) },
          }),
          h("span", {}, name),
        ),
      ),
    );
    if (focused !== null) [...element.querySelectorAll("input")].find((input) => input.value === focused)?.focus();
  };
  draw([]);
  return { element, set: (value) => !same(value, shown) && draw([...value]) };
}

/** One label of a set, with its definition below. `choices` come before the labels: [value, name]. */
export function label(id, tell, { labels, choices, define }) {
  const definition = h("p.definition", { id: freshId("definition"), hidden: true });
  const keys = choices.map(([value]) => value);
  const input = h("select", { id, "aria-describedby": definition.id });
  const explain = (value) => {
    const found = labels.find((one) => one.label === value);
    definition.hidden = !found;
    if (found) fill(definition, found.definition, " ", h("b", {}, "In doubt: "), found.boundary);
  };
  input.addEventListener("change", () => {
    const at = input.selectedIndex;
    const value = at < keys.length ? keys[at] : input.value;
    explain(value);
    tell(value);
  });
  const set = (value) => {
    const unknown = value && !labels.some((one) => one.label === value);
    fill(
      input,
      choices.map(([, name], at) => h("option", { value: `:${at}` }, name)),
      labels.map((one) =>
        h("option", { value: one.label, title: `${one.definition} ${one.boundary}` }, one.label.replaceAll("_", " ")),
      ),
      unknown ? h("option", { value }, `${value} (no label)`) : null,
    );
    const plain = keys.indexOf(value ?? null) >= 0 ? keys.indexOf(value ?? null) : keys.indexOf("");
    input.value = value ? value : `:${Math.max(0, plain)}`;
    explain(value);
  };
  const help = h("button.small.quiet", { type: "button", on: { click: define } }, "Definitions");
  return { element: h("div", {}, h("div.with-button", {}, input, help), definition), input, set };
}

/** Strength on a scale from 0 to 10, by slider or by number. */
export function scale(id, tell, { label: name }) {
  const range = h("input", {
    type: "range",
    min: 0,
    max: 10,
    step: 0.5,
    "aria-label": `${name}, slider`,
    tabindex: "-1",
  });
  const input = h("input", { id, type: "number", min: 0, max: 10, step: 0.5, "aria-label": name });
  range.addEventListener("input", () => {
    input.value = range.value;
    tell(Number(range.value));
  });
  input.addEventListener("input", () => {
    const value = input.value === "" ? null : Number(input.value);
    if (value !== null) range.value = String(value);
    tell(value);
  });
  const set = (value) => {
    range.value = String(value ?? 0);
    if (input.value === "" || Number(input.value) !== value) input.value = value ?? "";
  };
  return { element: h("div.scale", {}, range, input), input, set };
}

/** Row numbers, which stand for row ids: "3, 4". */
export function evidence(id, tell, { numberOf, idOf }) {
  let shown = null;
  const input = h("input", { id, type: "text", placeholder: "row numbers: 3, 4", autocomplete: "off" });
  input.addEventListener("change", () => {
    const parts = input.value.split(/[\s,;]+/).filter(Boolean);
    const ids = parts.map((part) => idOf(Number(part)));
    const wrong = parts.find((part, at) => !ids[at]);
    input.setCustomValidity(wrong === undefined ? "" : `There is no row ${wrong}.`);
    input.setAttribute("aria-invalid", String(wrong !== undefined));
    if (!input.reportValidity()) return;
    shown = parts.length ? [...new Set(ids)] : null;
    tell(shown);
  });
  const set = (value) => {
    shown = value;
    if (document.activeElement !== input) input.value = (value ?? []).map((one) => numberOf(one) ?? "?").join(", ");
  };
  return { element: input, input, set };
}

/** A list of records, each a small card; `make` gives a new one. */
export function records(field, tell, { make, names, persons, group, labels, define }) {
  const { one, parts, fixed = {} } = RECORDS[field];
  const list = h("div.records");
  const add = h(
    "button.small.quiet",
    { type: "button", data: { add: field }, on: { click: () => addOne() } },
    `+ Add ${one}`,
  );
  let shown = [];
  const give = () => tell(structuredClone(shown));

  const addOne = () => {
    shown = [...shown, { ...make(), ...fixed }];
    draw();
    give();
    const card = list.lastElementChild;
    const blank = [...card.querySelectorAll("select, input[type=text]")].find(
      (input) => input.value === "" || input.value === ":0",
    );
    (blank ?? card.querySelector("input, select")).focus();
  };
  const removeAt = (at) => {
    shown = shown.filter((_, place) => place !== at);
    draw();
    give();
    (list.children[Math.min(at, shown.length - 1)]?.querySelector("input, select") ?? add).focus();
  };
  const part = (spec, at) => {
    const id = freshId(spec.name);
    const change = (value) => {
      shown = shown.map((record, place) => (place === at ? { ...record, [spec.name]: value } : record));
      give();
    };
    const name = `${spec.label}, ${one} ${at + 1}`;
    const made = {
      person: () => person(id, change, { names: persons }),
      people: () => people(id, change, { names, label: name, group }),
      text: () => text(id, change, { hint: spec.hint ? `${spec.label}: ${spec.hint}` : spec.label }),
      scale: () => scale(id, change, { label: name }),
      label: () => label(id, change, { labels, choices: [["", "choose …"]], define }),
    }[spec.kind]();
    made.input?.setAttribute("aria-label", name);
    made.set(shown[at][spec.name]);
    return { ...made, kind: spec.kind };
  };
  const card = (at) => {
    const made = parts.map((spec) => part(spec, at));
    const remove = h(
      "button.small.quiet.remove",
      { type: "button", "aria-label": `Remove ${one} ${at + 1}`, title: "Remove", on: { click: () => removeAt(at) } },
      "✕",
    );
    const short = made.filter((one) => one.kind !== "text");
    const line = [];
    short.forEach((one, place) => {
      if (place && one.kind !== "scale" && made[0].kind === "person")
        line.push(h("span.arrow", { "aria-hidden": "true" }, "→"));
      line.push(one.element);
    });
    return h(
      "div.record",
      { role: "group", "aria-label": `${one} ${at + 1}` },
      h("div.record-line", {}, line, remove),
      made.filter((one) => one.kind === "text").map((one) => one.element),
    );
  };
  const draw = () =>
    fill(
      list,
      shown.map((_, at) => card(at)),
    );
  const set = (value) => {
    if (same(value, shown)) return;
    shown = structuredClone(value);
    draw();
  };
  return { element: h("div", {}, list, add), input: add, set, addOne };
}
