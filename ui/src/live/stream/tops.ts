/** The strongest features of each layer, step by step: the newest steps, and of each the first few. */

export interface TopFeatures {
  readonly step: number;
  readonly layer: number;
  /** Strongest first, by the highest activation on any token of the step. */
  readonly features: readonly number[];
  readonly highs: readonly number[];
}

const TOP = 24;
const STEPS = 512;
const MOST_CLOSED = STEPS * 64;

export class Tops {
  readonly #kept = new Map<number, Map<number, TopFeatures>>();
  #step = Number.NaN;
  readonly #open = new Map<number, Map<number, number>>();
  readonly #changed = new Set<number>();
  /** Of steps that were closed and not taken yet. */
  #closed: TopFeatures[] = [];

  /** Add one record. Steps come in order; `dropFrom` comes before one that does not. */
  add(step: number, layer: number, features: readonly number[], activations: readonly (number | null)[]): void {
    if (step !== this.#step) {
      this.#close();
      this.#step = step;
    }
    let highs = this.#open.get(layer);
    if (highs === undefined) {
      highs = new Map();
      this.#open.set(layer, highs);
    }
    features.forEach((feature, index) => {
      const value = activations[index] ?? null;
      if (value !== null && value > (highs.get(feature) ?? Number.NEGATIVE_INFINITY)) highs.set(feature, value);
    });
    this.#changed.add(layer);
  }

  /** Those of the newest step as they stand, if they changed, and of steps closed since. */
  takeChanged(): TopFeatures[] {
    const found = this.#closed;
    this.#closed = [];
    for (const layer of this.#changed) {
      const top = this.#top(layer);
      if (top) found.push(this.#keep(top));
    }
    this.#changed.clear();
    return found;
  }

  all(): TopFeatures[] {
    this.#settle();
    return [...this.#kept.values()].flatMap((layers) => [...layers.values()]);
  }

  put(tops: readonly TopFeatures[]): void {
    for (const top of tops) this.#keep(top);
  }

  /** Those of a layer, oldest step first. */
  of(layer: number): TopFeatures[] {
    return [...this.#kept.values()].flatMap((layers) => layers.get(layer) ?? []);
  }

  dropFrom(step: number): void {
    for (const kept of [...this.#kept.keys()]) {
      if (kept >= step) this.#kept.delete(kept);
    }
    this.#closed = this.#closed.filter((top) => top.step < step);
    if (this.#step >= step) {
      this.#open.clear();
      this.#changed.clear();
      this.#step = Number.NaN;
    }
  }

  #close(): void {
    for (const layer of this.#changed) {
      const top = this.#top(layer);
      if (top) this.#closed.push(this.#keep(top));
    }
    if (this.#closed.length > MOST_CLOSED) this.#closed = this.#closed.slice(-MOST_CLOSED);
    this.#changed.clear();
    this.#open.clear();
  }

  #settle(): void {
    for (const layer of this.#changed) {
      const top = this.#top(layer);
      if (top) this.#keep(top);
    }
  }

  #top(layer: number): TopFeatures | null {
    const highs = this.#open.get(layer);
    if (highs === undefined) return null;
    const best = [...highs].sort(([, one], [, other]) => other - one).slice(0, TOP);
    return {
      step: this.#step,
      layer,
      features: best.map(([feature]) => feature),
      highs: best.map(([, high]) => high),
    };
  }

  #keep(top: TopFeatures): TopFeatures {
    let layers = this.#kept.get(top.step);
    if (layers === undefined) {
      const [oldest] = this.#kept.keys(); // steps come in order
      if (this.#kept.size >= STEPS && oldest !== undefined) this.#kept.delete(oldest);
      layers = new Map();
      this.#kept.set(top.step, layers);
    }
    layers.set(top.layer, top);
    return top;
  }
}
