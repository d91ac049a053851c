/** Causal in a real browser, against the real server on the real model. */

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { fixed } from "../src/widgets/numbers";
import type { HookGrid } from "./grids";
import { finished, idIn, LONG, recordOf, SISTER, startSweep, tableOf, tabTo } from "./asking";
import { closePages, openBrowser, openPage, violations } from "./browsing";
import { PYTHON, Serving, temporaryDirectory } from "./serving";

let server: Serving;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Serving.start(), openBrowser()]);
});
afterEach(() => closePages(browser));
afterAll(async () => {
  await browser.close();
  await server.kill();
});

/** A grid as the page writes it: last layer first, all numbers with the same decimals. */
function written(grid: HookGrid["grid"], decimals: number): string[][] {
  return grid.toReversed().map((row) => row.map((value) => (value === null ? "no number" : fixed(value, decimals))));
}

describe("a sweep that is started in the page", () => {
  it("fills the heatmaps with the API's numbers, and is still there after a reload", async () => {
    const { page, faults } = await openPage(browser);
    const id = await startSweep(page, server.url, SISTER);
    await finished(page);
    const { summary, provenance } = await recordOf(server.url, id);
    const grids = summary?.hook_grids ?? [];
    expect(grids.map(({ hook }) => hook)).toEqual(["post_block", "mlp_out"]);
    const again = await fetch(`${server.url}/v1/patch_sweep`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(provenance.request),
    });
    expect(((await again.json()) as { hook_grids: HookGrid[] }).hook_grids).toEqual(grids);
    const check = async () => {
      for (const { hook, grid } of grids) {
        const shown = await tableOf(page, hook);
        const decimals = shown[0]?.[0]?.split(".")[1]?.length ?? 0;
        expect(decimals).toBeGreaterThan(1);
        expect(shown).toEqual(written(grid, decimals));
      }
    };
    await check();
    await page.reload();
    await finished(page);
    await check();
    expect(await page.getByLabel("Corrupt").first().inputValue()).toBe(SISTER.corrupt);
    expect(faults).toEqual([]);
  });

  it("is coloured: the strongest cell is not the colour of the baseline", async () => {
    const { page } = await openPage(browser);
    await startSweep(page, server.url, SISTER);
    await finished(page);
    const colors = await page.locator(".panel[data-hook=post_block] canvas").evaluate((canvas: HTMLCanvasElement) => {
      const { data } = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [] };
      const found = new Set<string>();
      for (let at = 0; at < data.length; at += 4) found.add([data[at], data[at + 1], data[at + 2]].join());
      return found.size;
    });
    expect(colors).toBeGreaterThan(8);
  });

  it("can be stopped, and says so", async () => {
    const { page } = await openPage(browser);
    const id = await startSweep(page, server.url, LONG);
    await page.getByRole("status").filter({ hasText: /^[1-9][\d,]* of / }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("This sweep was stopped").waitFor();
    expect((await recordOf(server.url, id)).state).toBe("cancelled");
    const baseline = await page.locator(".legend").innerText();
    expect(baseline).toContain("baseline");
    await page.getByLabel(/^Corrupt/).fill("When Mary and John went to the store, nobody gave a drink to");
    await page.waitForURL(/nobody/);
    await page.getByText(/Unpatched log-probability/).waitFor();
    expect(await page.locator(".legend").innerText(), "what is prepared next colours nothing").toBe(baseline);
  });

  it("says what is wrong with it before it starts", async () => {
    const { page } = await openPage(browser);
    await page.goto(`${server.url}/causal`);
    await page
      .getByLabel(/^Answer/)
      .first()
      .fill("two words");
    await page.getByText("Choose one; most words begin with a space").waitFor();
    await page.getByLabel(/^Layers/).fill("99");
    await page.getByText("Layers are").waitFor();
    expect(await page.getByRole("button", { name: "Start sweep" }).isDisabled()).toBe(true);
  });
});

describe("what is around it", () => {
  it("positions are chosen by clicking tokens, and the address remembers", async () => {
    const { page } = await openPage(browser);
    await page.goto(`${server.url}/causal`);
    await page.getByRole("button", { name: "position 2, osse" }).click();
    await page.getByRole("button", { name: "position 3, um" }).click();
    await page.getByText("Positions 2–3").waitFor();
    await page.waitForURL(/positions=2%2C3/);
    await page.reload();
    await page.getByText("Positions 2–3").waitFor();
    await page.getByText("180 cells").waitFor();
  });

  it("the model's own likeliest tokens are offered", async () => {
    const { page } = await openPage(browser);
    await page.goto(`${server.url}/causal`);
    await page.getByRole("button", { name: /^·Barcelona/ }).click();
    expect(
      await page
        .getByLabel(/^Answer/)
        .first()
        .inputValue(),
    ).toBe(" Barcelona");
  });

  it("two sweeps are compared cell by cell", async () => {
    const { page } = await openPage(browser);
    await startSweep(page, server.url, SISTER);
    await finished(page);
    const first = idIn(page);
    await startSweep(page, server.url, { ...SISTER, alpha: 0.5 });
    await finished(page);
    const second = idIn(page);
    await page.goto(`${server.url}/causal/${first}`);
    await finished(page);
    await page
      .locator("tr", { has: page.locator(`a[href="/causal/${second}"]`) })
      .getByRole("link", { name: "compare" })
      .click();
    await page.getByRole("heading", { name: "Difference in log-probability" }).waitFor();
    const [one, other] = await Promise.all([first, second].map((id) => recordOf(server.url, id)));
    const shown = await tableOf(page, "post_block");
    const decimals = shown[0]?.[0]?.split(".")[1]?.length ?? 0;
    const minus = one?.summary?.grid.map((row, y) =>
      row.map((value, x) => (value ?? 0) - (other?.summary?.grid[y]?.[x] ?? 0)),
    );
    expect(shown).toEqual(written(minus ?? [], decimals));
  });

  it("a source run is kept when that is asked for, used again, and dropped", async () => {
    const { page } = await openPage(browser);
    const first = await startSweep(page, server.url, { ...SISTER, keep: true });
    await finished(page);
    const runs = page.getByRole("region", { name: "Stored source runs" });
    await runs.locator("tr", { hasText: "ui-" }).getByRole("button", { name: "Use" }).click();
    const chosen = await page.getByRole("combobox", { name: "Source run" }).inputValue();
    expect(chosen).toMatch(/^ui-/);
    await page.getByRole("button", { name: "Start sweep" }).click();
    await page.waitForURL((address) => !address.pathname.endsWith(first));
    await expect.poll(async () => (await recordOf(server.url, idIn(page))).state, { timeout: 60_000 }).toBe("finished");
    expect((await recordOf(server.url, idIn(page))).summary?.auto_captured).toBe(false);
    await finished(page);
    await page.getByRole("button", { name: `Drop ${chosen}` }).click();
    await page.getByRole("button", { name: `Drop ${chosen}` }).waitFor({ state: "detached" });
    const left = (await (await fetch(`${server.url}/v1/patch_source`)).json()) as { runs: { run: string }[] };
    expect(left.runs.map(({ run }) => run)).not.toContain(chosen);
  });

  it("leaves as files and as Python that repeats it", async () => {
    const { page } = await openPage(browser);
    const id = await startSweep(page, server.url, SISTER);
    await finished(page);
    for (const format of ["PNG", "SVG", "CSV", "JSON"]) {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: format, exact: true }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(`sweep-${id.slice(0, 8)}.${format.toLowerCase()}`);
      expect(readFileSync(await download.path()).length).toBeGreaterThan(100);
    }
    await page.getByRole("button", { name: "Python" }).click();
    const python = await page.getByLabel("Python that repeats this sweep").innerText();
    const folder = temporaryDirectory();
    const { stdout: said } = await promisify(execFile)(PYTHON, ["-c", python], {
      cwd: folder,
      env: { ...process.env, PYTHONPATH: resolve(import.meta.dirname, "../../src") },
    });
    const largest = (await recordOf(server.url, id)).summary?.argmax?.value ?? 0;
    expect(said).toContain(fixed(largest, 2).slice(0, 4));
    expect(existsSync(join(folder, "sweep.html"))).toBe(true);
  });
});

describe("for everybody", () => {
  it("a sweep is prepared, run and read with the keyboard alone", async () => {
    const { page } = await openPage(browser);
    await page.goto(server.url);
    await tabTo(page, 'nav a[href="/causal"]');
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "position 2, osse" }).waitFor();
    await tabTo(page, "button.token");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Space");
    await page.getByText("Position 2", { exact: true }).waitFor();
    await page.getByText("90 cells").waitFor();
    await tabTo(page, "button.primary");
    await page.keyboard.press("Enter");
    await finished(page);
    await tabTo(page, ".heatmap");
    const spoken = page.locator(".panel[data-hook=post_block] .heatmap [role=status]");
    const first = await spoken.innerText();
    expect(first).toMatch(/^layer \d+, position 2 “osse”: .*from the baseline/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("PageDown");
    await expect.poll(() => spoken.innerText()).not.toBe(first);
    await page.keyboard.press("Escape");
    await expect.poll(() => spoken.innerText()).toBe("");
  });

  it.each([
    ["light and wide", { dark: false, width: 1440 }],
    ["dark and narrow", { dark: true, width: 390 }],
  ])("axe finds nothing serious, %s", async (_, look) => {
    const { page, faults } = await openPage(browser, look);
    await page.goto(server.url);
    await page.getByRole("heading", { name: "Causal" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.goto(`${server.url}/causal`);
    await page.getByText(/cells.*about/).waitFor();
    expect(await violations(page)).toEqual([]);
    await startSweep(page, server.url, { ...SISTER, keep: true });
    await finished(page);
    await tableOf(page, "mlp_out");
    await page.getByRole("button", { name: "Python" }).click();
    expect(await violations(page)).toEqual([]);
    const tooWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(tooWide, "the page scrolls sideways").toBe(false);
    expect(faults).toEqual([]);
  });
});
