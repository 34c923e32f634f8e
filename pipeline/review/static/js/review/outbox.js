// Changes on their way to the server. Each lies in IndexedDB from the moment it is made until the server has
// acknowledged it, so neither a dropped network nor a closed or crashed page loses one. A change keeps its `change_id`
// and, once sent, its content: the server applies it once however often it is sent.

const DATABASE = "rescue-review";
const STORE = "changes";
const RETRY = [500, 1000, 2000, 4000, 8000];

function open() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () =>
      request.result.createObjectStore(STORE, { keyPath: "sequence", autoIncrement: true });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Names of the windows that are open: each holds a lock with its name for as long as it lives. */
async function openWindows() {
  const { held } = await navigator.locks.query();
  return new Set(held.map((lock) => lock.name));
}

/**
 * Sends changes one after another, in order.
 *
 * Events: `state` ({state, waiting}), `queued` ({change}), `sent` ({change, answer}), `failed` ({change, error}): the
 * queue stands still until `settle` is called for that change.
 */
export class Outbox extends EventTarget {
  /**
   * @param {string} owner whose changes to what: user and assignment
   * @param {(body: object) => Promise<object>} save
   */
  constructor(owner, save) {
    super();
    this.owner = owner;
    this.save = save;
    this.queue = [];
    this.window = `rescue-window-${crypto.randomUUID()}`;
    this.running = false;
    this.failures = 0;
    this.failed = null;
    this.writing = Promise.resolve();
    this.state = "saved";
    window.addEventListener("online", () => this.wake());
  }

  /** Open the store and take over what a window that is gone has left. */
  async start() {
    await new Promise((ready) => {
      // Held until the page ends: the promise inside never resolves.
      navigator.locks.request(this.window, () => new Promise(() => ready()));
    });
    this.database = await open();
    const all = await done(this.database.transaction(STORE).objectStore(STORE).getAll());
    const alive = await openWindows();
    this.queue = all.filter((change) => change.owner === this.owner && !alive.has(change.window));
    for (const change of this.queue) {
      change.window = this.window;
      await this.write(change);
    }
    this.tellState();
  }

  /** How many changes of this owner wait. */
  get waiting() {
    return this.queue.length;
  }

  /**
   * Queue a change; resolves when it lies safely in the browser's store.
   * @param {object[]} edits
   * @param {object} previews row id to what the row looks like for operations whose result only the server knows
   */
  async add(edits, previews = {}) {
    const last = this.queue.at(-1);
    if (last && this.joins(last, edits)) {
      const [mine] = last.edits;
      mine.fields = { ...mine.fields, ...edits[0].fields };
      this.tell("queued", { change: last });
      await this.write(last);
      return;
    }
    const change = {
      owner: this.owner,
      window: this.window,
      change_id: crypto.randomUUID(),
      edits,
      previews,
      sent: false,
    };
    this.queue.push(change);
    this.tell("queued", { change });
    this.tellState();
    await this.write(change);
    this.run();
  }

  /** Edits of the fields of one row that was not sent yet travel together. */
  joins(last, edits) {
    const [one, other] = [last.edits[0], edits[0]];
    const plain = (edit, all) => all.length === 1 && edit.op === "edit" && !edit.status;
    return (
      !last.sent &&
      last !== this.failed?.change &&
      plain(one, last.edits) &&
      plain(other, edits) &&
      one.row_id === other.row_id
    );
  }

  /** Resolves when nothing waits any more, or when the server has not answered within some milliseconds. */
  settled(patience) {
    if (!this.queue.length) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.removeEventListener("state", look);
        resolve();
      };
      const look = () => (!this.queue.length || this.failed || this.failures) && end();
      const timer = setTimeout(end, patience);
      this.addEventListener("state", look);
    });
  }

  /** Try again now. */
  wake() {
    clearTimeout(this.timer);
    this.timer = null;
    this.run();
  }

  /** Go on after a failure: with other changes in the place of the failed one, or without it. */
  async settle(change, edits = []) {
    const place = this.queue.indexOf(change);
    this.failed = null;
    await this.remove(change);
    if (edits.length) {
      // The same place in the store keeps the order after a reload.
      const made = { ...change, change_id: crypto.randomUUID(), edits, sent: false };
      this.queue.splice(place, 0, made);
      await this.write(made);
    }
    this.tell("queued", { change });
    this.tellState();
    this.run();
  }

  /** Send the failed change again as it is, for example after signing in. */
  retry() {
    this.failed = null;
    this.tellState();
    this.wake();
  }

  async run() {
    if (this.running || this.failed || this.timer) return;
    this.running = true;
    try {
      while (this.queue.length && !this.failed) {
        const [change] = this.queue;
        if (!change.sent) {
          change.sent = true;
          await this.write(change);
        }
        this.tellState();
        if (!(await this.send(change))) break;
      }
    } finally {
      this.running = false;
      this.tellState();
    }
  }

  /** Returns whether to go on. */
  async send(change) {
    let answer;
    try {
      answer = await this.save({ change_id: change.change_id, edits: change.edits });
    } catch (error) {
      if (error.passing) {
        const wait = error.retryAfter ? error.retryAfter * 1000 : RETRY[Math.min(this.failures, RETRY.length - 1)];
        this.failures += 1;
        this.timer = setTimeout(() => this.wake(), wait);
        this.tellState();
        return false;
      }
      this.failed = { change, error };
      this.tell("failed", { change, error });
      return false;
    }
    this.failures = 0;
    this.rebase(change, answer);
    await this.remove(change);
    this.tell("sent", { change, answer });
    return true;
  }

  /**
   * What was queued after a change was made on top of it: its base is now the acknowledged version. Not so where the
   * acknowledged version holds a foreign value of a field that the later change sets: then the old base lets the
   * server see the conflict.
   */
  rebase(change, answer) {
    const versions = new Map(answer.rows.map((row) => [row.row_id, row.version]));
    const touched = new Set(change.edits.map((edit) => edit.row_id));
    for (const later of this.queue) {
      if (later === change || later.sent) continue;
      for (const edit of later.edits) {
        if (!touched.has(edit.row_id) || !versions.has(edit.row_id) || edit.op === "insert") continue;
        const foreign = answer.merged?.[edit.row_id] ?? [];
        if (!foreign.some((field) => field in (edit.fields ?? {}))) edit.base_version = versions.get(edit.row_id);
      }
      this.write(later);
    }
  }

  async write(change) {
    const { owner, window: holder, change_id, edits, previews, sent, sequence } = change;
    const record = structuredClone({ owner, window: holder, change_id, edits, previews, sent });
    if (sequence !== undefined) record.sequence = sequence;
    // One after another: the first write gives a change its place, later ones need it.
    this.writing = this.writing.then(async () => {
      if (change.gone) return;
      if (change.sequence !== undefined) record.sequence = change.sequence;
      const store = this.database.transaction(STORE, "readwrite", { durability: "strict" }).objectStore(STORE);
      change.sequence = await done(store.put(record));
    });
    return this.writing;
  }

  async remove(change) {
    this.queue = this.queue.filter((one) => one !== change);
    this.writing = this.writing.then(async () => {
      change.gone = true;
      if (change.sequence === undefined) return;
      await done(this.database.transaction(STORE, "readwrite").objectStore(STORE).delete(change.sequence));
    });
    return this.writing;
  }

  tellState() {
    let state = "saved";
    if (this.failed) state = this.failed.error.code === "conflict" ? "conflict" : "refused";
    else if (this.queue.length) state = this.failures ? "waiting" : "saving";
    this.state = state;
    this.tell("state", { state, waiting: this.queue.length });
  }

  tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
