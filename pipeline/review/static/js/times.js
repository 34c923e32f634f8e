// Times as people read them. Seconds everywhere, as in the data.

/** 83.4 -> "1:23.40" (minutes, seconds, hundredths). */
export function clock(seconds, digits = 2) {
  if (!Number.isFinite(seconds)) return "–";
  const sign = seconds < 0 ? "-" : "";
  const scale = 10 ** digits;
  const units = Math.round(Math.abs(seconds) * scale);
  const minutes = Math.floor(units / (60 * scale));
  const rest = (units - minutes * 60 * scale) / scale;
  const hours = Math.floor(minutes / 60);
  const text = rest.toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  if (!hours) return `${sign}${minutes}:${text}`;
  return `${sign}${hours}:${String(minutes % 60).padStart(2, "0")}:${text}`;
}

/** "1:23.4" or "83.4" -> 83.4; null if it is no time. */
export function seconds(text) {
  const parts = text.trim().replace(",", ".").split(":");
  if (parts.length > 3 || parts.some((part) => !/^\d+(\.\d*)?$|^\.\d+$/.test(part))) return null;
  return milliseconds(parts.reduce((sum, part) => sum * 60 + Number(part), 0));
}

/** Round to the millisecond, as times are stored. */
export const milliseconds = (value) => Math.round(value * 1000) / 1000;

/** A moment, in the reader's language and time zone. */
export function moment(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime())
    ? String(text)
    : date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
