// Speaks with the server: docs/reference/review-api.md. Every address of the interface stands here and nowhere else.

const TIMEOUT = 15_000;

/** An answer that is no success, or none at all (`status` 0). */
export class ApiError extends Error {
  constructor(status, { code = "unreachable", message = "the server does not answer", hint = null, ...more } = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.more = more;
  }

  /** Whether the same request may succeed later. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

let csrf = null;

async function ask(method, path, body) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && csrf) headers["X-CSRF-Token"] = csrf;
  let response;
  try {
    const signal = AbortSignal.timeout(TIMEOUT);
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      credentials: "same-origin",
    });
  } catch {
    throw new ApiError(0);
  }
  if (response.status === 204) return null;
  let answer;
  try {
    answer = await response.json();
  } catch {
    // A cut answer of a server that ended: ask again. Another kind of page is no answer of ours.
    throw new ApiError(response.ok ? 0 : response.status, {
      code: "no_json",
      message: `the server answered ${response.status}`,
    });
  }
  if (response.ok) return answer;
  const error = new ApiError(response.status, answer.error);
  error.retryAfter = Number(response.headers.get("Retry-After")) || null;
  throw error;
}

/** Ask once more with a fresh token if the token was the fault: the session may have been renewed in another window. */
async function send(method, path, body) {
  try {
    return await ask(method, path, body);
  } catch (error) {
    if (error.code !== "csrf" || path === "/api/session") throw error;
    await session.read();
    return ask(method, path, body);
  }
}

const part = encodeURIComponent;

function keep(answer) {
  csrf = answer.csrf;
  return answer;
}

export const session = {
  read: async () => keep(await ask("GET", "/api/session")),
  signIn: async (name, password) => keep(await ask("POST", "/api/session", { name, password })),
  signOut: () => send("DELETE", "/api/session"),
  password: async (current, fresh) => keep(await send("POST", "/api/session/password", { current, new: fresh })),
};

export const assignments = () => send("GET", "/api/assignments");

/** The routes of one assignment. */
export function assignment(id) {
  const at = `/api/assignments/${part(id)}`;
  return {
    read: () => send("GET", at),
    save: (change) => send("POST", `${at}/changes`, change),
    since: (version) => send("GET", `${at}/changes?since=${version}`),
    check: (rowId, fields) => send("POST", `${at}/check`, { row_id: rowId, fields }),
    rowHistory: (rowId) => send("GET", `${at}/rows/${part(rowId)}/history`),
    rowAt: (rowId, version) => send("GET", `${at}/rows/${part(rowId)}/history/${version}`),
    history: (before) => send("GET", `${at}/history?limit=100${before ? `&before=${before}` : ""}`),
    done: (done) => send("POST", `${at}/done`, { done }),
    versions: () => send("GET", `${at}/versions`),
  };
}

/** The waveform as levels from 0 to 1. */
export async function waveform({ url, points_per_second: rate }) {
  const response = await fetch(url, { credentials: "same-origin" });
  if (!response.ok) throw new ApiError(response.status, { message: "the waveform is not there" });
  return { rate, peaks: Float32Array.from(new Uint8Array(await response.arrayBuffer()), (value) => value / 255) };
}

export const guidelines = () => send("GET", "/api/guidelines");

export const ratings = {
  batches: () => send("GET", "/api/ratings"),
  batch: (id) => send("GET", `/api/ratings/${part(id)}`),
  rate: (id, item, rating) => send("PUT", `/api/ratings/${part(id)}/items/${part(item)}`, rating),
};

export const admin = {
  users: () => send("GET", "/api/users"),
  addUser: (name, role) => send("POST", "/api/users", { name, role }),
  changeUser: (id, change) => send("PATCH", `/api/users/${part(id)}`, change),
  conversations: () => send("GET", "/api/conversations"),
  assign: (key, userId, task, source) =>
    send("POST", `/api/conversations/${part(key)}/assignments`, { user_id: userId, task, source }),
  unassign: (key, id) => send("DELETE", `/api/conversations/${part(key)}/assignments/${part(id)}`),
  exportConversation: (key, replace) => send("POST", `/api/conversations/${part(key)}/export`, { replace }),
  batches: () => send("GET", "/api/batches"),
  addBatch: (batch) => send("POST", "/api/batches", batch),
  exportBatch: (id) => send("POST", `/api/batches/${part(id)}/export`),
  audit: (before) => send("GET", `/api/audit?limit=100${before ? `&before=${part(before)}` : ""}`),
};
