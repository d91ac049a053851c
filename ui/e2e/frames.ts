/** Frames of a page while somebody looks: how many a second, beside what an empty page manages on the same machine. */

import type { Page } from "playwright-core";

/** Milliseconds between frames, while something is done to the page. */
export async function frames(page: Page, seconds: number, meanwhile: () => Promise<void> = () => Promise.resolve()): Promise<number[]> {
  const counted = page.evaluate(
    (milliseconds) =>
      new Promise<number[]>((done) => {
        const found: number[] = [];
        let last = performance.now();
        const end = last + milliseconds;
        const each = () => {
          const now = performance.now();
          found.push(now - last);
          last = now;
          if (now < end) requestAnimationFrame(each);
          else done(found);
        };
        requestAnimationFrame(each);
      }),
    1000 * seconds,
  );
  const stop = Date.now() + 1000 * seconds;
  while (Date.now() < stop) {
    const began = Date.now();
    await meanwhile();
    await new Promise((resolve) => setTimeout(resolve, Math.max(16 - (Date.now() - began), 1)));
  }
  return counted;
}

export interface Pace {
  readonly perSecond: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export function paceOf(found: readonly number[]): Pace {
  const sorted = [...found].sort((one, other) => one - other);
  const at = (share: number) => Number((sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1));
  const perSecond = Number(((1000 * found.length) / found.reduce((sum, each) => sum + each, 0)).toFixed(1));
  return { perSecond, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

export function said(name: string, { perSecond, p50, p95, p99 }: Pace): string {
  return `${name}: ${perSecond} frames/s, p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms\n`;
}

/** A pointer that wanders over something, a cell a frame. */
export async function wandering(page: Page, selector: string): Promise<() => Promise<void>> {
  const box = await page.locator(selector).first().boundingBox();
  if (box === null) throw new Error(`nothing to point at: ${selector}`);
  let n = 0;
  return async () => {
    n += 1;
    await page.mouse.move(box.x + ((n * 13) % box.width), box.y + ((n * 7) % box.height));
  };
}

/** Scrolling down and up again, as a wheel does. */
export function scrolling(page: Page): () => Promise<void> {
  let n = 0;
  return async () => {
    n += 1;
    await page.mouse.wheel(0, Math.floor(n / 40) % 2 === 0 ? 40 : -40);
  };
}
