/** Live in a real browser: a run directory that is being written, seen through the real gateway. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Tile } from "../src/api/analytics";
import { closePages, openBrowser, openPage, violations } from "./browsing";
import { freePort, PYTHON, Serving, temporaryDirectory } from "./serving";

const ROOT = resolve(import.meta.dirname, "../..");

/** A trainer that writes a run, and needs no model for it. */
function rehearse(directory: string, steps: number, seconds: number, first = 1): ChildProcess {
  const words = [
    "-m",
    "tests.runs.rehearsal",
    directory,
    "--steps",
    `${steps}`,
    "--seconds",
    `${seconds}`,
    "--first",
    `${first}`,
  ];
  return spawn(PYTHON, words, { cwd: ROOT, stdio: "inherit" });
}

async function written(directory: string, steps: number, first = 1): Promise<void> {
  const [status] = (await once(rehearse(directory, steps, 0, first), "exit")) as [number | null];
  expect(status).toBe(0);
}

/** The table under a heatmap: one row a layer, the last layer first. */
async function tableUnder(page: Page, panel: string): Promise<string[][]> {
  const region = page.getByRole("region", { name: panel, exact: true });
  if ((await region.locator(".table-twin table").count()) === 0) await region.locator(".table-twin summary").click();
  return region
    .locator(".table-twin tbody tr")
    .evaluateAll((rows) => rows.map((row) => Array.from(row.querySelectorAll("td"), (cell) => cell.textContent)));
}

async function layerTile(url: string, run: string): Promise<Tile> {
  const answer = await fetch(`${url}/api/p5/analytics/layers?run=${run}&measure=activation`);
  return (await answer.json()) as Tile;
}

/** A server without a model has no capabilities to tell, and browsers log that. */
function unexpected(fault: string): boolean {
  return !fault.includes("404");
}

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterEach(() => closePages(browser));
afterAll(() => browser.close());

describe("a run that is being written", () => {
  const data = temporaryDirectory();
  const runs = join(data, "runs");
  let server: Serving;
  beforeAll(async () => {
    server = await Serving.start({ dataDirectory: data, model: false });
  });
  afterAll(() => server.kill());

  it("shows up by itself, grows as it is written, and ends with the API's numbers", async () => {
    const { page, faults } = await openPage(browser);
    await page.goto(`${server.url}/live`);
    await page
      .getByText("The directory of runs does not exist yet")
      .or(page.getByText("No run has been written yet"))
      .waitFor();
    const columns = async () => (await tableUnder(page, "Layers over time"))[0]?.length;
    await written(join(runs, "first"), 12);
    await page.getByRole("heading", { name: "Layers over time" }).waitFor();
    await expect.poll(columns, { timeout: 60_000 }).toBe(12);
    const trainer = rehearse(join(runs, "first"), 12, 0.3, 13);
    await page.getByText(/^[1-9][\d.]* records\/s$/).waitFor();
    await page.getByText("reading what is being written").first().waitFor();
    await once(trainer, "exit");
    await expect.poll(columns, { timeout: 60_000 }).toBe(24);
    const tile = await layerTile(server.url, "first");
    const shown = await tableUnder(page, "Layers over time");
    expect(shown.map((row) => row.map(Number))).toEqual(
      tile.high.toReversed().map((row) => row.map((value) => Number((value ?? Number.NaN).toFixed(1)))),
    );
    expect(faults.filter(unexpected)).toEqual([]);
  });

  it("is explored: a layer, a feature, a generation, and its address remembers", async () => {
    await written(join(runs, "second"), 45);
    const { page, faults } = await openPage(browser);
    await page.goto(`${server.url}/live/second`);
    await page.getByText(/spike.*: layer 0 at step 25/).waitFor();
    await page.getByLabel(/^Layers over steps/).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Layer 15: its strongest features" }).waitFor();
    await page.getByRole("button", { name: "15:101" }).click();
    await page.getByRole("heading", { name: "Feature 101 of layer 15" }).waitFor();
    await page.getByRole("heading", { name: "Most active on" }).waitFor();
    await page.getByRole("button", { name: "45-7" }).click();
    await page.getByRole("heading", { name: "Generation 45-7" }).waitFor();
    await page.getByText("tokens were recorded").waitFor();
    const command = page.getByLabel("Command that tests the feature");
    await expect
      .poll(() => command.textContent())
      .toMatch(/second --generation 45-7 .*--layer 15 --features 101 --save/);
    await page.reload();
    await page.getByRole("heading", { name: "Feature 101 of layer 15" }).waitFor();
    await page.getByRole("heading", { name: "Layer 15: its strongest features" }).waitFor();
    await page.getByRole("link", { name: "Open this prompt in Causal" }).click();
    await page.waitForURL(/\/causal\?clean=Question/);
    expect(faults.filter(unexpected)).toEqual([]);
  });

  it("is saved as one file that opens without a server", async () => {
    const { page, faults } = await openPage(browser);
    await page.goto(`${server.url}/live/second`);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as HTML" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("second.html");
    const file = join(temporaryDirectory(), "second.html");
    await download.saveAs(file);
    const shown = await tableUnder(page, "Layers over time");
    await page.context().setOffline(true);
    await page.goto(pathToFileURL(file).href);
    await page.getByRole("heading", { name: "Run second" }).waitFor();
    expect(await tableUnder(page, "Layers over time")).toEqual(shown);
    await page.getByRole("application", { name: /^Layers over steps/ }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Layer 15: its strongest features" }).waitFor();
    await page.getByRole("button", { name: "15:101" }).click();
    await page.getByRole("heading", { name: "Most active on" }).waitFor();
    await page.getByRole("button", { name: "45-7" }).click();
    await page.getByRole("heading", { name: "Generation 45-7" }).waitFor();
    expect(page.url()).toContain("#/?layer=15&feature=15.101&generation=45-7");
    await page.reload();
    await page.getByRole("heading", { name: "Generation 45-7" }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(faults.filter(unexpected)).toEqual([]);
  });

  it("is told from one that is not there, whatever the address says", async () => {
    const { page, faults } = await openPage(browser);
    await page.goto(`${server.url}/live/%E0%A4%A`);
    await page.getByText("There is no run %E0%A4%A").waitFor();
    await page.getByRole("link", { name: "second" }).click();
    await page.getByRole("heading", { name: "Live second" }).waitFor();
    expect(faults.filter(unexpected)).toEqual([]);
  });

  it("can be paused, zoomed and followed by keys, and its cursor is in all panels", async () => {
    const { page } = await openPage(browser);
    await page.goto(`${server.url}/live/second`);
    await page.getByText("steps 1 to 45").waitFor();
    await page.keyboard.press("+");
    await page.getByText("steps 23 to 45").waitFor();
    expect(page.url()).toContain("last=23");
    await page.keyboard.press("p");
    await page.getByText("the page stands still").waitFor();
    await page.keyboard.press("p");
    await page.getByLabel(/^Reward\./).focus();
    await page.keyboard.press("Home");
    await page.getByText("cursor at 23").waitFor();
    await page.keyboard.press("ArrowRight");
    await page.getByText("cursor at 24").waitFor();
    await page.keyboard.press("0");
    await page.getByText("steps 1 to 45").waitFor();
  });

  it("keeps nobody out", async () => {
    for (const options of [{}, { dark: true }, { width: 390, height: 844 }]) {
      const { page } = await openPage(browser, options);
      await page.goto(`${server.url}/live/second?layer=15&feature=15.101&generation=45-7`);
      await page.getByRole("heading", { name: "Most active on" }).waitFor();
      await page.getByText("tokens were recorded").waitFor();
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(
        0,
      );
      await page.goto("about:blank");
    }
  });

  it("eight tabs share one connection", async () => {
    const { page: first } = await openPage(browser);
    const others = await Promise.all(Array.from({ length: 7 }, () => first.context().newPage()));
    const pages = [first, ...others];
    for (const page of pages) await page.goto(`${server.url}/live/second`);
    for (const page of pages) {
      await page.bringToFront();
      await page.getByText("400 records streamed").waitFor();
    }
    const health = (await (await fetch(`${server.url}/api/p5/health`)).json()) as {
      runs: { run: string; listeners: number }[];
    };
    expect(health.runs.find(({ run }) => run === "second")?.listeners).toBe(1);
    for (const page of pages) await page.goto("about:blank");
  });
});

describe("a gateway that is killed and started again", () => {
  it("leaves every page open to those who have one", async () => {
    const server = await Serving.start({ model: false });
    const { page } = await openPage(browser);
    await page.goto(server.url);
    const fetched = () =>
      page.evaluate(() =>
        performance
          .getEntriesByType("resource")
          .map(({ name }) => name)
          .join(),
      );
    for (const name of ["RunsPage", "LivePage", "CausalPage"])
      await expect.poll(fetched, { timeout: 30_000 }).toContain(name);
    await page.getByText("connected", { exact: true }).waitFor();
    await server.kill();
    await page.getByText("disconnected, trying again").waitFor();
    for (const name of ["Runs", "Live", "Causal"]) {
      await page.getByRole("navigation").getByRole("link", { name }).click();
      await page.getByRole("heading", { name, exact: true }).waitFor();
      await page.getByText("The server does not answer").first().waitFor();
    }
  });

  it("is missed, found again, and every record is counted once", async () => {
    const place = { port: await freePort(), dataDirectory: temporaryDirectory(), model: false };
    const run = join(place.dataDirectory, "runs", "only");
    await written(run, 10);
    let server = await Serving.start(place);
    const { page } = await openPage(browser);
    await page.goto(`${server.url}/live`);
    await page.getByText(/^8\d\d records streamed$/).waitFor();
    await server.kill();
    await page.getByText("disconnected, trying again").waitFor();
    await written(run, 35, 11);
    server = await Serving.start(place);
    try {
      await page.getByText("3,732 records streamed").waitFor({ timeout: 30_000 });
      await page.getByText("connected again").waitFor();
      await page.getByText("steps 1 to 45").waitFor();
    } finally {
      await server.kill();
    }
  });
});
