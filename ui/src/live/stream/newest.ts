/** The newest things by name, of bounded number: a name that comes again replaces what it named. */
export class Newest<T> {
  readonly #items = new Map<string | number, T>();
  readonly #capacity: number;
  /** What was put in last. */
  last: T | undefined;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#items.size;
  }

  put(name: string | number, item: T): void {
    this.#items.delete(name);
    this.#items.set(name, item);
    this.last = item;
    if (this.#items.size > this.#capacity) {
      const oldest = this.#items.keys().next();
      if (oldest.done !== true) this.#items.delete(oldest.value);
    }
  }

  get(name: string | number): T | undefined {
    return this.#items.get(name);
  }

  dropWhere(gone: (item: T) => boolean): void {
    for (const [name, item] of [...this.#items]) {
      if (gone(item)) this.#items.delete(name);
    }
    this.last = [...this.#items.values()].at(-1);
  }

  /** Oldest first. */
  all(): T[] {
    return [...this.#items.values()];
  }
}
