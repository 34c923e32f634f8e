// The fields of a row: their names, what stands beside them, and which control each gets. The order is that of the
// guidelines. Names are those of annotation_schema/row.schema.json.

import { clock } from "../times.js";

/** A row with nothing in it. */
export const BLANK = Object.freeze({
  start_time: 0,
  end_time: 0,
  primary_speaker: "",
  target: [],
  dialogue_cleaned: "",
  utterance_type: null,
  background_dialogue: [],
  tone_of_voice: null,
  body_posture: [],
  facial_expressions: [],
  self_directed_behavior: [],
  interaction_behavior: [],
  internal_emotion: [],
  viewpoints_attitudes: [],
  support_strategy: [],
  relation_pattern: null,
  relation_pattern_reason: null,
  relation_pattern_evidence_rows: null,
  relation_cycle_state: null,
  relation_cycle_reason: null,
  relation_cycle_evidence_rows: null,
});

const described = (hint) => [
  { name: "person", kind: "person", label: "Person" },
  { name: "description", kind: "text", label: "What a camera sees", hint },
];

/** Records of the list fields: parts in order of input; `pair` draws an arrow between actor and target. */
export const RECORDS = {
  background_dialogue: {
    one: "background speech",
    parts: [
      { name: "speaker", kind: "person", label: "Speaker" },
      { name: "target", kind: "people", label: "To" },
      { name: "content", kind: "text", label: "Words", hint: "mhm" },
    ],
  },
  body_posture: { one: "posture", parts: described("leans back, arms crossed") },
  facial_expressions: { one: "expression", parts: described("frowns, looks at the floor") },
  self_directed_behavior: { one: "self-directed behaviour", parts: described("rubs her hands") },
  interaction_behavior: {
    one: "behaviour toward someone",
    parts: [
      { name: "initiator", kind: "person", label: "Who" },
      { name: "target", kind: "people", label: "Toward" },
      { name: "description", kind: "text", label: "What is done", hint: "hands her the tissues" },
    ],
  },
  internal_emotion: {
    one: "emotion",
    parts: [
      { name: "person", kind: "person", label: "Person" },
      { name: "emotion_description", kind: "text", label: "Emotion", hint: "hurt and braced for the next blow" },
      { name: "intensity", kind: "scale", label: "Intensity, 0 to 10" },
    ],
  },
  viewpoints_attitudes: {
    one: "viewpoint",
    parts: [
      { name: "source", kind: "person", label: "Who thinks" },
      { name: "target", kind: "person", label: "Of whom" },
      { name: "viewpoint", kind: "text", label: "Viewpoint", hint: "He ignores her unless she escalates" },
      { name: "attitude", kind: "text", label: "Attitude", hint: "bitter, still hoping" },
    ],
  },
  support_strategy: {
    one: "strategy",
    parts: [
      { name: "strategy_type", kind: "label", label: "Strategy", set: "support_strategies" },
      { name: "target", kind: "people", label: "Meant to help" },
      { name: "strategy_content", kind: "text", label: "What is done", hint: "names the cycle as it happens" },
    ],
    fixed: { provider: "Therapist" },
  },
};

export const NAMES = {
  start_time: "Start",
  end_time: "End",
  primary_speaker: "Speaker",
  target: "To whom",
  dialogue_cleaned: "Words",
  utterance_type: "Type of utterance",
  background_dialogue: "Background speech",
  tone_of_voice: "Tone of voice",
  body_posture: "Body posture",
  facial_expressions: "Facial expressions",
  self_directed_behavior: "Self-directed behaviour",
  interaction_behavior: "Behaviour toward someone",
  internal_emotion: "Emotions",
  viewpoints_attitudes: "Viewpoints",
  support_strategy: "Support strategies",
  relation_pattern: "Pattern",
  relation_pattern_reason: "Reason",
  relation_pattern_evidence_rows: "Evidence rows",
  relation_cycle_state: "Pattern (older field)",
  relation_cycle_reason: "Reason (older field)",
  relation_cycle_evidence_rows: "Evidence rows (older field)",
  status: "Status",
  discarded: "Discarded",
  discard_reason: "Reason",
  machine: "Recognition",
  row: "Row",
  relation_label: "Pattern",
  intensity: "Intensity of emotions",
  emotion_persons: "Who feels",
  viewpoint_pairs: "Who thinks of whom",
};

export const nameOf = (field) => NAMES[field] ?? field;

export const EVIDENCE = ["relation_pattern_evidence_rows", "relation_cycle_evidence_rows"];

/** A new record of a list field, filled with what is most likely meant in this row. */
export function newRecord(field, row, group) {
  const { primary_speaker: speaker, target } = row;
  const other = target.find((name) => name !== group) ?? "";
  const blank = {
    background_dialogue: { speaker: other, target: speaker ? [speaker] : [], content: "" },
    body_posture: { person: speaker, description: "" },
    facial_expressions: { person: speaker, description: "" },
    self_directed_behavior: { person: speaker, description: "" },
    interaction_behavior: { initiator: speaker, target: [...target], description: "" },
    internal_emotion: { person: speaker, emotion_description: "", intensity: 5 },
    viewpoints_attitudes: { source: speaker, target: other, viewpoint: "", attitude: "" },
    support_strategy: { provider: "Therapist", target: [...target], strategy_type: "", strategy_content: "" },
  };
  return blank[field];
}

/** A value as people read it; row ids become row numbers. */
export function readable(field, value, index) {
  if (value === null || value === undefined) return "—";
  if (value === "") return field === "relation_pattern" ? "no clear pattern" : "(empty)";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return field.endsWith("_time") ? clock(value, 3) : String(value);
  if (!Array.isArray(value)) return typeof value === "object" ? record(value) : String(value);
  if (!value.length) return "(none)";
  if (EVIDENCE.includes(field)) return value.map((id) => index?.get(id) ?? id).join(", ");
  return value
    .map((item) => (typeof item === "object" ? record(item) : item))
    .join(typeof value[0] === "object" ? "\n" : ", ");
}

function record(item) {
  return Object.values(item)
    .map((part) => (Array.isArray(part) ? part.join(", ") : part))
    .filter((part) => part !== null && part !== "")
    .join(" · ");
}
