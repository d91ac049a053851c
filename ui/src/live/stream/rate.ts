/** How many a second, over the last few seconds. */

const WINDOW_MS = 5_000;

export class Rate {
  #seen: { at: number; n: number }[] = [];

  add(n: number, now: number): void {
    if (n <= 0) return;
    const last = this.#seen.at(-1);
    if (last && now - last.at < 100) last.n += n;
    else this.#seen.push({ at: now, n });
    this.#trim(now);
  }

  at(now: number): number {
    this.#trim(now);
    return (1000 * this.#seen.reduce((sum, each) => sum + each.n, 0)) / WINDOW_MS;
  }

  #trim(now: number): void {
    this.#seen = this.#seen.filter((each) => now - each.at < WINDOW_MS);
  }
}
