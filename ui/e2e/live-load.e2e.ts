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
import { frames, paceOf, said, scrolling, wandering } from "./frames";
import { PYTHON, Serving, temporaryDirectory } from "./serving";

const ROOT = resolve(import.meta.dirname, "../..");
const STEPS = 2600;
const PER_SECOND = 20_000;

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
      process.stdout.write(said("empty page", paceOf(await frames(page, 5))));
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
      process.stdout.write(said("streaming", paceOf(await frames(page, 20))));
      const point = await wandering(page, ".time-heatmap canvas");
      process.stdout.write(said("streaming, pointing", paceOf(await frames(page, 8, point))));
      process.stdout.write(said("streaming, scrolling", paceOf(await frames(page, 8, scrolling(page)))));
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
