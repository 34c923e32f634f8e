// Builds elements. Text goes in as text nodes only, so no value can become markup.

/**
 * Make an element.
 * @param {string} tag name, with classes after dots: "button.primary"
 * @param {Object} [props] attributes; `on` holds event listeners, `data` data attributes; false and null leave one out
 * @param {...(Node|string|number|null|Array)} children
 */
export function h(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (key === "value") element.value = value;
    else if (key === "checked" || key === "disabled" || key === "selected") element[key] = Boolean(value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** A text as it is shown: without the characters that turn the direction of what comes after them, also of our words. */
export const plain = (text) => String(text).replace(/[\u202A-\u202E\u2066-\u2069]/gu, "");

/** Append children, flattening lists and skipping what is empty. */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : plain(child));
  }
}

/** Replace everything inside an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

let last = 0;
/** An id that no other element has. */
export const freshId = (prefix = "x") => `${prefix}-${(last += 1)}`;

/** Whether keys typed now belong to a control and not to the page. */
export function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button", "range"].includes(target.type);
}

/** Call `run` once things have been quiet for `wait` milliseconds; `flush` calls it now if a call is due. */
export function debounce(run, wait) {
  let timer = null;
  const due = () => {
    timer = null;
    run();
  };
  const call = () => {
    clearTimeout(timer);
    timer = setTimeout(due, wait);
  };
  call.flush = () => {
    if (timer === null) return;
    clearTimeout(timer);
    due();
  };
  call.cancel = () => {
    clearTimeout(timer);
    timer = null;
  };
  return call;
}
