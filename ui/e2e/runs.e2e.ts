/** Runs in a real browser: one that was killed, several over one another, a feature's page, generations to search. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { closePages, openBrowser, openPage, smallControls, violations } from "./browsing";
import { PYTHON, Serving, temporaryDirectory } from "./serving";

const ROOT = resolve(import.meta.dirname, "../..");
const data = temporaryDirectory();
const runs = join(data, "runs");

function rehearse(name: string, steps: number, seconds: number): ChildProcess {
  const words = ["-m", "tests.runs.rehearsal", join(runs, name), "--steps", `${steps}`, "--seconds", `${seconds}`];
  return spawn(PYTHON, words, { cwd: ROOT, stdio: "inherit" });
}

let browser: Browser;
let server: Serving;

beforeAll(async () => {
  await Promise.all([once(rehearse("one", 45, 0), "exit"), once(rehearse("two", 30, 0), "exit")]);
  [browser, server] = await Promise.all([openBrowser(), Serving.start({ dataDirectory: data, model: false })]);
});
afterEach(() => closePages(browser));
afterAll(async () => {
  await Promise.all([browser.close(), server.kill()]);
});

/** A server without a model has no capabilities to tell, and browsers log that. */
const unexpected = (fault: string) => !fault.includes("404");

it("a trainer that is killed is shown as stopped, in the list and on its page", async () => {
  const trainer = rehearse("killed", 400, 0.2);
  const { page } = await openPage(browser);
  await page.goto(`${server.url}/live/killed`);
  await page.getByText(/killed .*running|running/).first().waitFor();
  await page.getByText(/step [1-9]/).first().waitFor();
  trainer.kill("SIGKILL");
  await once(trainer, "exit");
  const killed = Date.now();
  await page.getByText(/Stopped after step \d+ without ending: its process \(\d+, on this machine\) is gone/).waitFor();
  expect(Date.now() - killed).toBeLessThan(60_000); // the list is asked for every three seconds
  await page.getByText("To go on:").waitFor();
  await page.goto(`${server.url}/runs`);
  await page.getByRole("row", { name: /killed/ }).getByText("stopped without ending").waitFor();
});

it("a browser whose language Intl does not know draws its plots too", async () => {
  const { page, faults } = await openPage(browser);
  await page.addInitScript(() => Object.defineProperty(navigator, "language", { value: "en-US@posix", configurable: true }));
  await page.goto(`${server.url}/live/one`);
  await page.getByRole("heading", { name: "Reconstruction loss" }).waitFor();
  expect(await page.evaluate(() => navigator.language)).toBe("en-US");
  expect(faults.filter(unexpected)).toEqual([]);
});

it("runs have their reward beside them, and lie over one another as the address says", async () => {
  const { page, faults } = await openPage(browser);
  await page.goto(`${server.url}/runs`);
  await page.getByRole("img", { name: /^Reward of one: from/ }).waitFor();
  await page.getByRole("checkbox", { name: "Overlay one" }).check();
  await page.getByRole("checkbox", { name: "Overlay two" }).check();
  await page.getByRole("heading", { name: "Runs over one another" }).waitFor();
  await page.getByLabel("Show").selectOption({ label: "reconstruction: FVU, mean over layers" });
  await page.waitForURL(/compare=one%2Ctwo.*show=fvu/);
  await page.reload();
  await page.getByRole("application", { name: /FVU, mean over layers of one, two/ }).waitFor();
  expect(await violations(page)).toEqual([]);
  expect(faults.filter(unexpected)).toEqual([]);
});

it("a feature has a page of its own, a note that stays, and a copy that needs no server", async () => {
  const { page, faults } = await openPage(browser);
  await page.goto(`${server.url}/feature/15/101?run=one`);
  await page.getByRole("heading", { name: "Histogram of its activations there" }).waitFor();
  await expect.poll(() => page.locator("#strongest ~ ul li, section:has(#strongest) li").count()).toBeGreaterThanOrEqual(20);
  await page.getByLabel("Note on this feature").fill("goes with passing");
  await page.getByRole("button", { name: "Keep it" }).click();
  await page.getByText("Kept with the run").waitFor();
  await page.reload();
  await expect.poll(() => page.getByLabel("Note on this feature").inputValue()).toBe("goes with passing");
  expect(await violations(page)).toEqual([]);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as HTML" }).click()]);
  const html = readFileSync(await download.path(), "utf8");
  expect(html).toContain("goes with passing");
  expect(html).toContain("data:image/png");
  expect(html).not.toMatch(/<script|<button/);
  const alone = await openPage(browser);
  await alone.page.setContent(html);
  await alone.page.getByRole("heading", { name: "Feature 101 of layer 15" }).waitFor();
  expect(faults.filter(unexpected)).toEqual([]);
});

it("generations are filtered, sorted and searched, and the address remembers", async () => {
  const { page } = await openPage(browser);
  await page.goto(`${server.url}/live/one`);
  const panel = page.getByRole("region", { name: "Generations", exact: true });
  await panel.getByLabel("Show").selectOption("failed");
  await expect.poll(async () => new Set(await panel.locator("tbody td:nth-child(3)").allTextContents())).toEqual(new Set(["failed"]));
  await panel.getByLabel("Show").selectOption("all");
  await panel.getByLabel("Order").selectOption({ label: "highest R first" });
  const rewards = async () => (await panel.locator("tbody td:nth-child(2)").allTextContents()).map(Number);
  await expect.poll(async () => (await rewards())[0]).toBeGreaterThan(0.9);
  await panel.getByLabel("by prompt").check();
  await panel.locator(".group-row").first().waitFor();
  await panel.getByLabel("Search").fill("nothing has this");
  await panel.getByText("None of them.").waitFor();
  await page.waitForURL(/by=R.*find=nothing/);
});

it("an address nobody has is a page, and what is opened has the focus beside the page", async () => {
  const { page } = await openPage(browser);
  expect((await page.goto(`${server.url}/elsewhere`))?.status()).toBe(404);
  await page.getByText("There is no such page").waitFor();
  await page.goto(`${server.url}/live/one?layer=15`);
  await page.getByRole("button", { name: "15:101" }).click();
  const drawer = page.getByRole("complementary", { name: "What was opened" });
  await drawer.waitFor();
  const box = await drawer.boundingBox();
  expect(box?.y).toBe(0);
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "detached" });
});

it("on a phone controls are as large as a finger needs, and nothing is wider than the page", async () => {
  const { page } = await openPage(browser, { width: 390, height: 844 });
  for (const path of ["/runs?compare=one", "/live/one", "/feature/15/101?run=one"]) {
    await page.goto(`${server.url}${path}`);
    await page.locator("main button, main a").first().waitFor();
    await page.waitForTimeout(1_500);
    expect(await smallControls(page), path).toEqual([]);
    const wide = await page.evaluate(() =>
      document.documentElement.scrollWidth <= 390
        ? []
        : [...document.querySelectorAll("main *")]
            .filter((each) => each.getBoundingClientRect().right > 391 && !each.closest(".scroll, .table-twin, svg"))
            .map((each) => `${each.tagName}.${each.id} ${each.getBoundingClientRect().right}`),
    );
    expect(wide, path).toEqual([]);
  }
});
