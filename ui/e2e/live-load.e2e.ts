/**
 * A million records while somebody looks: frames of the page beside those of an empty one. Speeds are
 * the machine's, so this only prints them, when SONDE_LOAD is set; what must hold is that nothing is
 * lost and memory does not grow.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { openBrowser, openPage } from "./browsing";
import { PYTHON, Serving, temporaryDirectory } from "./serving";

const ROOT = resolve(import.meta.dirname, "../..");
const STEPS = 2600;
const PER_SECOND = 20_000;

/** Milliseconds between frames. */
async function frames(page: Page, seconds: number): Promise<number[]> {
  return page.evaluate(
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
}

function said(name: string, found: readonly number[]): string {
  const sorted = [...found].sort((one, other) => one - other);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  const perSecond = (1000 * found.length) / found.reduce((sum, each) => sum + each, 0);
  return `${name}: ${perSecond.toFixed(1)} frames/s, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms\n`;
}

async function heap(page: Page): Promise<number> {
  return page.evaluate(
    () => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize / 2 ** 20,
  );
}

describe.skipIf(process.env.SONDE_LOAD === undefined)("a million records", () => {
  it("pass by without holding up the page", async () => {
    const dataDirectory = temporaryDirectory();
    const [server, browser] = await Promise.all([Serving.start({ dataDirectory, model: false }), openBrowser()]);
    try {
      const { page } = await openPage(browser);
      process.stdout.write(said("empty page", await frames(page, 5)));
      await page.goto(`${server.url}/live`);
      const words = [
        "-m",
        "tests.runs.rehearsal",
        join(dataDirectory, "runs", "flood"),
        "--steps",
        `${STEPS}`,
        "--flood",
        `${PER_SECOND}`,
      ];
      const trainer = spawn(PYTHON, words, { cwd: ROOT, stdio: "inherit" });
      const over = once(trainer, "exit");
      await page.getByText(/^[1-9]\d\d,\d\d\d records streamed/).waitFor();
      const before = await heap(page);
      process.stdout.write(said("streaming", await frames(page, 20)));
      await over;
      await page.getByText(/^1,0\d\d,\d\d\d records streamed/).waitFor();
      const after = await heap(page);
      process.stdout.write(`heap ${before.toFixed(0)} MiB, then ${after.toFixed(0)} MiB\n`);
      expect(after).toBeLessThan(before + 32);
    } finally {
      await browser.close();
      await server.kill();
    }
  });
});
