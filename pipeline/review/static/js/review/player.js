// Plays stretches of the recording exactly: one media element carries picture and sound, so they cannot drift apart.

const FALLBACK_FRAME = 1 / 25;
// A seek to the very border of a frame may land on the frame before it: aim a little inside.
const INSIDE = 0.001;

export const RATES = [0.5, 0.75, 1, 1.25, 1.5, 2];

/**
 * A player around a media element.
 *
 * Events: `time` (the position moved), `state` (playing, looping, rate changed).
 */
export class Player extends EventTarget {
  /**
   * @param {HTMLMediaElement} element
   * @param {{fps?: number|null, start?: number}} media frame rate where there is a picture; time of the first frame
   */
  constructor(element, { fps = null } = {}) {
    super();
    this.element = element;
    this.frame = fps ? 1 / fps : FALLBACK_FRAME;
    this.stretch = null;
    this.loop = false;
    this.seeking = Promise.resolve();
    this.watching = false;
    element.addEventListener("play", () => this.watch());
    element.addEventListener("pause", () => this.changed());
    element.addEventListener("seeked", () => this.moved());
    element.addEventListener("timeupdate", () => this.check(element.currentTime));
    element.addEventListener("ended", () => this.atEnd());
  }

  get time() {
    return this.element.currentTime;
  }

  get playing() {
    return !this.element.paused;
  }

  get duration() {
    return Number.isFinite(this.element.duration) ? this.element.duration : 0;
  }

  /** Show the frame that stands at `time`. Resolves once it is there. */
  seek(time) {
    const wanted = Math.max(0, Math.min(time, this.duration || time));
    this.element.currentTime = wanted + (wanted < (this.duration || Infinity) - INSIDE ? INSIDE : 0);
    this.seeking = new Promise((resolve) => this.element.addEventListener("seeked", resolve, { once: true }));
    this.moved();
    return this.seeking;
  }

  /** Play from `start` and stop on the last frame before `end`. */
  async playStretch(start, end) {
    this.element.pause();
    this.stretch = { start, end };
    await this.seek(start);
    if (this.stretch?.start === start) await this.play();
  }

  /** Play on from where it stands, whatever row that is. */
  async playFree() {
    this.stretch = null;
    await this.play();
  }

  async play() {
    try {
      await this.element.play();
    } catch (error) {
      // A pause or a new seek right after play is no fault.
      if (error.name !== "AbortError") throw error;
    }
    this.changed();
  }

  pause() {
    this.element.pause();
    this.changed();
  }

  setLoop(on) {
    this.loop = on;
    this.changed();
  }

  setRate(rate) {
    this.element.playbackRate = rate;
    this.element.preservesPitch = true;
    this.changed();
  }

  /** The next slower or faster rate. */
  faster(step) {
    const at = RATES.indexOf(this.element.playbackRate);
    this.setRate(RATES[Math.max(0, Math.min(RATES.length - 1, (at < 0 ? 2 : at) + step))]);
  }

  /** Go `count` frames on; negative goes back. */
  step(count) {
    this.pause();
    this.stretch = null;
    // The middle of the frame that is shown, so that rounding never keeps it where it is.
    const shown = Math.floor(this.time / this.frame + 1e-6);
    return this.seek(Math.max(0, (shown + count) * this.frame));
  }

  watch() {
    this.changed();
    if (this.watching) return;
    this.watching = true;
    const media = this.element;
    const frames = "requestVideoFrameCallback" in media && media.videoWidth > 0;
    const tick = (now, frame) => {
      if (media.paused) {
        this.watching = false;
        return;
      }
      this.moved();
      this.check(frame?.mediaTime ?? media.currentTime);
      ask();
    };
    const ask = () => (frames ? media.requestVideoFrameCallback(tick) : requestAnimationFrame(tick));
    ask();
  }

  /** Stop where the frame that is shown is the last one of the stretch. */
  check(shown) {
    if (!this.stretch || this.element.paused || this.element.seeking) return;
    const { end } = this.stretch;
    const nextFrame = this.element.videoWidth > 0 ? this.frame * this.element.playbackRate : 0;
    if (Math.max(shown + nextFrame, this.element.currentTime) >= end - INSIDE) this.atEnd();
  }

  async atEnd() {
    if (!this.stretch) return this.changed();
    const { start, end } = this.stretch;
    this.element.pause();
    if (this.loop) {
      await this.seek(start);
      if (this.stretch?.start === start) await this.play();
      return undefined;
    }
    this.stretch = null;
    // Sound may have run a little over; the picture stays on the last frame of the row.
    await this.seek(Math.max(start, end - 2 * INSIDE));
    return this.changed();
  }

  moved() {
    this.dispatchEvent(new Event("time"));
  }

  changed() {
    this.dispatchEvent(new Event("state"));
  }
}
